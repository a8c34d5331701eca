// the learner on WebAssembly: its kernels compute what those of a GPU do, and the same bits on every machine
import { createHash } from "node:crypto";
import { afterAll, describe, expect, test, vi } from "vitest";
import "../../../envs/index.ts";
import { makeVec } from "../../../src/env/index.ts";
import type { DeviceCore } from "../../../src/rl/device/device-core.ts";
import { bindingsOf, entryOf, kernelCode } from "../../../src/rl/device/kernels.ts";
import { KERNELS, type KernelName } from "../../../src/rl/device/kernel-table.ts";
import { Ppo, Sac } from "../../../src/rl/index.ts";
import { learnBatch } from "../../../src/rl/sac/batch.ts";
import { trainMinibatch } from "../../../src/rl/ppo/update.ts";
import { compileWgsl } from "../../../src/wgsl/compile.ts";
import { closeSharedDevice, makeCase, ON_WASM } from "../../support/learner-case.ts";
import { LEARNER_CASES } from "../../support/learner-cases.ts";
import { DRAW, makeSac } from "../../support/sac-case.ts";
import { learnerBounds } from "../../support/tolerances.ts";

afterAll(closeSharedDevice);

test.each(Object.keys(KERNELS) as KernelName[])("%s compiles", (name) => {
  const bindings = bindingsOf(name).map(({ binding }) => binding);
  const options = { entry: entryOf(name), bindings, scratchBytes: 16384, constants: { PARTS: 1 } };
  expect(WebAssembly.validate(compileWgsl(kernelCode(name, "vectors"), options).module)).toBe(true);
});

/** Arenas of two learners agree, relative to their largest number. */
async function expectEqual(gpu: DeviceCore, wasm: DeviceCore, arenas: readonly string[], bound: number): Promise<void> {
  for (const arena of arenas) {
    const [wanted, found] = await Promise.all(
      [gpu, wasm].map((core) => core.read(arena, new Float32Array(core.words(arena)))),
    );
    const size = wanted.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-6);
    let worst = 0;
    wanted.forEach((x, i) => (worst = Math.max(worst, Math.abs(found[i] - x) / size)));
    expect(worst, arena).toBeLessThan(bound);
  }
}

describe.each(LEARNER_CASES)("PPO, $name", (learnerCase) => {
  test("a minibatch: derivatives, gradients and parameters are those of WGSL on a device", async () => {
    const [gpu, wasm] = [await makeCase(learnerCase, 17), await makeCase(learnerCase, 17, ON_WASM)];
    await using one = gpu.learner;
    await using other = wasm.learner;
    const { minibatch: rows, each: valid } = gpu.shape;
    for (const learner of [one, other])
      trainMinibatch(learner, { first: 0, rows, valid, keys: [1, 2, 3, 4], flags: 8 });
    await expectEqual(one, other, ["grads", "params", "moments"], learnerBounds.gradient.value);
  });
});

test.each([1, 3])("SAC with %s actions: a batch of critics, policy, temperature and targets", async (actions) => {
  const sacCase = { name: "", observations: 6, actions, config: { hidden: [16, 8], temperatureLearningRate: 0.01 } };
  const [gpu, wasm] = [await makeSac(sacCase, 5), await makeSac(sacCase, 5, ON_WASM)];
  await using one = gpu.learner;
  await using other = wasm.learner;
  for (const learner of [one, other]) learnBatch(learner, { draw: DRAW, flags: 8, samples: false, movesPolicy: true });
  await expectEqual(one, other, ["grads", "params", "moments", "state"], learnerBounds.gradient.value);
});

test("jobs that take long let signals and timers have their turn", async () => {
  await using learner = (await makeCase(LEARNER_CASES[0], 17, ON_WASM)).learner;
  const begin = performance.now();
  using now = vi.spyOn(performance, "now").mockReturnValue(begin + 60);
  const isTurned = async () => {
    let turned = false;
    setImmediate(() => (turned = true));
    await learner.turn();
    return turned;
  };
  expect(await isTurned()).toBe(true);
  expect(await isTurned()).toBe(false);
  now.mockReturnValue(begin + 120);
  expect(await isTurned()).toBe(true);
});

/** Hashes of parameters: any machine may be held against them. */
const PINNED = {
  ppo: "4c3304d3b07043eb",
  sac: "24031a591df280fd",
};

async function hashOf(make: () => Promise<Ppo | Sac>, updates: number): Promise<string> {
  await using learner = await make();
  for (let i = 0; i < updates; i++) await learner.iterate();
  const params = await learner.parameters();
  return createHash("sha256").update(new Uint8Array(params.buffer)).digest("hex").slice(0, 16);
}

test("the same seed gives the same bits on every machine", async () => {
  await using envs = await makeVec("CartPole", { numEnvs: 24, seed: 3, device: "wasm" });
  const ppo = { seed: 3, rolloutSteps: 8, minibatches: 3, epochs: 2, hidden: [16, 16] };
  expect(await hashOf(() => Ppo.create(envs, ppo), 5)).toBe(PINNED.ppo);
  await using pendulum = await makeVec("InvertedPendulum-v5", { numEnvs: 16, seed: 3, device: "wasm" });
  const sac = { seed: 3, hidden: [16], batchSize: 32, bufferSize: 1024, learningStarts: 64 };
  expect(await hashOf(() => Sac.create(pendulum, sac), 20)).toBe(PINNED.sac);
});

test("evaluation, a snapshot and what goes on from it need no adapter either", async () => {
  const make = () => makeVec("InvertedPendulum-v5", { numEnvs: 12, seed: 1, device: "wasm" });
  await using envs = await make();
  await using peers = await make();
  const options = { seed: 1, rolloutSteps: 4, hidden: [8] };
  await using ppo = await Ppo.create(envs, options);
  await ppo.iterate();
  expect((await ppo.evaluate(peers)).episodes).toBe(12);
  const saved = await ppo.snapshot();
  await ppo.iterate();
  const wanted = await ppo.parameters();
  await ppo.restore(saved);
  await ppo.iterate();
  expect(await ppo.parameters()).toEqual(wanted);
});

test("JavaScript has no learner, and says where there is one", async () => {
  await using envs = await makeVec("CartPole", { numEnvs: 2, device: "cpu" });
  await expect(Ppo.create(envs)).rejects.toThrow(/\[gpu-required\].*device: "wasm"/);
});
