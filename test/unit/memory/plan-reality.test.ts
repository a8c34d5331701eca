// plan against reality: what a simulation makes on a device is what its plan says, to the byte
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { makeVec, planVec, type VecOptions } from "../../../src/env/index.ts";
import { type GpuDevice, openDevice } from "../../../src/gpu/device.ts";
import { createBudget } from "../../../src/memory/device-budget.ts";
import { BudgetExceededError } from "../../../src/memory/errors.ts";
import { defaultLimits } from "../../../src/memory/request.ts";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { createSimulation, planSimulation, type SimulationOptions } from "../../../src/batch/simulation.ts";
import { ENV_MODELS, loadTestModel } from "../../support/mjcf.ts";
import { createMjcf } from "../../support/random-mjcf.ts";
import { watchDevice, type WatchedDevice } from "../../support/watch-device.ts";
import { ONE_OF_EACH_KIND } from "../../support/shipped.ts";
import { isFull, sweep } from "../../support/sweep.ts";

// the null adapter makes everything and computes nothing: plans need no driver
let gpu: GpuDevice;
let watch: WatchedDevice;
beforeAll(async () => {
  gpu = await openDevice({ adapter: "null" });
  watch = watchDevice(gpu);
  await createBudget(gpu, { limit: "4GiB" });
});
afterAll(() => {
  expect(gpu.uncaptured).toEqual([]);
  watch.remove();
  gpu.close();
});

/** Makes, steps, reads and closes a simulation, and compares what lives with the plan at every point. */
async function planIsReality(model: Model, options: Omit<SimulationOptions, "device">): Promise<void> {
  const budget = await createBudget(gpu);
  expect([watch.liveBytes(), budget.live]).toEqual([0, 0]);

  const simulation = await createSimulation(model, { ...options, device: gpu });
  try {
    const { plan } = simulation;
    expect([...watch.live].map(({ label, size, usage }) => ({ label, size, usage }))).toEqual(
      plan.buffers.map(({ label, size, usage }) => ({ label, size, usage })),
    );
    expect([watch.liveBytes(), budget.live]).toEqual([plan.totalBytes, plan.totalBytes]);
    expect(plan.fields.reduce((sum, field) => sum + field.bytes, 0)).toBe(plan.totalBytes);
    expect(planSimulation(model, options, { limits: gpu.limits }).totalBytes).toBe(plan.totalBytes);

    // what runs makes nothing
    const before = { ...watch.made };
    simulation.step(2);
    simulation.forward();
    await simulation.setState({ qpos: simulation.model.qpos0 }, [plan.numEnvs - 1]);
    await simulation.getState(["qpos", ...(options.outputs ?? [])]);
    await simulation.restore(await simulation.snapshot());
    await simulation.reset();
    await simulation.sync();
    expect(watch.made).toEqual(before);
  } finally {
    await simulation.close();
  }
  expect([watch.liveBytes(), budget.live]).toEqual([0, 0]);
}

describe("what a simulation makes is what was planned", () => {
  const cases: [string, Omit<SimulationOptions, "device">][] = [
    ["one world", { numEnvs: 1 }],
    ["a tile and a part", { numEnvs: 13, applied: false }],
    ["outputs", { numEnvs: 100, outputs: ["xpos", "ncon", "nefc", "sensordata"] }],
    ["three shards", { numEnvs: 100, shards: 3, timestep: 0.001 }],
    ["more than the staging buffers hold", { numEnvs: 5000, iterations: 3 }],
  ];

  const models = sweep(ENV_MODELS, ["ant", "hopper", "inverted_pendulum"]);
  test.each(models.flatMap((name) => cases.map(([what, options]) => [name, what, options] as const)))(
    "%s, %s",
    async (name, _, options) => planIsReality(await loadTestModel(`envs/${name}`), options),
  );

  test("few contacts, and kernels with loops", async () => {
    const model = await loadTestModel("envs/ant");
    await planIsReality(model, { numEnvs: 64, nconmax: 4, outputs: ["ncon"] });
    await planIsReality(model, { numEnvs: 64, unroll: false });
  });

  test("for random models and options", async () => {
    const options = fc.record({
      seed: fc.nat(100_000),
      numEnvs: fc.integer({ min: 1, max: 3000 }),
      shards: fc.integer({ min: 1, max: 4 }),
      applied: fc.boolean(),
      few: fc.boolean(),
      outputs: fc.subarray(["xpos", "xquat", "qacc", "ncon", "nefc", "cfrc_ext", "sensordata"] as const),
    });
    const property = fc.asyncProperty(options, async ({ seed, numEnvs, shards, applied, few, outputs }) => {
      const model = await loadModel(createMjcf(seed, { bodies: isFull ? 8 : 4 }));
      const most = Math.min(shards, Math.ceil(numEnvs / 8));
      await planIsReality(model, { numEnvs, shards: most, applied, outputs, ...(few ? { nconmax: 2 } : {}) });
    });
    await fc.assert(property, { numRuns: isFull ? 150 : 12, endOnFailure: true });
  });
});

describe("what an environment makes is what was planned", () => {
  const cases: [string, Omit<VecOptions, "device">][] = [
    ["one world", { numEnvs: 1 }],
    ["same-step resets and snapshots", { numEnvs: 100, autoreset: "same-step", snapshotEvery: 2 }],
    ["three shards, few contacts", { numEnvs: 77, shards: 3, nconmax: 2 }],
    ["a short recorder of a few worlds", { numEnvs: 50, recorder: { everySteps: 3, keep: 4, worlds: [9, 30] } }],
    ["no recorder", { numEnvs: 50, recorder: false }],
    ["more than the staging buffers hold", { numEnvs: 9000, frameSkip: 1 }],
  ];

  // one of each kind in one way, two in every way; with `test:full` every environment in every way
  const all = sweep(ONE_OF_EACH_KIND, ["Ant-v5", "CartPole"]);
  const each = ONE_OF_EACH_KIND.flatMap((id) =>
    (all.includes(id) ? cases : cases.slice(1, 2)).map((one) => [id, ...one] as const),
  );
  test.each(each)("%s, %s", async (id, _, options) => {
    const budget = await createBudget(gpu);
    expect([watch.liveBytes(), budget.live]).toEqual([0, 0]);
    const env = await makeVec(id, { ...options, device: gpu });
    try {
      const { plan } = env;
      expect([...watch.live].map(({ label, size }) => [label, size])).toEqual(
        plan.buffers.map(({ label, size }) => [label, size]),
      );
      expect([watch.liveBytes(), budget.live]).toEqual([plan.totalBytes, plan.totalBytes]);
      // a plan traces kernels again, which takes seconds where worlds have terrain; what differs is of no environment
      if (isFull || id !== "Go1Rough")
        expect((await planVec(id, options, { limits: gpu.limits })).totalBytes).toBe(plan.totalBytes);

      const before = { ...watch.made };
      await env.reset();
      for (let i = 0; i < 3; i++) await env.step(env.actionSpace.sample(0));
      await env.restore(await env.snapshot());
      expect(watch.made).toEqual(before);
    } finally {
      await env.close();
    }

    expect([watch.liveBytes(), budget.live]).toEqual([0, 0]);
  });
});

describe("a plan of a simulation", () => {
  test("of a million Ants answers in under a second", async () => {
    const model = await loadTestModel("envs/ant");
    const options = { budget: { limit: 2 ** 30, live: 0, source: "a test" } };

    // the best of three: others may be using the machine
    let plan = planSimulation(model, { numEnvs: 1_000_000 }, options);
    let best = Infinity;
    for (let i = 0; i < 3; i++) {
      const began = performance.now();
      plan = planSimulation(model, { numEnvs: 1_000_000 }, options);
      best = Math.min(best, performance.now() - began);
    }

    expect(best).toBeLessThan(1000);
    expect(plan.numEnvs).toBe(1_000_000);
    expect(plan.largestNumEnvs).toBeGreaterThan(100_000);
    expect(plan.shards.length).toBeGreaterThan(1);
  });

  test("names the largest count exactly, however small the batch that asks", async () => {
    const model = await loadTestModel("envs/ant");
    const budget = { limit: 50_000_000, live: 0, source: "a test" };
    const largest = planSimulation(model, { numEnvs: 1 }, { budget }).largestNumEnvs;
    expect(planSimulation(model, { numEnvs: largest }, { budget }).problems).toEqual([]);
    expect(planSimulation(model, { numEnvs: largest + 1 }, { budget }).problems).toHaveLength(1);
  });

  test("is traced once, also where the batch is shrunk", async () => {
    const model = await loadTestModel("envs/hopper");
    const limit = planSimulation(model, { numEnvs: 2000 }, { limits: gpu.limits }).totalBytes;
    const budget = await createBudget(gpu);
    const before = budget.limit;
    await createBudget(gpu, { limit });

    try {
      const options = { numEnvs: 1_000_000, device: gpu };
      const refused = createSimulation(model, options);
      await expect(refused).rejects.toThrowError(BudgetExceededError);
      await expect(refused).rejects.toMatchObject({ plan: { numEnvs: 1_000_000, largestNumEnvs: 2000 } });

      const warned = new Promise<Error>((resolve) => void process.once("warning", resolve));
      await using simulation = await createSimulation(model, { ...options, onOverBudget: "shrink" });
      expect(simulation.numEnvs).toBe(2000);
      expect(simulation.plan).toMatchObject({ shrunkFrom: 1_000_000, totalBytes: limit, problems: [] });
      expect((await warned).message).toBe(
        "hopper: 1000000 worlds do not fit (292 MiB needed, 2.58 MiB free); made 2000.",
      );
    } finally {
      await createBudget(gpu, { limit: before });
    }
  });

  test("tells of float32 for each model that needs more, whatever its name", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const tied = (size: number) =>
      loadModel(`<mujoco><worldbody><body name="a"><freejoint/><geom size="${size}"/></body></worldbody>
        <equality><connect body1="a" anchor="0 0 0"/></equality></mujoco>`);
    for (const size of [0.1, 0.1, 0.2]) {
      await using _ = await createSimulation(await tied(size), { numEnvs: 1, device: gpu });
    }
    expect(warned.mock.calls.map(([, kind]) => (kind as { code?: string }).code ?? kind)).toEqual(
      Array(2).fill("corral-float32"),
    );
    warned.mockRestore();
  });

  test("has limits that bind", async () => {
    const model = await loadTestModel("envs/ant");
    const limits = { ...defaultLimits, maxStorageBufferBindingSize: 2 ** 16 };
    const plan = planSimulation(model, { numEnvs: 1000 }, { limits });
    expect(plan.shardBound).toMatchObject({ limit: "maxStorageBufferBindingSize", value: 2 ** 16, arena: "state" });
    expect(plan.shards.length).toBeGreaterThan(4);
  });
});
