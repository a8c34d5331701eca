// threads of the device "wasm": the same bits, a free event loop, and what is left when one is lost
import { Worker } from "node:worker_threads";
import { afterEach, expect, test, vi } from "vitest";
import "../../../envs/index.ts";
import { createSimulation } from "../../../src/batch/simulation.ts";
import { WasmThreads } from "../../../src/batch/wasm/threads.ts";
import { makeVec, type VectorEnv } from "../../../src/env/index.ts";
import { loadModel } from "../../../src/model/model.ts";

afterEach(() => vi.restoreAllMocks());

const full = process.env.CORRAL_FULL !== undefined;

async function results(env: VectorEnv, steps: number): Promise<unknown[]> {
  const { observations } = await env.reset({ seed: 4 });
  const seen: unknown[] = [[...observations]];
  for (let t = 0; t < steps; t++) {
    const { observations: o, rewards, terminated, infos } = await env.step(env.actionSpace.sample(1, { draw: t }));
    const status = Array.from({ length: env.numEnvs }, (_, world) => infos.status(world));
    seen.push([o, rewards, terminated, status].map((x) => [...x]));
  }
  return seen;
}

const SIZES = full ? [64, 203, 1021] : [203];

test.each(SIZES)("%i worlds have the same bits in 1, 2 and 7 threads, with recorder and monitor", async (numEnvs) => {
  const submit = vi.spyOn(WasmThreads.prototype, "submit");
  let wanted: unknown[] | undefined;
  for (const threads of [1, 2, 7]) {
    const options = { numEnvs, device: "wasm", threads, shards: 3, monitor: { worlds: [numEnvs - 1, 3] } } as const;
    await using env = await makeVec("Hopper-v5", options);
    const found = await results(env, full ? 100 : 6);
    wanted ??= found;
    expect(found).toEqual(wanted);
    expect(submit.mock.calls.length > 0).toBe(threads > 1);
  }
});

const FALLING = `<mujoco><worldbody><geom type="plane" size="3 3 .1"/>
  <body pos="0 0 .3"><freejoint/><geom type="capsule" size=".05" fromto="0 0 0 .2 0 0"/></body></worldbody></mujoco>`;

test("a step returns before it is done; what is asked for after it is of after it", async () => {
  const model = await loadModel(FALLING);
  const options = { numEnvs: 100, device: "wasm" } as const;
  await using alone = await createSimulation(model, { ...options, threads: 1 });
  await using sim = await createSimulation(model, { ...options, threads: 2 });
  const submit = vi.spyOn(WasmThreads.prototype, "submit");
  for (const s of [alone, sim]) {
    s.step(200);
    const late = s.getState(["qpos"], [99]);
    s.setOptions({ timestep: 0.001 });
    // between the two, though neither was awaited
    const put = s.setState({ qvel: [0.5, 0, 0, 0, 0, 0] }, [99]);
    await Promise.all([late, put]);
    s.step(200);
    s.forward();
  }
  const [wanted, found] = await Promise.all([alone, sim].map((s) => s.getState(["qpos", "qvel", "time"])));
  expect(found).toEqual(wanted);
  expect(submit).toHaveBeenCalled();
});

test("the event loop turns while threads step", async () => {
  const model = await loadModel(FALLING);
  await using sim = await createSimulation(model, { numEnvs: 512, device: "wasm", threads: 2 });
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  turn();
  sim.step(500);
  await sim.sync();
  isDone = true;
  expect(turns).toBeGreaterThan(2);
});

test("a thread that is lost takes its batch with it, and a snapshot goes on", async () => {
  const make = () => makeVec("Hopper-v5", { numEnvs: 203, device: "wasm", threads: 2, snapshotEvery: 1, seed: 1 });
  const env = await make();
  const other = await make();
  await env.reset();
  await env.step(env.actionSpace.sample(0));
  await env.sync();
  expect(env.lastSnapshot).toBeDefined();

  const submit = vi.spyOn(WasmThreads.prototype, "submit");
  // there is no kernel of this number
  submit.mockImplementationOnce(function (this: WasmThreads, _kernels, params) {
    submit.mockRestore();
    this.submit([99], params);
  });
  await expect(env.step(env.actionSpace.sample(1))).rejects.toMatchObject({ code: "device-lost" });
  await expect(env.step(env.actionSpace.sample(1))).rejects.toThrow("restoreOn");

  const again = await env.restoreOn();
  expect(again.deviceName).toBe(other.deviceName);
  const { observations } = await again.step(again.actionSpace.sample(1));
  await other.reset();
  await other.step(other.actionSpace.sample(0));
  expect([...observations]).toEqual([...(await other.step(other.actionSpace.sample(1))).observations]);
  await Promise.all([again.close(), other.close()]);
});

test("close waits for what was asked for, and may come while threads start", async () => {
  const model = await loadModel(FALLING);
  const sim = await createSimulation(model, { numEnvs: 512, device: "wasm", threads: 3 });
  sim.step(100);
  const state = sim.getState(["time"], [0]);
  await sim.close();
  expect((await state).time[0]).toBeCloseTo(0.2, 6);
  await (await createSimulation(model, { numEnvs: 512, device: "wasm", threads: 3 })).close();
});

test("counts of threads that are none are refused; stacks are of the plan", async () => {
  for (const threads of [0, 1.5, 1000, "2"])
    await expect(makeVec("CartPole", { numEnvs: 8, device: "wasm", threads: threads as number })).rejects.toMatchObject(
      {
        code: "bad-option",
      },
    );
  const given = { numEnvs: 4096, device: "wasm", recorder: false } as const;
  await using one = await makeVec("Hopper-v5", { ...given, threads: 1 });
  await using three = await makeVec("Hopper-v5", { ...given, threads: 3 });
  expect(three.plan.totalBytes - one.plan.totalBytes).toBeGreaterThanOrEqual(3 * 2 ** 20);
  await expect(makeVec("Hopper-v5", { ...given, threads: 200, budget: "1GiB" })).rejects.toThrow("[budget-exceeded]");
});

test("threads that start while they are ended still hold the process until they have ended", async () => {
  const model = await loadModel(FALLING);
  const sim = await createSimulation(model, { numEnvs: 100, device: "wasm", threads: 2 });
  const unref = vi.spyOn(Worker.prototype, "unref");
  // they start meanwhile, and what they tell is heard after they are asked to end
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  await sim.close();
  expect(unref).not.toHaveBeenCalled();
});
