// environments on MuJoCo's own physics, against the same worlds stepped here in float64
import { describe, expect, test } from "vitest";
import { defineTask, makeVec, servo } from "../../src/index.ts";
import type { ActuatorRealities, NamedOptions } from "../../src/env/index.ts";
import { makeMuJoCoVec } from "../../src/env/mujoco-vec.ts";
import { ROVER, rover } from "../support/rover.ts";
import { envBounds } from "../support/tolerances.ts";

/** Control steps that are compared, from the same starts: what is left of a step grows with the next ones. */
const STEPS = 6;

describe("the same worlds", () => {
  test.each([
    ["Hopper-v5", {}],
    // noise of starts, forces on bodies, places after the step, draws of the model, pushes and delays
    ["Ant-v5", { include_cfrc_ext_in_observation: true }],
    ["dm-walker-walk", {}],
    ["Go1Velocity", { action: { delay: 1 } }],
  ] as [string, object][])("%s", async (id, given) => {
    const options = { numEnvs: 2, seed: 3, ...given } as NamedOptions;
    // what kernels elsewhere compute in is nothing to MuJoCo
    await using theirs = await makeMuJoCoVec(id, { ...options, arithmetic: "float32" });
    await using ours = await makeVec(id, { ...options, device: "cpu-f64", autoreset: "disabled", recorder: false });
    const [a, b] = [await theirs.env.reset({ seed: 3 }), await ours.reset({ seed: 3 })];
    expect(Array.from(a.observations)).toEqual(Array.from(b.observations));
    for (let t = 0; t < STEPS; t++) {
      const actions = ours.actionSpace.sample(5, { draw: t });
      const [x, y] = [await theirs.env.step(actions), await ours.step(actions)];
      const close = (got: ArrayLike<number>, want: ArrayLike<number>, what: string) =>
        Array.from(want).forEach((v, i) =>
          expect(Math.abs(got[i] - v), `${what}[${i}] of step ${t}`).toBeLessThanOrEqual(
            envBounds.qvel64.value * (t + 1) * Math.max(1, Math.abs(v)),
          ),
        );
      close(x.observations, y.observations, "observations");
      close(x.rewards, y.rewards, "rewards");
      expect([...x.terminated]).toEqual([...y.terminated]);
    }
  });
});

test("contacts that a step needed are MuJoCo's count", async () => {
  const box = (at: number) => `<body pos="0 0 ${at}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>`;
  const task = defineTask({
    id: "TwoBoxes",
    model: `<mujoco><worldbody><geom type="plane" size="1 1 .1"/>${box(0.1)}${box(0.3)}<body pos="9 0 9"><joint name="away"/><geom size=".1"/></body></worldbody><actuator><motor joint="away"/></actuator></mujoco>`,
    frameSkip: 3,
    maxEpisodeSteps: 10,
    observe: { height: "qpos[9]" },
    reward: { still: "-qvel[8]" },
    info: { now: "ncon" },
  });
  // room for all that touch at once, not for all that might
  const options = { numEnvs: 2, nconmax: 9 } as const;
  await using theirs = await makeMuJoCoVec(task, options);
  await using ours = await makeVec(task, { ...options, device: "cpu-f64", autoreset: "disabled", recorder: false });
  await theirs.env.reset();
  await ours.reset();
  for (let t = 0; t < 3; t++) {
    const steps = [await theirs.env.step([0, 0]), await ours.step([0, 0])];
    const needed = steps.map(({ infos }) => [...infos.get("contacts_needed")!.values]);
    expect(needed[0]).toEqual(needed[1]);
    expect(needed[0]).toEqual([8, 8]);
    expect([...steps[0].infos.get("now")!.values]).toEqual([8, 8]);
  }
});

test("worlds draw what they draw elsewhere, episode after episode", async () => {
  const task = rover({
    randomise: {
      weight: { field: ["body_mass", "body_inertia"], scale: [0.5, 2] },
      gravity: { field: "gravity", element: 2, set: [-12, -6] },
    },
  });
  await using theirs = await makeMuJoCoVec(task, { numEnvs: 2, seed: 1 });
  await using ours = await makeVec(task, {
    numEnvs: 2,
    seed: 1,
    device: "cpu-f64",
    autoreset: "disabled",
    recorder: false,
  });
  for (const seed of [1, undefined]) {
    await theirs.env.reset(seed === undefined ? {} : { seed });
    await ours.reset(seed === undefined ? {} : { seed });
    for (let t = 0; t < 3; t++) {
      const actions = ours.actionSpace.sample(5, { draw: t });
      const [x, y] = [await theirs.env.step(actions), await ours.step(actions)];
      Array.from(y.observations).forEach((v, i) =>
        expect(Math.abs(x.observations[i] - v)).toBeLessThanOrEqual(envBounds.qvel64.value * Math.max(1, Math.abs(v))),
      );
    }
  }
});

describe("actuators that act in each physics step", () => {
  const SERVOS = ROVER.replace(/<motor name="(\w+)"/g, '<position name="$1" kp="20" kv="0.5"');
  const limited = { torqueSpeed: { peak: [3, 4], knee: 0.5, noLoad: 3 } } as const;
  const drawn = { delay: [0, 5], lag: [0, 0.05] } as const;
  test.each([
    [
      "motors as servos, late, bounded by speed",
      ROVER,
      { "*": { network: servo({ stiffness: 20, damping: 0.4 }), ...drawn } },
    ],
    ["bounded motors", ROVER, { left: { ...limited, ...drawn }, right: { lag: 0.03 } }],
    [
      "servos with play and wrong encoders",
      SERVOS,
      { "*": { backlash: [0, 0.1], bias: [-0.1, 0.1], ...drawn, ...limited } },
    ],
  ] as [string, string, ActuatorRealities][])("%s", async (_, model, actuators) => {
    const gain = { field: "actuator_gainprm", of: "left", element: 0, scale: [0.8, 1.2] } as const;
    const task = rover({
      model,
      frameSkip: 3,
      actuators,
      randomise: { gain },
      observe: { qpos: "qpos", qvel: "qvel", ctrl: "ctrl", force: "actuator_force", gyro: "sensor(gyro)" },
    });
    const options = { numEnvs: 3, seed: 4 } as const;
    await using theirs = await makeMuJoCoVec(task, options);
    await using ours = await makeVec(task, { ...options, device: "cpu-f64", autoreset: "disabled", recorder: false });
    for (let episode = 0; episode < 2; episode++) {
      await theirs.env.reset();
      await ours.reset();
      for (let t = 0; t < STEPS; t++) {
        const actions = ours.actionSpace.sample(5, { draw: t });
        const [x, y] = [await theirs.env.step(actions), await ours.step(actions)];
        y.observations.forEach((v, i) =>
          expect(Math.abs(x.observations[i] - v), `observations[${i}] of step ${t}`).toBeLessThanOrEqual(
            envBounds.qvel64.value * (t + 1) * Math.max(1, Math.abs(v)),
          ),
        );
      }
    }
  });
});

test("what MuJoCo does not do is refused", async () => {
  const fast = rover({ limits: { "hip_*": { velocity: 3 } } });
  await expect(makeMuJoCoVec(fast, { numEnvs: 1 })).rejects.toThrow(/not-under-mujoco.*limits/);
});
