// 27,000 actions are learned within a small budget, with the same bits each time, without rows of actions anywhere
import { afterAll, beforeAll, expect, test } from "vitest";
import "../../../envs/index.ts";
import { makeVec } from "../../../src/env/index.ts";
import { type GpuDevice, openDevice } from "../../../src/gpu/index.ts";
import { createBudget } from "../../../src/memory/index.ts";
import { actionFeatures } from "../../../src/rl/networks/action-features.ts";
import { Dqn, planDqn, planSacDiscrete, Ppo, planPpo, SacDiscrete } from "../../../src/rl/index.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

/** Whether kernels with and without embeddings are run again, or those with them alone. */
const runsAgain = (actionEmbedding: number): boolean => process.env.CORRAL_FULL === "1" || actionEmbedding > 0;
const ACTIONS = 27_000;
const MIB = 2 ** 20;

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openDevice();
  await createBudget(gpu, { limit: 1024 * MIB });
});
afterAll(() => gpu.close());

test.each([0, 8])("ArmTable trains, with embeddings of %i numbers", async (actionEmbedding) => {
  const trained = async () => {
    await using env = await makeVec("ArmTable", { numEnvs: 16, seed: 1, device: gpu });
    const options = { seed: 1, rolloutSteps: 4, minibatches: 1, epochs: 1, hidden: [16], actionEmbedding };
    await using ppo = await Ppo.create(env, options);
    const metrics = await ppo.iterate();
    return { metrics, params: await ppo.parameters() };
  };
  const { metrics, params } = await trained();
  // as good as uniform at the start
  expect(metrics.entropy).toBeGreaterThan(0.99 * Math.log(ACTIONS));
  expect(metrics.applied).toBe(1);
  expect(params.every(Number.isFinite)).toBe(true);
  if (runsAgain(actionEmbedding)) expect((await trained()).params).toEqual(params);
});

test("a large run fits into 1 GiB, and the plan says what one-hot would have needed", async () => {
  await using env = await makeVec("ArmTable", { numEnvs: 1024, seed: 1, device: gpu });
  const options = { rolloutSteps: 32, minibatches: 8, hidden: [64, 64] };
  const plan = planPpo(env, options);
  expect(env.plan.totalBytes + plan.totalBytes).toBeLessThan(256 * MIB);
  expect(plan.instead).toEqual([
    { what: "one-hot actions of the rollout, in float32", bytes: 4 * 1024 * 32 * ACTIONS },
    { what: "logits of a whole minibatch", bytes: 4 * 4096 * ACTIONS },
  ]);
  // no field grows with samples times actions
  const half = planPpo(env, { ...options, rolloutSteps: 16, minibatches: 4 });
  expect(plan.totalBytes - half.totalBytes).toBeLessThan(1024 * 16 * 256);
});

test("embeddings need controls", async () => {
  await using env = await makeVec("CartPole", { numEnvs: 2, device: gpu });
  await expect(Ppo.create(env, { actionEmbedding: 4 })).rejects.toMatchObject({ code: "unsupported-space" });
});

test("features: standardized controls, squares and products; constant ones left out", () => {
  const { count, values } = actionFeatures([
    [1, 5, 0],
    [2, 5, 1],
    [3, 5, 4],
    [4, 5, 9],
  ]);
  // two controls that change, two squares, one product
  expect(count).toBe(5);
  for (let f = 0; f < count; f++) {
    const column = [0, 1, 2, 3].map((a) => values[a * count + f]);
    expect(column.reduce((sum, x) => sum + x, 0)).toBeCloseTo(0, 6);
    expect(column.reduce((sum, x) => sum + x * x, 0)).toBeCloseTo(4, 5);
  }
});

/** 27,000 values of 128 rows, four times a batch. */
test.each([0, 8])("DQN learns among them from a replay, with embeddings of %i numbers", async (actionEmbedding) => {
  const options = { seed: 1, hidden: [16], actionEmbedding, batchSize: 32, bufferSize: 640, learningStarts: 16 };
  const trained = async () => {
    await using env = await makeVec("ArmTable", { numEnvs: 16, seed: 1, device: "wasm" });
    await using dqn = await Dqn.create(env, { ...options, collectSteps: 2, explorationSteps: 64, explorationFinal: 0 });
    for (let i = 0; i < 3; i++) await dqn.iterate();
    const { minibatches, value } = await dqn.iterate();
    expect(minibatches).toBe(1);
    expect(value).not.toBe(0);
    return dqn.parameters();
  };
  const params = await trained();
  expect(params.every(Number.isFinite)).toBe(true);
  if (runsAgain(actionEmbedding)) expect(await trained()).toEqual(params);
});

test.each([0, 8])("SAC learns among them from a replay, with embeddings of %i numbers", async (actionEmbedding) => {
  const options = { seed: 1, hidden: [16], actionEmbedding, batchSize: 32, bufferSize: 640, learningStarts: 16 };
  const trained = async () => {
    await using env = await makeVec("ArmTable", { numEnvs: 16, seed: 1, device: "wasm" });
    await using sac = await SacDiscrete.create(env, { ...options, collectSteps: 2 });
    const { entropy } = await sac.iterate();
    // as good as uniform at the start
    expect(entropy).toBeGreaterThan(0.99 * Math.log(ACTIONS));
    const { minibatches, value } = await sac.iterate();
    expect(minibatches).toBe(1);
    expect(value).not.toBe(0);
    return sac.parameters();
  };
  const params = await trained();
  expect(params.every(Number.isFinite)).toBe(true);
  if (runsAgain(actionEmbedding)) expect(await trained()).toEqual(params);
});

test("a replay of a million transitions fits into 1 GiB, and one-hot actions would not", async () => {
  await using env = await makeVec("ArmTable", { numEnvs: 1024, seed: 1, device: gpu });
  const plan = planDqn(env, { bufferSize: 1_000_000, hidden: [64, 64] });
  expect(env.plan.totalBytes + plan.totalBytes).toBeLessThan(1024 * MIB);
  expect(plan.instead).toEqual([
    { what: "one-hot actions of the replay, in float32", bytes: 4 * 1_000_000 * ACTIONS },
    { what: "values of all actions of a batch", bytes: 4 * 128 * ACTIONS },
  ]);
  const soft = planSacDiscrete(env, { bufferSize: 1_000_000, hidden: [64, 64] });
  expect(env.plan.totalBytes + soft.totalBytes).toBeLessThan(1024 * MIB);
  expect(soft.instead).toEqual([
    { what: "one-hot actions of the replay, in float32", bytes: 4 * 1_000_000 * ACTIONS },
    { what: "logits and both values of all actions of a batch", bytes: 12 * 128 * ACTIONS },
  ]);
});
