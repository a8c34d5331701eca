// gradients of the losses of SAC over discrete actions through every layer, block and embedding: against finite differences
// in float64, and jax-js
import { defaultDevice, grad, init, nn, numpy as np } from "@jax-js/jax";
import { afterAll, describe, expect, test } from "vitest";
import { sacMetricsOf } from "../../../src/rl/device/metrics.ts";
import type { QNetwork } from "../../../src/rl/dqn/arenas.ts";
import { learnBatch } from "../../../src/rl/sac-discrete/batch.ts";
import { Flag, SAC_STATE, STATE_SIZE } from "../../../src/rl/tables/device-tables.ts";
import { forward, packLayers, unpackLayers, type Params } from "../../support/jax-ppo.ts";
import { closeSharedDevice, ON_WASM, sharedDevice } from "../../support/learner-case.ts";
import { differences } from "../../support/ppo-reference.ts";
import {
  goalsOf,
  makeSacDiscrete,
  sacDiscreteLosses,
  type MadeSacDiscrete,
  type SacDiscreteCase,
} from "../../support/sac-discrete-case.ts";
import { learnerBounds } from "../../support/tolerances.ts";

/** Parameters that stay if they are: both gradients are of the same ones. */
const STILL = { learningRate: 0, criticLearningRate: 0, temperatureLearningRate: 0, tau: 0 };
const CASES: SacDiscreteCase[] = [
  { name: "one block", actions: 3, config: { hidden: [9, 7] } },
  { name: "blocks of eight, SiLU", actions: 21, config: { hidden: [9], actionBlock: 8, activation: "silu" } },
  { name: "layer norm", actions: 21, config: { hidden: [9], actionBlock: 8, layerNorm: true } },
  {
    name: "embeddings, normalised",
    actions: 21,
    config: { hidden: [9], actionBlock: 8, actionEmbedding: 4, activation: "tanh", normalizeObservations: true },
  },
  {
    name: "linear, groups, normalised",
    actions: 4,
    groups: { policy: { from: 0, size: 3 }, critic: { from: 1, size: 4 } },
    config: { hidden: [], normalizeObservations: true },
  },
];
const DRAW = 9;

afterAll(closeSharedDevice);

async function kernelGradients({ learner, shape }: MadeSacDiscrete): Promise<Float32Array> {
  learnBatch(learner, { draw: DRAW, flags: Flag.firstMinibatch, samples: false, movesPolicy: true });
  return learner.read("grads", new Float32Array(4 * shape.nets.total4));
}

/** Both losses differ in size; each gradient is compared with its own largest entry. */
function expectClose({ shape }: MadeSacDiscrete, found: ArrayLike<number>, wanted: ArrayLike<number>): void {
  const { nets } = shape;
  const parts = [
    [0, nets.policyStatistics],
    [nets.criticsAt, nets.criticsStatistics],
  ];
  for (const [from, to] of parts) {
    let [size, worst] = [0, 0];
    for (let i = 4 * from; i < 4 * to; i++) size = Math.max(size, Math.abs(wanted[i]));
    for (let i = 4 * from; i < 4 * to; i++) worst = Math.max(worst, Math.abs(found[i] - wanted[i]) / size);
    expect(size).toBeGreaterThan(0);
    expect(worst).toBeLessThan(learnerBounds.gradient.value);
  }
}

async function expectGradients(made: SacDiscreteCase, device: "wasm" | "gpu"): Promise<void> {
  const config = { ...made.config, ...STILL };
  const one = await makeSacDiscrete({ ...made, config }, 3, device === "wasm" ? ON_WASM : await sharedDevice());
  await using _ = one.learner;
  const { nets } = one.shape;
  const params = Float64Array.from(one.params);
  const goals = goalsOf(one, params);
  const isPolicy = (i: number) => i < 4 * nets.policyStatistics;
  const isCritic = (i: number) => i >= 4 * nets.criticsAt && i < 4 * nets.criticsStatistics;
  const of = (is: (i: number) => boolean, loss: "policy" | "critic") =>
    differences(
      params,
      (i) => one.isUsed(i) && is(i),
      (p) => sacDiscreteLosses(one, p, goals)[loss],
    );
  const [ofPolicy, ofCritics] = [of(isPolicy, "policy"), of(isCritic, "critic")];
  const found = await kernelGradients(one);
  expectClose(
    one,
    found,
    ofPolicy.map((x, i) => x + ofCritics[i]),
  );
  for (let i = 0; i < 4 * nets.criticsStatistics; i++)
    if (!one.isUsed(i) && (isPolicy(i) || isCritic(i))) expect(found[i]).toBe(0);

  const wanted = sacDiscreteLosses(one, params, goals);
  const metrics = sacMetricsOf(await one.learner.readState());
  for (const [told, sum] of [
    [metrics.valueLoss, wanted.critic],
    [metrics.policyLoss, wanted.policy],
    [metrics.entropy, wanted.entropy],
    [metrics.targetValue, goals.reduce((total, goal, r) => total + one.rows[r].weight * goal, 0)],
  ]) {
    const want = sum / wanted.count;
    expect(Math.abs(told - want)).toBeLessThan(learnerBounds.gradient.value * Math.max(1, Math.abs(want)));
  }
  expect(metrics).toMatchObject({ minibatches: 1, halted: undefined });
  expect(await kernelGradients(one)).toEqual(found);
}

describe.each(CASES)("$name", (made) => {
  test("finite differences, losses, padding, on wasm", () => expectGradients(made, "wasm"));
});

// of embeddings with the slow sweeps: the driver compiles for longer than both run
const ON_DEVICE = process.env.CORRAL_FULL ? [CASES[1], CASES[2]] : [CASES[1]];
test.each(ON_DEVICE)("$name: the same on a device", (made) => expectGradients(made, "gpu"));

test("jax-js", async () => {
  await init("cpu");
  defaultDevice("cpu");
  const made = await makeSacDiscrete({ ...CASES[0], config: { ...CASES[0].config, ...STILL } }, 4, ON_WASM);
  await using _ = made.learner;
  const { nets, env } = made.shape;
  const layersOf = ({ layers, head }: QNetwork) => [...layers, ...head.blocks];
  const goals = goalsOf(made, made.params);
  const rows = made.rows.map((row, r) => ({ ...row, goal: goals[r] })).filter(({ weight }) => weight > 0);
  const observed = np.array(rows.map(({ obs }) => [...obs]));
  const outputs = (p: Params, network: QNetwork) => forward(p, layersOf(network), observed.ref);
  const all = [nets.policy, ...nets.critics].flatMap(layersOf);
  const params = () => unpackLayers(all, made.params);
  const wanted = new Float32Array(made.params.length);

  const taken = np.array(rows.map(({ action }) => Array.from({ length: env.outputs }, (_, a) => Number(a === action))));
  const ends = np.array(rows.map(({ goal }) => goal));
  const criticLoss = (p: Params): np.Array =>
    nets.critics
      .map((critic) => {
        const error = outputs(p, critic).mul(taken.ref).sum(1).sub(ends.ref);
        return error.ref.mul(error).mul(0.5).sum();
      })
      .reduce((a, b) => a.add(b));
  await packLayers(nets.critics.flatMap(layersOf), grad(criticLoss)(params()), wanted);

  const lower = np.minimum(outputs(params(), nets.critics[0]), outputs(params(), nets.critics[1]));
  const policyLoss = (p: Params): np.Array => {
    const logProbs = nn.logSoftmax(outputs(p, nets.policy), -1);
    return np.exp(logProbs.ref).mul(logProbs.mul(made.alpha).sub(lower.ref)).sum();
  };
  await packLayers(layersOf(nets.policy), grad(policyLoss)(params()), wanted);
  expectClose(made, await kernelGradients(made), wanted);
});

test("Adam moves critics, then the policy under the new critics, the temperature, and targets a part of the way", async () => {
  const config = {
    hidden: [6],
    tau: 0.25,
    learningRate: 0.01,
    criticLearningRate: 0.02,
    temperatureLearningRate: 0.05,
  };
  const made = await makeSacDiscrete({ name: "", actions: 5, config: { ...config, targetEntropy: 0.5 } }, 6, ON_WASM);
  await using _ = made.learner;
  const { params, learner } = made;
  const { nets } = made.shape;
  const goals = goalsOf(made, params);
  const { count } = sacDiscreteLosses(made, params, goals);
  const grads = await kernelGradients(made);
  const found = await learner.read("params", new Float32Array(params.length));
  const state = await learner.read("state", new Float32Array(STATE_SIZE));
  // the first step of Adam is the rate times the sign of the gradient, but for epsilon
  const moved = (i: number, rate: number) =>
    params[i] - (rate * grads[i]) / count / (Math.abs(grads[i] / count) + made.config.adamEpsilon);
  const bound = learnerBounds.adam.value;
  const [first, end] = [4 * nets.criticsAt, 4 * nets.criticsStatistics];
  for (let i = first; i < end; i++) {
    expect(Math.abs(found[i] - moved(i, config.criticLearningRate))).toBeLessThan(bound);
    const target = i - first + 4 * nets.total4;
    expect(Math.abs(found[target] - (0.75 * params[target] + 0.25 * found[i]))).toBeLessThan(bound);
  }
  for (let i = 0; i < 4 * nets.policyStatistics; i++)
    expect(Math.abs(found[i] - moved(i, config.learningRate))).toBeLessThan(bound);

  // the policy's gradient is of the critics that have moved
  const after = found.slice();
  after.set(params.subarray(0, 4 * nets.policyStatistics));
  const policy = sacDiscreteLosses(made, after, goals);
  expect(Math.abs(sacMetricsOf(state).policyLoss - policy.policy / count)).toBeLessThan(
    learnerBounds.gradient.value * 10,
  );
  const tooLow = policy.entropy / count < 0.5 * Math.log(5);
  const step = Math.sign(state[SAC_STATE.log_alpha] - Math.log(made.alpha));
  expect(step).toBe(tooLow ? 1 : -1);
});

test("a reward that is not finite stops the batch before it moves anything", async () => {
  const made = await makeSacDiscrete(CASES[0], 7, ON_WASM);
  await using _ = made.learner;
  const { learner, shape, params } = made;
  const batch = await learner.read("batch", new Float32Array(shape.batch * 4 * shape.row4));
  batch[4 * 4 * shape.row4 + 8 * shape.obs4 + 4 * shape.actions4] = Infinity;
  learner.write("batch", batch);
  await kernelGradients(made);
  expect(sacMetricsOf(await learner.readState()).halted).toBe("loss");
  expect(await learner.read("params", new Float32Array(params.length))).toEqual(params);
});
