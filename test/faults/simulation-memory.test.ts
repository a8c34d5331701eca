// simulations that are refused, sharded, closed in the middle of work or made a thousand times, beside one that must not notice
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatBytes } from "../../src/core/units.ts";
import { makeVec } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { type GpuDevice, openDevice } from "../../src/gpu/device.ts";
import type { Limits } from "../../src/gpu/limits.ts";
import { createBudget } from "../../src/memory/device-budget.ts";
import { BudgetExceededError, LimitExceededError } from "../../src/memory/errors.ts";
import { injectFaults } from "../../src/memory/faults.ts";
import type { Model } from "../../src/model/model.ts";
import { createSimulation, type Simulation } from "../../src/batch/simulation.ts";
import { collect } from "../support/collect.ts";
import { Bystander, codeOf, hashOf } from "../support/lives.ts";
import { loadTestModel } from "../support/mjcf.ts";
import { softwareAdapters } from "../support/software-adapters.ts";
import { watchDevice } from "../support/watch-device.ts";

const full = process.env.CORRAL_FULL !== undefined;
const adapters = await softwareAdapters();

/** Bytes of this process that are in memory, without what waits to be collected. */
function resident(): number {
  collect();
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
}

/** Makes the planner believe in smaller limits: a device is never granted less than WebGPU's defaults. */
async function withLimits<T>(gpu: GpuDevice, limits: Partial<Limits>, run: () => Promise<T>): Promise<T> {
  const before = gpu.limits;
  Object.defineProperty(gpu, "limits", { value: { ...before, ...limits }, configurable: true });
  try {
    return await run();
  } finally {
    Object.defineProperty(gpu, "limits", { value: before });
  }
}

describe.each(adapters)("simulations on the %s adapter", (adapter) => {
  let model: Model;
  let gpu: GpuDevice;
  let bystander: Bystander;
  beforeAll(async () => {
    model = await loadTestModel("envs/inverted_pendulum");
    gpu = await openDevice({ adapter });
    bystander = await Bystander.create(model, gpu);
  });
  afterAll(async () => {
    await bystander.close();
    (await createBudget(gpu)).assertEmpty();
    expect(gpu.uncaptured).toEqual([]);
    gpu.close();
  });

  test("over budget or limits are refused with their plan, and the other one notices nothing", async () => {
    const budget = await createBudget(gpu);
    const watch = watchDevice(gpu);
    const numEnvs = 10_000_000;

    await createBudget(gpu, { limit: "64MiB" });
    const overBudget = await createSimulation(model, { numEnvs, device: gpu }).catch((error: unknown) => error);
    expect(overBudget).toBeInstanceOf(BudgetExceededError);
    const { plan, remedies, largestFields, table } = overBudget as BudgetExceededError;
    expect(plan).toMatchObject({ numEnvs, budget: { limit: 2 ** 26, live: bystander.bytes } });
    expect(plan.problems.map(({ code }) => code)).toEqual(["budget-exceeded"]);
    expect(remedies).toContain(`close ${bystander.simulation.plan.name}, which holds ${formatBytes(bystander.bytes)}`);
    expect(largestFields).toHaveLength(3);
    expect(table).toContain("largest numEnvs");

    const overLimits = await withLimits(gpu, { maxStorageBufferBindingSize: 256 }, () =>
      createSimulation(model, { numEnvs: 100, device: gpu }).catch((error: unknown) => error),
    );
    expect(overLimits).toBeInstanceOf(LimitExceededError);
    expect((overLimits as LimitExceededError).plan.bound).toMatchObject({ limit: "maxStorageBufferBindingSize" });

    expect([watch.made.createBuffer, budget.live, budget.report().refused]).toEqual([0, bystander.bytes, 1]);
    watch.remove();
    await bystander.assertUnchanged();
  });

  test("in several shards, asked for or needed, and in any workgroups, step to the same bits", async () => {
    const load = await loadTestModel(full || adapter === "system" ? "envs/hopper" : "envs/inverted_pendulum");
    const run = async (options: { shards?: number; workgroupSize?: number }) => {
      await using simulation = await createSimulation(load, { numEnvs: 100, device: gpu, ...options });
      const ctrl = Array.from({ length: 100 * load.nu }, (_, i) => Math.sin(i));
      await simulation.setState({ ctrl });
      for (let i = 0; i < 10; i++) simulation.step(2);
      return { shards: simulation.plan.shards.length, hash: await hashOf(simulation) };
    };

    const one = await run({});
    expect(one.shards).toBe(1);
    expect(await run({ shards: 3 })).toEqual({ shards: 3, hash: one.hash });
    expect(await run({ workgroupSize: 8 })).toEqual(one);
    expect(await run({ shards: 3, workgroupSize: 64 })).toEqual({ shards: 3, hash: one.hash });
    const needed = await withLimits(gpu, { maxStorageBufferBindingSize: 2 ** 13 }, () => run({}));
    expect(needed.shards).toBeGreaterThan(1);
    expect(needed.hash).toBe(one.hash);
  });

  const times = full ? 1000 : 150;
  test(`made, refused and closed ${times} times leave nothing`, async () => {
    const budget = await createBudget(gpu, { limit: "64MiB" });
    const watch = watchDevice(gpu);
    const faults = injectFaults(gpu);
    const codes: string[] = [];
    let settled = 0;

    for (let i = 0; i < times; i++) {
      if (i === times / 2) settled = resident();
      const kind = i % 3;
      if (kind === 2) faults.arm({ point: "buffer", at: 1 + (i % 6), kind: "internal" });
      const numEnvs = kind === 1 ? 10_000_000 : 20_000;
      const made = await createSimulation(model, { numEnvs, device: gpu }).catch((error: unknown) => error);
      if (kind === 0) {
        (made as Simulation).step();
        await (made as Simulation).close();
      } else codes.push(codeOf(made));
      faults.arm();
      expect([budget.live, watch.liveBytes()]).toEqual([bystander.bytes, 0]);
    }

    // half of them leaked would be a hundred times that
    expect(resident() - settled).toBeLessThan(64 * 2 ** 20);
    const third = Math.floor(times / 3);
    expect(codes.filter((code) => code === "budget-exceeded").length).toBeGreaterThanOrEqual(third);
    expect(codes.filter((code) => code === "allocation-refused").length).toBeGreaterThanOrEqual(third);
    faults.remove();
    watch.remove();
    await bystander.assertUnchanged();
  });

  test("closed while steps and reads are under way lose nothing", async () => {
    const simulation = await createSimulation(model, { numEnvs: 3000, device: gpu, snapshotEvery: 1 });
    for (let i = 0; i < 20; i++) simulation.step();
    const read = simulation.getState(["qpos", "time"]);
    const closing = simulation.close();
    expect(simulation.close()).toBe(closing);
    const { time } = await read;
    await closing;
    expect(time[2999]).toBeCloseTo(20 * model.opt.timestep, 5);
    expect(() => simulation.step()).toThrowErrorMatchingInlineSnapshot(
      `[CorralError: [closed] cannot step: the simulation was closed. Make another one.]`,
    );
    await expect(simulation.getState(["qpos"])).rejects.toThrowError("[closed]");
    await expect(simulation.snapshot()).rejects.toThrowError("[closed]");
    await simulation.close();
  });

  test("closed in the middle of a call, the call completes first", async () => {
    const { id, options } = { id: "InvertedPendulum-v5", options: { numEnvs: 3000, device: gpu } };
    const simulation = await createSimulation(model, options);
    const calls = [simulation.reset(), simulation.close()];
    await expect(simulation.reset()).rejects.toThrowError("[closed]");
    await Promise.all(calls);

    const env = await makeVec(id, options);
    await env.reset();
    const step = env.step(env.actionSpace.sample(0));
    const closing = env.close();
    await expect(env.step(env.actionSpace.sample(0))).rejects.toThrowError("[closed]");
    expect((await step).observations).toHaveLength(3000 * 4);
    await closing;

    // a call that fails holds nothing up
    const other = await makeVec(id, options);
    const bad = other.setState({ qpos: [1] });
    const end = other.close();
    await expect(bad).rejects.toThrowError("[bad-shape]");
    await end;
    expect((await createBudget(gpu)).live).toBe(bystander.bytes);
  });

  test("cannot be stepped between the halves of a write, or under a read in pieces", async () => {
    await using simulation = await createSimulation(model, { numEnvs: 60_000, device: gpu });
    const write = simulation.setState({ qvel: [1, 2] }, [7]);
    expect(() => simulation.step()).toThrowError("[call-in-flight] cannot step: setState has not resolved yet");
    await write;

    // 60,000 worlds are more than both staging buffers hold
    const read = simulation.getState(["qvel", "time"], [7]);
    expect(() => simulation.step()).toThrowError("[call-in-flight] cannot run step: a read in several pieces");
    expect(await read).toEqual({ qvel: Float64Array.of(1, 2), time: Float64Array.of(0) });
    simulation.step();
    await simulation.sync();
  });

  test("larger than what a driver stages are written in pieces, and nothing gets between", async () => {
    const numEnvs = 80_000;
    await using simulation = await createSimulation(model, { numEnvs, device: gpu, shards: 2 });
    const qvel = Array.from({ length: 2 * numEnvs }, (_, i) => Math.fround(Math.sin(i)));
    await simulation.setState({ qvel });
    simulation.step();
    const snapshot = await simulation.snapshot();
    const before = await hashOf(simulation);

    simulation.step(3);
    const restoring = simulation.restore(snapshot);
    expect(() => simulation.step()).toThrowError("[call-in-flight]");
    await restoring;
    expect(await hashOf(simulation)).toBe(before);

    // the first state too, to the last world
    await simulation.reset();
    const first = await simulation.getState(["qpos", "qvel"]);
    expect(first.qpos.every((x) => x === 0) && first.qvel.every((x) => x === 0)).toBe(true);
  });

  test("a batch that a listener closes makes room for the one that waits", async () => {
    const budget = await createBudget(gpu);
    const { limit } = budget;
    const first = await createSimulation(model, { numEnvs: 5000, device: gpu });
    await createBudget(gpu, { limit: budget.live + 1000 });
    const told: number[] = [];
    const stop = budget.onPressure(async ({ level, requested }) => {
      told.push(level, requested);
      if (level === 1) await first.close();
    });

    const second = await createSimulation(model, { numEnvs: 5000, device: gpu });
    expect(told).toEqual([1, second.plan.totalBytes]);
    second.step();
    await second.sync();
    await second.close();

    // what a listener throws is told, and nothing has changed
    stop();
    const before = budget.report();
    const end = budget.onPressure(() => {
      throw new Error("no, not now");
    });
    await expect(createSimulation(model, { numEnvs: 6000, device: gpu })).rejects.toThrowError("no, not now");
    expect(budget.report()).toEqual(before);
    end();
    await createBudget(gpu, { limit });
  });

  test("what is no snapshot of an environment is refused", async () => {
    await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 8, device: gpu });
    await using other = await makeVec("CartPole", { numEnvs: 8, device: "cpu" });
    const before = (await env.reset()).observations.slice();
    const foreign = await other.snapshot();
    for (const snapshot of [undefined, null, {}, { batch: {} }, foreign]) {
      await expect(env.restore(snapshot as typeof foreign)).rejects.toThrowError("[bad-snapshot]");
    }
    expect((await env.read()).observations).toEqual(before);
  });

  test("after refused work a reset of all worlds starts over", async () => {
    const make = () => makeVec("InvertedPendulum-v5", { numEnvs: 20, device: gpu });
    const env = await make();
    const actions = env.actionSpace.sample(2);
    await env.reset({ seed: 5 });
    const faults = injectFaults(gpu, { point: "submit", at: 1 });
    await expect(env.step(actions)).rejects.toThrowError("[work-refused]");
    faults.remove();
    await expect(env.step(actions)).rejects.toThrowError("[work-refused]");
    const mask = Uint8Array.from({ length: 20 }, (_, i) => i % 2);
    await expect(env.reset({ options: { mask } })).rejects.toThrowError("[work-refused]");

    await env.reset({ seed: 5 });
    const { observations } = await env.step(actions);
    const other = await make();
    await other.reset({ seed: 5 });
    expect((await other.step(actions)).observations).toEqual(observations);
    await env.close();
    await other.close();
  });

  test("a budget that refuses the batch which brought it is not kept", async () => {
    const budget = await createBudget(gpu);
    const before = budget.report();
    const options = { numEnvs: 5000, device: gpu, budget: budget.live + 1000 };
    await expect(createSimulation(model, options)).rejects.toThrowError(BudgetExceededError);
    expect(budget.report()).toEqual({ ...before, refused: before.refused + 1 });
  });

  test.each([
    ["2 gigs", "bad-bytes"],
    [-1, "bad-bytes"],
    ["1000TiB", "budget-too-large"],
    [16, "budget-below-live"],
  ])("budget %s is refused", async (budget, code) => {
    const before = (await createBudget(gpu)).report();
    await expect(createSimulation(model, { numEnvs: 8, device: gpu, budget })).rejects.toThrowError(`[${code}]`);
    expect((await createBudget(gpu)).report()).toEqual(before);
  });

  const bad = [
    { onOverBudget: "maybe" },
    { snapshotEvery: 0 },
    { shards: 0 },
    { shards: 9 },
    { shards: 1.5 },
    { workgroupSize: 12 },
  ];
  const none = [{ device: "tpu" }, { device: null }, { device: {} }];
  test.each([...bad, ...none])("option %o is refused", async (option) => {
    const options = { numEnvs: 8, device: gpu, ...option } as Parameters<typeof createSimulation>[1];
    await expect(createSimulation(model, options)).rejects.toThrowError("[bad-option]");
  });
});

test("beyond a limit and memory too, the count that memory allows is the remedy", async () => {
  const model = await loadTestModel("envs/inverted_pendulum");
  const refused = createSimulation(model, { numEnvs: 1e9, device: "wasm", budget: "64MiB" });
  await expect(refused).rejects.toThrowError(BudgetExceededError);
  await expect(refused).rejects.toThrowError(/Remedies: numEnvs: \d{5,6}, the most that fits/);
});
