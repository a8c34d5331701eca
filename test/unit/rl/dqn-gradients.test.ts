// gradients of DQN's loss through every layer, block and embedding: against finite differences in float64, and jax-js
import { defaultDevice, grad, init, numpy as np } from "@jax-js/jax";
import { afterAll, describe, expect, test } from "vitest";
import { learnBatch } from "../../../src/rl/dqn/batch.ts";
import { dqnMetricsOf } from "../../../src/rl/device/metrics.ts";
import { Flag } from "../../../src/rl/tables/device-tables.ts";
import { dqnLoss, goalsOf, makeDqn, type DqnCase, type MadeDqn } from "../../support/dqn-case.ts";
import { forward, packLayers, unpackLayers, type Params } from "../../support/jax-ppo.ts";
import { closeSharedDevice, ON_WASM, sharedDevice } from "../../support/learner-case.ts";
import { differences } from "../../support/ppo-reference.ts";
import { learnerBounds } from "../../support/tolerances.ts";

/** Parameters that stay if they are. */
const STILL = { learningRate: 0, tau: 0 };
const CASES: DqnCase[] = [
  { name: "one block", actions: 3, config: { hidden: [9, 7] } },
  { name: "blocks of eight, SiLU", actions: 21, config: { hidden: [9], actionBlock: 8, activation: "silu" } },
  { name: "without double Q-learning, squares", actions: 5, config: { hidden: [9], doubleQ: false, huber: Infinity } },
  { name: "layer norm", actions: 21, config: { hidden: [9], actionBlock: 8, layerNorm: true } },
  { name: "embeddings", actions: 21, config: { hidden: [9], actionBlock: 8, actionEmbedding: 4, activation: "tanh" } },
  {
    name: "embeddings without double Q-learning",
    actions: 9,
    config: { hidden: [9], actionEmbedding: 4, doubleQ: false, normalizeObservations: true },
  },
  {
    name: "linear, a group of the observation, normalised",
    actions: 4,
    group: 3,
    config: { hidden: [], normalizeObservations: true },
  },
];
const DRAW = 9;

afterAll(closeSharedDevice);

async function kernelGradients({ learner, shape }: MadeDqn): Promise<Float32Array> {
  learnBatch(learner, { draw: DRAW, flags: Flag.firstMinibatch, samples: false, movesTargets: true });
  return learner.read("grads", new Float32Array(4 * shape.nets.total4));
}

function expectClose({ shape }: MadeDqn, found: ArrayLike<number>, wanted: ArrayLike<number>): void {
  let [size, worst] = [0, 0];
  const end = 4 * shape.nets.statistics;
  for (let i = 0; i < end; i++) size = Math.max(size, Math.abs(wanted[i]));
  for (let i = 0; i < end; i++) worst = Math.max(worst, Math.abs(found[i] - wanted[i]) / size);
  expect(size).toBeGreaterThan(0);
  expect(worst).toBeLessThan(learnerBounds.gradient.value);
}

async function expectGradients(dqnCase: DqnCase, device: "wasm" | "gpu"): Promise<void> {
  const config = { ...dqnCase.config, ...STILL };
  const made = await makeDqn({ ...dqnCase, config }, 3, device === "wasm" ? ON_WASM : await sharedDevice());
  await using _ = made.learner;
  const { nets } = made.shape;
  const params = Float64Array.from(made.params);
  const goals = goalsOf(made, params);
  const isOnline = (i: number) => i < 4 * nets.statistics;
  const wanted = differences(
    params,
    (i) => made.isUsed(i) && isOnline(i),
    (p) => dqnLoss(made, p, goals).loss,
  );
  const found = await kernelGradients(made);
  expectClose(made, found, wanted);
  for (let i = 0; isOnline(i); i++) if (!made.isUsed(i)) expect(found[i]).toBe(0);

  const sums = dqnLoss(made, params, goals);
  const metrics = dqnMetricsOf(await made.learner.readState());
  for (const [told, sum] of [
    [metrics.valueLoss, sums.loss],
    [metrics.value, sums.value],
    [metrics.targetValue, sums.goal],
  ]) {
    const want = sum / sums.count;
    expect(Math.abs(told - want)).toBeLessThan(learnerBounds.gradient.value * Math.max(1, Math.abs(want)));
  }
  expect(metrics).toMatchObject({ minibatches: 1, halted: undefined });
  // an action that a second batch does not take leaves no gradient behind
  expect(await kernelGradients(made)).toEqual(found);
}

describe.each(CASES)("$name", (dqnCase) => {
  test("finite differences, loss, padding, on wasm", () => expectGradients(dqnCase, "wasm"));
});

// of embeddings with the slow sweeps: the driver compiles for longer than both run
const ON_DEVICE = process.env.CORRAL_FULL ? [CASES[1], CASES[3]] : [CASES[1]];
test.each(ON_DEVICE)("$name: the same on a device", (dqnCase) => expectGradients(dqnCase, "gpu"));

test("jax-js", async () => {
  await init("cpu");
  defaultDevice("cpu");
  const made = await makeDqn({ ...CASES[0], config: { ...CASES[0].config, ...STILL, huber: Infinity } }, 4, ON_WASM);
  await using _ = made.learner;
  const { online } = made.shape.nets;
  const layers = [...online.layers, ...online.head.blocks];
  const rows = made.rows.map((row, r) => ({ ...row, goal: goalsOf(made, made.params)[r] })).filter((r) => r.weight > 0);
  const actions = made.shape.env.outputs;
  const loss = (p: Params): np.Array => {
    const values = forward(p, layers, np.array(rows.map(({ obs }) => [...obs])));
    const taken = np.array(rows.map(({ action }) => Array.from({ length: actions }, (_, a) => Number(a === action))));
    const error = values
      .mul(taken)
      .sum(1)
      .sub(np.array(rows.map(({ goal }) => goal)));
    return error.ref.mul(error).mul(0.5).sum();
  };
  const wanted = new Float32Array(made.params.length);
  await packLayers(layers, grad(loss)(unpackLayers(layers, made.params)), wanted);
  expectClose(made, await kernelGradients(made), wanted);
});

test("Adam moves the network, and targets a part of the way", async () => {
  const config = { hidden: [6], learningRate: 0.01, tau: 0.25, maxGradNorm: Infinity };
  const made = await makeDqn({ name: "", actions: 5, config }, 6, ON_WASM);
  await using _ = made.learner;
  const { nets } = made.shape;
  const { count } = dqnLoss(made, made.params, goalsOf(made, made.params));
  const grads = await kernelGradients(made);
  const found = await made.learner.read("params", new Float32Array(made.params.length));
  const bound = learnerBounds.adam.value;
  for (let i = 0; i < 4 * nets.statistics; i++) {
    // the first step of Adam is the rate times the sign of the gradient, but for epsilon
    const g = grads[i] / count;
    const moved = made.params[i] - (config.learningRate * g) / (Math.abs(g) + made.config.adamEpsilon);
    expect(Math.abs(found[i] - moved)).toBeLessThan(bound);
    const target = i + 4 * nets.total4;
    expect(Math.abs(found[target] - (0.75 * made.params[target] + 0.25 * found[i]))).toBeLessThan(bound);
  }
});

test.each(["reward", "parameter"])("a %s that is not finite stops the batch before it moves anything", async (what) => {
  const made = await makeDqn(CASES[0], 7, ON_WASM);
  await using _ = made.learner;
  const { learner, shape, params } = made;
  if (what === "parameter") {
    params[0] = NaN;
    learner.write("params", params);
  } else {
    const batch = await learner.read("batch", new Float32Array(shape.batch * 4 * shape.row4));
    batch[4 * 4 * shape.row4 + 8 * shape.obs4 + 4 * shape.actions4] = Infinity;
    learner.write("batch", new Float32Array(batch));
  }
  await kernelGradients(made);
  expect(dqnMetricsOf(await learner.readState()).halted).toBe("loss");
  expect(await learner.read("params", new Float32Array(params.length))).toEqual(params);
});
