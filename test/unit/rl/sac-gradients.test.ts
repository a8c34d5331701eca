// gradients of SAC's losses through every layer: against finite differences in float64, and against jax-js
import { afterAll, expect, test } from "vitest";
import { learnBatch } from "../../../src/rl/sac/batch.ts";
import { SAC_STATE, STATE_SIZE } from "../../../src/rl/tables/device-tables.ts";
import { Flag } from "../../../src/rl/tables/device-tables.ts";
import { sacMetricsOf } from "../../../src/rl/device/metrics.ts";
import { jaxGradients } from "../../support/jax-sac.ts";
import { closeSharedDevice } from "../../support/learner-case.ts";
import { differences } from "../../support/ppo-reference.ts";
import { DRAW, makeSac, sacLosses, softTargets, type MadeSac, type SacCase } from "../../support/sac-case.ts";
import { isFull, sweep, sweepBut } from "../../support/sweep.ts";
import { learnerBounds } from "../../support/tolerances.ts";

/** Parameters that stay if they are: both gradients are of the same ones. */
const STILL = { learningRate: 0, criticLearningRate: 0, temperatureLearningRate: 0 };
const ALL: SacCase[] = [
  { name: "relu", observations: 5, actions: 2, config: { hidden: [9, 7] } },
  { name: "tanh, five actions", observations: 11, actions: 5, config: { hidden: [16], activation: "tanh" } },
  { name: "ELU", observations: 5, actions: 2, config: { hidden: [9, 7], activation: "elu" } },
  { name: "SiLU", observations: 5, actions: 2, config: { hidden: [9, 7], activation: "silu" } },
  { name: "layer norm", observations: 5, actions: 2, config: { hidden: [9, 7], layerNorm: true } },
  {
    name: "groups, normalised",
    observations: 11,
    actions: 2,
    groups: { policy: { from: 0, size: 3 }, critic: { from: 2, size: 9 } },
    config: { hidden: [9, 7], normalizeObservations: true },
  },
  {
    name: "GRU",
    observations: 5,
    actions: 2,
    config: { hidden: [9], recurrent: "gru", recurrentSize: 8, recurrentSteps: 4, recurrentBurnIn: 2, batchSize: 32 },
  },
  {
    name: "LSTM, groups, normalised",
    observations: 11,
    actions: 2,
    groups: { policy: { from: 0, size: 3 }, critic: { from: 2, size: 9 } },
    config: {
      hidden: [],
      recurrent: "lstm",
      recurrentSize: 8,
      recurrentSteps: 6,
      recurrentBurnIn: 0,
      batchSize: 48,
      normalizeObservations: true,
    },
  },
  { name: "linear, one action", observations: 4, actions: 1, config: { hidden: [], minLogStd: -2, maxLogStd: 1 } },
];

/** Parameters of what remembers that finite differences move in CI: one in so many; jax-js holds all of them. */
const STRIDE = isFull ? 1 : 5;

afterAll(closeSharedDevice);

async function kernelGradients(made: MadeSac): Promise<Float32Array> {
  const { learner, shape } = made;
  learnBatch(learner, { draw: DRAW, flags: Flag.firstMinibatch, samples: false, movesPolicy: true });
  return learner.read("grads", new Float32Array(4 * shape.nets.total4));
}

/** Both losses differ in size; each gradient is compared with its own largest entry. */
function expectClose(made: MadeSac, found: ArrayLike<number>, wanted: ArrayLike<number>): void {
  const { nets } = made.shape;
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

const nameOf = ({ name }: SacCase): string => name;
/** Dense layers are PPO's, and gradients.test.ts has them with ELU and SiLU. */
const CASES = sweepBut(ALL, ["ELU", "SiLU"], nameOf);
/** Of each kind of network; jax-js holds all. */
const MOVED = sweep(CASES, ["relu", "groups, normalised", "LSTM, groups, normalised"], nameOf);

test.each(MOVED)("$name: finite differences, losses, padding", async (sacCase) => {
  const made = await makeSac({ ...sacCase, config: { ...sacCase.config, ...STILL } }, 3);
  await using _ = made.learner;
  const { shape, isUsed } = made;
  const { nets } = shape;
  const params = Float64Array.from(made.params);
  const found = await kernelGradients(made);
  const isMoved = (i: number) => isUsed(i) && (!nets.cells || i % STRIDE === 0);
  const goals = softTargets(made, params);

  const isPolicy = (i: number) => i < 4 * nets.policyStatistics;
  const isCritic = (i: number) => i >= 4 * nets.criticsAt && i < 4 * nets.criticsStatistics;
  const ofPolicy = differences(
    params,
    (i) => isMoved(i) && isPolicy(i),
    (p) => sacLosses(made, p, goals).policy,
  );
  const ofCritics = differences(
    params,
    (i) => isMoved(i) && isCritic(i),
    (p) => sacLosses(made, p, goals).critic,
  );
  expectClose(
    made,
    found.map((g, i) => (isMoved(i) ? g : 0)),
    ofPolicy.map((x, i) => x + ofCritics[i]),
  );
  for (let i = 0; i < 4 * nets.criticsStatistics; i++) {
    if (!isUsed(i) && (isPolicy(i) || isCritic(i))) expect(found[i]).toBe(0);
  }

  const wanted = sacLosses(made, params, goals);
  const metrics = sacMetricsOf(await made.learner.readState());
  const bound = learnerBounds.gradient.value;
  expect(found[4 * nets.policyStatistics]).toBe(wanted.count);
  for (const [told, sum] of [
    [metrics.valueLoss, wanted.critic],
    [metrics.policyLoss, wanted.policy],
    [metrics.entropy, wanted.entropy],
  ]) {
    const want = sum / wanted.count;
    expect(Math.abs(told - want)).toBeLessThan(bound * Math.max(1, Math.abs(want)));
  }
  expect(metrics).toMatchObject({ minibatches: 1, halted: undefined });
});

test.each(CASES)("$name: jax-js", async (sacCase) => {
  const made = await makeSac({ ...sacCase, config: { ...sacCase.config, ...STILL } }, 4);
  await using _ = made.learner;
  expectClose(made, await kernelGradients(made), await jaxGradients(made));
});

test("AdamW moves critics, then the policy under the new critics, the temperature, and targets a part of the way", async () => {
  const config = {
    hidden: [6],
    tau: 0.25,
    learningRate: 0.01,
    criticLearningRate: 0.02,
    temperatureLearningRate: 0.05,
    weightDecay: 0.4,
  };
  const made = await makeSac({ name: "", observations: 3, actions: 2, config: { ...config, targetEntropy: -1.5 } }, 6);
  await using _ = made.learner;
  const { shape, params, learner } = made;
  const { nets } = shape;
  const goals = softTargets(made, params);
  const grads = await kernelGradients(made);
  const found = await learner.read("params", new Float32Array(params.length));
  const state = await learner.read("state", new Float32Array(STATE_SIZE));

  // the first step of Adam is the rate times the sign of the gradient, but for epsilon
  const { adamEpsilon } = made.config;
  const count = sacLosses(made, params, goals).count;
  const moved = (i: number, rate: number) => {
    const g = grads[i] / count;
    return params[i] * (1 - rate * config.weightDecay) - (rate * g) / (Math.abs(g) + adamEpsilon);
  };
  const bound = learnerBounds.adam.value;
  const [first, end] = [4 * nets.criticsAt, 4 * nets.criticsStatistics];
  for (let i = first; i < end; i++)
    expect(Math.abs(found[i] - moved(i, config.criticLearningRate))).toBeLessThan(bound);
  for (let i = 0; i < 4 * nets.policyStatistics; i++)
    expect(Math.abs(found[i] - moved(i, config.learningRate))).toBeLessThan(bound);
  for (let i = first; i < end; i++) {
    const target = i - first + 4 * nets.total4;
    expect(Math.abs(found[target] - (0.75 * params[target] + 0.25 * found[i]))).toBeLessThan(bound);
  }

  // the policy's gradient is of the critics that have moved
  const after = found.slice();
  after.set(params.subarray(0, 4 * nets.policyStatistics));
  const policy = sacLosses(made, after, goals);
  expect(Math.abs(sacMetricsOf(state).policyLoss - policy.policy / count)).toBeLessThan(
    learnerBounds.gradient.value * 10,
  );
  const tooLow = policy.entropy / count < -1.5 * shape.env.actions;
  expect(state[SAC_STATE.log_alpha] - made.logAlpha).toBeCloseTo(tooLow ? 0.05 : -0.05, 5);
});

test.each(["target1", "target2"])("a NaN in %s stops the batch before it touches a parameter", async (name) => {
  const made = await makeSac({ ...ALL[0], config: { hidden: [6] } }, 7);
  await using _ = made.learner;
  const { learner, shape, params } = made;
  const layers = shape.nets.targets[name === "target1" ? 0 : 1];
  params[4 * layers[0].w] = NaN;
  learner.write("params", params);
  await kernelGradients(made);
  expect(sacMetricsOf(await learner.readState()).halted).toBe("loss");
  expect(await learner.read("params", new Float32Array(params.length))).toEqual(params);
});

const FAR = { hidden: [6], learningRate: 3e38, criticLearningRate: 1e-3 };
test.each([
  ["critics", { ...FAR, learningRate: 1e-3, criticLearningRate: 3e38 }],
  ["policy", FAR],
  ["temperature", { ...FAR, learningRate: 1e-3, temperatureLearningRate: 3e38 }],
] as const)("a step of the %s to what is not finite is not made, nor any part of it", async (what, config) => {
  const made = await makeSac({ ...ALL[0], config }, 7);
  await using _ = made.learner;
  const { learner, shape, params } = made;
  await kernelGradients(made);
  const state = await learner.readState();
  expect(sacMetricsOf(state).halted).toBe("step of Adam");
  expect(state[SAC_STATE.log_alpha]).toBe(made.logAlpha);
  const found = await learner.read("params", new Float32Array(params.length));
  const policy = 4 * shape.nets.policyStatistics;
  expect(found.subarray(0, policy)).toEqual(params.subarray(0, policy));
  if (what === "critics") expect(found).toEqual(params);
  expect(found.every(Number.isFinite)).toBe(true);
  const moments = await learner.read("moments", new Float32Array(8 * shape.nets.total4));
  expect(moments.subarray(0, 2 * policy).every((x) => x === 0)).toBe(true);
});

test.each(["reward", "observation"])(
  "a %s that is not finite stops the batch before it touches a parameter",
  async (what) => {
    const made = await makeSac({ ...ALL[0], config: { hidden: [6] } }, 7);
    await using _ = made.learner;
    const { learner, shape, params } = made;
    const batch = await learner.read("batch", new Float32Array(shape.batch * 4 * shape.row4));
    const at = 4 * 4 * shape.row4;
    batch[what === "reward" ? at + 8 * shape.obs4 + 4 * shape.actions4 : at] = NaN;
    learner.write("batch", new Float32Array(batch));
    await kernelGradients(made);
    expect(sacMetricsOf(await learner.readState()).halted).toMatch(/loss|gradient/);
    expect(await learner.read("params", new Float32Array(params.length))).toEqual(params);
    expect((await learner.readState())[SAC_STATE.log_alpha]).toBe(made.logAlpha);
  },
);
