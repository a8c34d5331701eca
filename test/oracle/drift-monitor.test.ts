// worlds of a batch beside MuJoCo, now and then; and bundles of worlds that drift
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import "../../envs/index.ts";
import { defineTask, makeVec, type Randomisation, type VecOptions } from "../../src/env/index.ts";
import { bisect } from "../../src/crash/bisect.ts";
import { replay } from "../../src/crash/replay.ts";
import { crashScene } from "../../src/crash/scene.ts";
import { secondOpinion } from "../../src/crash/second-opinion.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import { eq, select, toF32, type Scalar } from "../../src/trace/scalar.ts";
import { codeOf } from "../support/lives.ts";
import { rover } from "../support/rover.ts";
import { envBounds } from "../support/tolerances.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-drift-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const make = (options: Partial<VecOptions> = {}) =>
  makeVec("Hopper-v5", { numEnvs: 21, seed: 1, device: "cpu", recorder: { directory }, ...options });

describe.each(["cpu", "cpu-f64", undefined] as const)("on device %s", (device) => {
  const on = device ? { device } : { device: undefined };

  test("stays within the bounds of single steps, and sees every world that it is asked to", async () => {
    await using env = await make({ ...on, shards: 2, monitor: { worlds: [0, 4, 20], everySteps: 5 } });
    await env.reset();
    const seen: (number | undefined)[] = [];
    for (let t = 0; t < 12; t++) {
      const { infos } = await env.step(env.actionSpace.sample(2, { draw: t }));
      seen.push(infos.drift?.length);
    }
    expect(seen).toEqual([3, ...Array(4), 3, ...Array(4), 3, undefined]);
    const { checks, notOk, beyond, worst, samples } = env.health().drift!;
    expect([checks, notOk, beyond]).toEqual([9, 0, 0]);
    expect(samples.map(({ step, world }) => [step, world])).toEqual(
      [1, 6, 11].flatMap((step) => [0, 4, 20].map((world) => [step, world])),
    );
    expect(worst!.qvel).toBeGreaterThan(0);
    if (device === "cpu-f64") expect(worst!.qvel).toBeLessThan(1e-9);
    expect(env.health().bundles).toEqual([]);
  });

  // rows of several numbers lie otherwise in rolled kernels, which take a software driver long to compile
  test.each(device ? [true, false] : [true])(
    "follows randomised models, forces, kicks, delays and changed options, unrolled: %s",
    async (unroll) => {
      // masses make a kernel that takes a software driver long to compile
      const masses: Readonly<Record<string, Randomisation>> = {
        weight: { field: ["body_mass", "body_inertia"], scale: [0.5, 2] },
        feet: { field: "geom_size", of: "foot_*", element: 0, scale: [0.8, 1.2] },
      };
      const task = rover({
        randomise: {
          ...(device ? masses : {}),
          gear: { field: "actuator_gear", of: "left", element: 0, scale: [0.5, 2] },
          gravity: { field: "gravity", element: [0, 2], add: [-2, 2] },
        },
        action: { delay: 1 },
        events: {
          blow: (s) => {
            const kick: Scalar = select(eq(s.length, 3), 0.5, 0, "f32");
            return {
              qvel: [kick, 0, 0, 0, 0, 0, 0, 0],
              xfrc_applied: [...Array<number>(6).fill(0), 0, toF32(s.length), 1, ...Array<number>(15).fill(0)],
            };
          },
        },
      });
      const monitor = { worlds: [1, 9], everySteps: 1 };
      await using env = await makeVec(task, { numEnvs: 12, seed: 3, ...on, unroll, recorder: false, monitor });
      await env.reset();
      for (let t = 0; t < 10; t++) {
        if (t === 6) env.setOptions({ timestep: 0.005 });
        await env.step(env.actionSpace.sample(2, { draw: t }));
      }
      const { checks, notOk } = env.health().drift!;
      expect([checks, notOk]).toEqual([20, 0]);
    },
  );
});

test("steps in one submission on the device are watched as those of step() are", async () => {
  const options = { device: undefined, numEnvs: 45, shards: 2, recorder: false } as const;
  await using one = await make({ ...options, monitor: { worlds: [44, 3, 0], everySteps: 4 } });
  await using many = await make({ ...options, monitor: { worlds: [44, 3, 0], everySteps: 4 } });
  const actions = one.actionSpace.sample(2);
  for (const env of [one, many]) {
    await env.reset();
    await env.step(actions);
  }
  for (let t = 0; t < 11; t++) await one.step(actions);

  // steps 2 to 6, of which the fifth is due; 7; 8 to 12, of which the ninth is
  const drift: (number[] | undefined)[] = [];
  for (const steps of [5, 1, 5]) {
    await many.stepOnDevice((_, step) => Array.from({ length: steps }).forEach(step));
    drift.push((await many.read()).infos.drift?.map(({ step }) => step));
  }
  expect(drift).toEqual([[5, 5, 5], undefined, [9, 9, 9]]);
  expect(many.health().drift).toEqual(one.health().drift);
  expect(many.health().drift!.checks).toBe(9);

  // of several that are due in one submission the last
  await many.stepOnDevice((_, step) => Array.from({ length: 8 }).forEach(step));
  expect(
    many
      .health()
      .drift!.samples.map(({ step }) => step)
      .slice(9),
  ).toEqual([17, 17, 17]);
});

test("leaves out worlds that are reset, or wait for it", async () => {
  for (const autoreset of ["next-step", "same-step"] as const) {
    await using env = await make({ autoreset, maxEpisodeSteps: 2, monitor: { worlds: [3], everySteps: 1 } });
    await env.reset();
    for (let t = 0; t < 7; t++) await env.step(new Float32Array(63));
    const steps = env.health().drift!.samples.map(({ step }) => step);
    expect(steps).toEqual(autoreset === "next-step" ? [1, 2, 4, 5, 7] : [1, 3, 5, 7]);
  }
});

test("beyond a threshold it writes a bundle, which is executed again to the bit and held against MuJoCo", async () => {
  await using env = await make({ monitor: { worlds: [3], everySteps: 4, threshold: 1e-12 } });
  await env.reset();
  for (let t = 0; t < 5; t++) await env.step(env.actionSpace.sample(2, { draw: t }));
  const { bundles, byStatus, drift } = env.health();
  expect(byStatus.drift).toMatchObject({ count: 2, ids: [3], first: { step: 1 }, last: { step: 5 } });
  expect(drift!.beyond).toBe(2);
  expect(bundles).toHaveLength(2);
  const bundle = readBundle(bundles[1]);
  expect(bundle.about.tripped).toMatchObject([{ world: 3, names: ["drift"], step: 5 }]);
  expect(await replay(bundle)).toMatchObject({ identical: true });
  const opinion = await secondOpinion(await crashScene(bundle), await bisect(bundle));
  expect(opinion.verdict).toBe("condition");
  expect(opinion.apart).toHaveLength(5);
});

test.each([true, false])("reads states so long that records pass through arrays, unrolled: %s", async (unroll) => {
  const rail = (i: number) =>
    `<body pos="${i} 0 0"><joint name="j${i}" type="slide" axis="0 0 1" damping="1"/><geom size=".1" mass="1"/></body>`;
  const all = Array.from({ length: 24 }, (_, i) => i);
  const task = defineTask({
    id: "Rails",
    model: `<mujoco><worldbody>${all.map(rail).join("")}</worldbody><actuator>
      ${all.map((i) => `<position joint="j${i}" kp="10" ctrlrange="-1 1"/>`).join("")}</actuator></mujoco>`,
    frameSkip: 2,
    maxEpisodeSteps: 100,
    observe: { qpos: "qpos" },
    reward: { none: 0 },
    events: { blow: (s) => ({ qvel: s.random.normals(24), xfrc_applied: s.random.normals(150) }) },
  });
  const monitor = { worlds: [1], everySteps: 1 };
  await using env = await makeVec(task, { numEnvs: 2, seed: 1, device: "cpu-f64", unroll, recorder: false, monitor });
  await env.reset();
  for (let t = 0; t < 4; t++) await env.step(env.actionSpace.sample(2, { draw: t }));
  const { checks, worst } = env.health().drift!;
  expect(checks).toBe(4);
  expect(worst!.qvel).toBeLessThan(envBounds.derived.value);
});

test("refuses what cannot be", async () => {
  const code = (monitor: unknown) => make({ monitor: monitor as { worlds: [] } }).then(() => "made", codeOf);
  const options = [
    { worlds: [] },
    { worlds: [21] },
    { worlds: [1, 1] },
    { worlds: "all" },
    { everySteps: 3 },
    { worlds: [0], everySteps: 0 },
    { worlds: [0], threshold: 0 },
    { worlds: [0], threshold: "high" },
    7,
  ];
  for (const bad of options) expect(await code(bad)).toBe("bad-option");
  expect(await code({ worlds: [0], evrySteps: 3 })).toBe("unknown-option");
  await using env = await make();
  expect(env.health().drift).toBeUndefined();
  await env.reset();
  expect(await env.record([99], "why").catch(codeOf)).toBe("bad-world");
});
