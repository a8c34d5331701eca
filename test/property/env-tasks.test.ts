// random tasks from the library of terms: they build, stay finite, and mean the same on a device as on the CPU
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  accelerationCost,
  actionRateCost,
  airTime,
  angularVelocity,
  command,
  controlCost,
  height,
  jointLimitCost,
  jointLimits,
  linearVelocity,
  makeVec,
  outside,
  powerCost,
  projectedGravity,
  push,
  ramp,
  startAround,
  tilt,
  touchdown,
  tracking,
  upright,
  velocityCost,
  velocityLimit,
  type Randomisation,
  type Task,
  type Term,
  type VecOptions,
} from "../../src/env/index.ts";
import { rover } from "../support/rover.ts";
import { envBounds } from "../support/tolerances.ts";

const speed = () =>
  command(
    [
      [-1, 1],
      [-0.5, "param.reach"],
    ],
    { every: [0.1, 0.3] },
  );

const OBSERVED: Record<string, Term<object>> = {
  qpos: "qpos",
  qvel: { value: "qvel", clip: [-10, 10], scale: 0.1 },
  linear: linearVelocity("torso"),
  angular: { value: angularVelocity("torso"), noise: 0.01 },
  gravity: projectedGravity("torso"),
  sensors: { value: "sensor(gyro, velocity)", history: 3 },
  air: airTime("left leg"),
  moved: "xpos(body.torso) - before.xpos(body.torso)",
  command: speed(),
  last: "before.action",
  mass: "body_mass(body.torso)",
};
const REWARDED: Record<string, Term<object>> = {
  height: height("torso"),
  upright: { value: upright("torso"), weight: 2 },
  control: { value: controlCost(), weight: -0.01 },
  rate: { value: actionRateCost(), weight: -0.01, clip: [0, 5] },
  acceleration: { value: accelerationCost(["hip_left"]), weight: -1e-6 },
  velocity: { value: velocityCost(), weight: -1e-3 },
  power: { value: powerCost(), scale: -0.01 },
  limits: jointLimitCost(),
  touchdown: touchdown("right leg", 0.05),
  tracking: tracking((s) => linearVelocity("torso")(s).slice(0, 2), speed(), 0.5),
  ramp: ramp(0, 1, 3),
};
const ENDING: Record<string, Term<object>> = {
  low: "xpos(body.torso).z < 0.1",
  fast: velocityLimit(20),
  tilted: (s) => outside((t) => tilt("torso")(t), 0, 1.2)(s),
  joints: jointLimits({ margin: 0.2 }),
};
const RANDOM: Record<string, Randomisation> = {
  mass: { field: ["body_mass", "body_inertia"], scale: [0.8, 1.2] },
  floor: { field: "geom_friction", of: "floor", element: 0, set: [0.4, 1.2] },
  damping: { field: "dof_damping", scale: { logUniform: [0.5, 2] } },
  gear: { field: "actuator_gear", element: 0, scale: { normal: [1, 0.05] } },
};

const some = <T>(from: Record<string, T>, least: number) =>
  fc
    .subarray(Object.keys(from), { minLength: least })
    .map((names) => Object.fromEntries(names.map((name) => [name, from[name]])));

const tasks = fc.record({
  task: fc.record({
    observe: some(OBSERVED, 1),
    reward: some(REWARDED, 1),
    terminated: some(ENDING, 0),
    randomise: some(RANDOM, 0),
    events: fc.constantFrom<NonNullable<Task<object>["events"]>>(
      {},
      { push: push("root", { every: [0.1, 0.2], velocity: 0.3 }) },
    ),
  }),
  options: fc.record({
    observation: fc.constantFrom({}, { normalize: true, clip: [-5, 5] as const }, { history: 2 }),
    action: fc.constantFrom({}, { delay: 1 }, { hold: 2, clip: [-1, 1] as const, scale: 0.5 }),
    autoreset: fc.constantFrom("next-step" as const, "same-step" as const),
  }),
});

const WORLDS = 3;
const full = process.env.CORRAL_FULL !== undefined;

const make = (task: Partial<Task<object>>, options: Partial<VecOptions>) =>
  makeVec(rover({ params: { reach: 0.5 }, reset: startAround({ qpos: 0.05, qvel: 0.2 }), ...task }), {
    numEnvs: WORLDS,
    recorder: false,
    ...options,
  });

test("stay finite for a thousand steps", async () => {
  await fc.assert(
    fc.asyncProperty(tasks, fc.nat(1000), async ({ task, options }, seed) => {
      await using env = await make(task, { ...options, device: "cpu" });
      await env.reset({ seed });
      let ended = 0;
      for (let t = 0; t < 1000; t++) {
        const { observations, rewards, infos } = await env.step(env.actionSpace.sample(seed, { draw: t }));
        expect(observations.every(Number.isFinite) && rewards.every(Number.isFinite)).toBe(true);
        expect(infos.worldsWithStatus()).toEqual([]);
        ended += infos.episode ? 1 : 0;
      }
      expect(ended).toBeGreaterThan(0);
    }),
    { numRuns: full ? 20 : 3, seed: 6 },
  );
});

/** max |a - b| / (1 + max |b|) */
function difference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [most, scale] = [0, 0];
  for (let i = 0; i < b.length; i++) {
    most = Math.max(most, Math.abs(a[i] - b[i]));
    scale = Math.max(scale, Math.abs(b[i]));
  }
  return most / (1 + scale);
}

test("mean the same on a device as on the CPU", async () => {
  await fc.assert(
    fc.asyncProperty(tasks, fc.nat(1000), async ({ task, options }, seed) => {
      await using device = await make(task, options);
      await using host = await make(task, { ...options, device: "cpu-f64" });
      const [a, b] = [await device.reset({ seed }), await host.reset({ seed })];
      expect(difference(a.observations, b.observations)).toBeLessThanOrEqual(envBounds.qvel.value);
      for (let t = 0; t < 4; t++) {
        const actions = host.actionSpace.sample(seed, { draw: t });
        await device.step(actions);
        await host.step(actions);
        expect([...device.terminated]).toEqual([...host.terminated]);
        // accelerations of contacts are ill-conditioned: terms of them weigh 1e-6
        expect(difference(device.rewards, host.rewards)).toBeLessThanOrEqual(envBounds.qvel.value);
        expect(difference(device.observations, host.observations)).toBeLessThanOrEqual(envBounds.qvel.value);
      }
    }),
    { numRuns: full ? 10 : 1, seed: 7 },
  );
});
