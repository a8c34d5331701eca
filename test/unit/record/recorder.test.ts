// what trips the recorder, what health tells, and what is recorded of steps that nobody read
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { defineTask, makeVec, type VecOptions, type VectorEnv } from "../../../src/env/index.ts";
import { bisect } from "../../../src/crash/bisect.ts";
import { replay } from "../../../src/crash/replay.ts";
import { readBundle } from "../../../src/record/read-bundle.ts";
import { loadModel } from "../../../src/model/model.ts";
import { planSimulation } from "../../../src/batch/simulation.ts";
import { gt } from "../../../src/trace/scalar.ts";
import "../../../envs/index.ts";
import { codeOf } from "../../support/lives.ts";
import { softwareAdapters } from "../../support/software-adapters.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-recorder-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const N = 10;
const slider = defineTask({
  id: "Slider",
  model: `<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="rail" type="slide" axis="1 0 0"/>
    <geom size=".1" mass="1"/></body></worldbody><actuator><motor joint="rail" ctrlrange="-9 9"/></actuator></mujoco>`,
  frameSkip: 1,
  maxEpisodeSteps: 1000,
  defaults: {},
  observe: { qpos: "qpos", inverse: "1 / (qpos - 2)" },
  reward: { speed: "qvel(joint.rail)", pole: "1 / (qpos(joint.rail) - 1)" },
  terminated: {},
});
const make = (options: Partial<VecOptions> = {}) =>
  makeVec(slider, { numEnvs: N, device: "cpu", recorder: { directory, everySteps: 4 }, ...options });
const still = new Float32Array(N);

/** Puts a world if its reward has a pole before step `at`, and makes `steps` steps. */
async function run(env: VectorEnv, at: number, steps: number, step: (t: number) => Promise<unknown>): Promise<void> {
  await env.reset();
  for (let t = 1; t <= steps; t++) {
    if (t === at) await env.setState({ qpos: [1] }, [7]);
    await step(t);
  }
}

test("health tells bits, terms, the first and the last of each", async () => {
  await using env = await make();
  await run(env, 5, 8, () => env.step(still));
  await env.setState({ qpos: [2, 1] }, [2, 7]);
  await env.step(still);
  const { steps, failures, byStatus, byTerm } = env.health();
  expect([steps, failures]).toEqual([9, 3]);
  expect(byStatus).toMatchObject({
    BAD_REWARD: { count: 2, first: { id: 7, step: 5 }, last: { id: 7, step: 9 }, ids: [7] },
    BAD_OBS: { count: 1, first: { id: 2, step: 9 }, ids: [2] },
  });
  expect(Object.keys(byTerm).sort()).toEqual(["inverse", "pole"]);
});

describe("conditions of the user", () => {
  test.each([
    ["an expression", "qvel(joint.rail) > 0.5"],
    ["a function", (s: { d: { qvel: { at(i: number): number } } }) => gt(s.d.qvel.at(0), 0.5)],
  ])("%s trips the recorder and ends nothing", async (_, when) => {
    const trip = [
      { name: "never", when: "qpos(joint.rail) > 1000" },
      { name: "fast", when: when as string },
    ];
    await using env = await make({ trip });
    await env.reset();
    const actions = Float32Array.from({ length: N }, (__, w) => (w === 3 ? 9 : 0));
    for (let t = 0; t < 60; t++) await env.step(actions);
    const { byStatus, bundles } = env.health();
    expect(Object.keys(byStatus)).toEqual(["fast"]);
    expect(byStatus.fast.ids).toEqual([3]);
    expect([...env.terminated]).toEqual(Array(N).fill(0));
    // a world that stays beyond it trips once
    expect(bundles).toHaveLength(1);
    const bundle = readBundle(bundles[0]);
    expect(bundle.about.tripped).toMatchObject([{ id: 3, names: ["fast"] }]);
    expect(await replay(bundle)).toMatchObject({ identical: true });
  });

  test("that are none are refused", async () => {
    const code = (trip: unknown) => make({ trip: trip as [] }).then(() => "made", codeOf);
    expect(await code([{ name: "a" }])).toBe("bad-option");
    expect(
      await code([
        { name: "a", when: "qpos > 1" },
        { name: "a", when: "qpos > 2" },
      ]),
    ).toBe("bad-option");
    expect(await code(Array.from({ length: 9 }, (_, i) => ({ name: `${i}`, when: "qpos > 1" })))).toBe("bad-option");
    expect(await code([{ name: "BAD_QPOS", when: "qpos > 1" }])).toBe("bad-option");
    expect(await code([{ name: "a", when: "qpso > 1" }])).not.toBe("made");
  });
});

describe.each(["cpu", undefined] as const)("steps that nobody read, on device %s", (device) => {
  test("are watched, and recorded as far as the ring reaches", async () => {
    await using env = await make({ device, onNonFinite: "ignore" });
    await run(env, 9, 12, (t) => env.step(still, { readback: false }).then(() => (t === 12 ? env.read() : undefined)));
    const { byStatus, bundles } = env.health();
    expect(byStatus.BAD_REWARD).toMatchObject({ count: 4, first: { step: 9 }, ids: [7] });
    const bundle = readBundle(bundles[0]);
    expect(bundle.about.tripped[0].step).toBe(9);
    expect(await replay(bundle)).toMatchObject({ identical: true });
  });

  test("long ago are told of, and not in a bundle", async () => {
    await using env = await make({ device });
    await run(env, 2, 30, (t) => env.step(still, { readback: false }).then(() => (t === 30 ? env.read() : undefined)));
    const { byStatus, bundles, notWritten } = env.health();
    expect(byStatus.BAD_REWARD).toMatchObject({ first: { step: 2 } });
    expect(bundles).toEqual([]);
    expect(notWritten).toMatchObject([{ code: "not-recorded", count: 1 }]);
  });
});

test.each(await softwareAdapters())("a bundle of the %s adapter is executed again on it, unasked", async (adapter) => {
  await using env = await make({ device: undefined, adapter });
  await run(env, 3, 4, () => env.step(still));
  const report = await replay(readBundle(env.health().bundles[0]));
  expect(report).toMatchObject({ device: env.deviceName, identical: true, differences: [] });
});

test("many steps in one submission are recorded, with the actions that kernels wrote", async () => {
  await using env = await make({ device: undefined });
  await env.reset();
  await env.step(Float32Array.from({ length: N }, (_, w) => (w === 7 ? 0 : w)));
  await env.setState({ qpos: [1] }, [7]);
  await env.stepOnDevice((_, step) => {
    for (let k = 0; k < 6; k++) step();
  });
  await env.read();
  const [path] = env.health().bundles;
  const bundle = readBundle(path);
  expect(bundle.about.tripped).toMatchObject([{ id: 7, step: 2 }]);
  expect(bundle.recording.segments.map(({ start, steps }) => [start, steps])).toEqual([
    [1, 4],
    [5, 2],
  ]);
  expect(await replay(bundle)).toMatchObject({ identical: true });
});

test("chosen worlds are recorded, with memory for them alone", async () => {
  await using env = await make({ recorder: { directory, everySteps: 4, worlds: [7, 1] }, shards: 2 });
  const ring = env.plan.fields.find((f) => f.name === "record_action")!;
  expect(ring.perWorld).toBe(0);
  await run(env, 5, 6, () => env.step(still));
  const bundle = readBundle(env.health().bundles[0]);
  expect(bundle.recording.worlds).toEqual([7]);
  expect(await replay(bundle)).toMatchObject({ identical: true });
  await env.setState({ qpos: [1] }, [3]);
  await env.step(still);
  expect(env.health().notWritten).toMatchObject([{ code: "not-recorded" }]);
});

test("what is to be recorded before any step was made is told of as that", async () => {
  await using env = await make({ device: "cpu" });
  await env.reset();
  expect(await env.record([1], "too early")).toBeUndefined();
  const reason = "no control step is recorded yet; step first";
  expect(env.health().notWritten).toMatchObject([{ code: "not-recorded", reason }]);
});

test("a condition that trips has a name", async () => {
  await expect(make({ device: "cpu", trip: [{ name: "", when: "time > 1" }] })).rejects.toThrow(
    /trip is .* with different names/,
  );
});

test("a discrete action that is none, written by a kernel, is named", async () => {
  await using env = await makeVec("CartPole", { numEnvs: N, recorder: { directory } });
  await env.reset();
  await env.step(new Int32Array(N));
  const { actions } = env.gpu!;
  const { device } = env.gpu!.device;
  device.queue.writeBuffer(actions.shards[0].buffer, actions.offset + actions.stride * 4, Int32Array.of(9));
  await env.step(actions);
  const found = await bisect(readBundle(env.health().bundles[0]));
  expect(found).toMatchObject({
    id: 4,
    step: 2,
    status: ["BAD_CTRL"],
    blame: { stage: "action", text: "action[0]", value: 9 },
  });
  expect(found.causes[0]).toMatchObject({ name: "action-out-of-range", certainty: "certain" });
});

test("a simulation says what has these tools", async () => {
  const model = await loadModel("<mujoco><worldbody/></mujoco>");
  for (const name of ["recorder", "monitor", "trip", "onNonFinite"])
    expect(() => planSimulation(model, { numEnvs: 1, [name]: true })).toThrow(/^\[needs-task\] .*makeVec/);
});
