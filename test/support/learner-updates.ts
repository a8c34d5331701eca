// some updates of DQN, of SAC over discrete actions and of PPO on one batch: what corral and learners in torch both make
import { learnBatch as learnDqn } from "../../src/rl/dqn/batch.ts";
import { namedDqn } from "../../src/rl/dqn/policy.ts";
import { namedParameters, type NamedArray } from "../../src/rl/networks/networks.ts";
import { trainMinibatch } from "../../src/rl/ppo/update.ts";
import { learnBatch as learnSac } from "../../src/rl/sac-discrete/batch.ts";
import { namedSacDiscrete } from "../../src/rl/sac-discrete/policy.ts";
import { Flag, SAC_STATE } from "../../src/rl/tables/device-tables.ts";
import type { RefRow } from "./discrete-case.ts";
import { makeDqn } from "./dqn-case.ts";
import { makeCase, ON_WASM } from "./learner-case.ts";
import { makeSacDiscrete } from "./sac-discrete-case.ts";

const UPDATES = 20;
const ACTIONS = 3;
const SHARED = { hidden: [9, 7], gamma: 0.9, learningRate: 1e-3 };
/** Targets are copied after every fifth batch; gradients are longer than the bound at first. */
const DQN = { ...SHARED, targetEvery: 5, tau: 1, doubleQ: false, maxGradNorm: 0.5 };
const SAC = {
  ...SHARED,
  criticLearningRate: 2e-3,
  temperatureLearningRate: 3e-3,
  tau: 0.05,
  targetEntropy: 0.7,
};

export type Numbers = Record<string, readonly number[] | readonly (readonly number[])[]>;

/** A learner before its updates, and what it makes of them. */
export interface Updates {
  /** What the peer's script reads. */
  readonly input: { readonly algo: string; readonly params: Numbers; readonly logAlpha: number };
  run(): Promise<{ readonly params: Numbers; readonly logAlpha: number }>;
  close(): Promise<void>;
}

/** Parameters by name, weights as rows. */
const numbersOf = (named: Readonly<Record<string, NamedArray>>): Numbers =>
  Object.fromEntries(
    Object.entries(named)
      .filter(([name]) => !name.startsWith("normalizer"))
      .map(([name, { shape, data }]) => {
        const width = shape[1] ?? 0;
        const rows = Array.from({ length: shape[0] }, (_, r) => [...data.subarray(r * width, (r + 1) * width)]);
        return [name, shape.length === 2 ? rows : [...data]];
      }),
  );

const batchOf = (rows: readonly RefRow[]) => {
  const used = rows.filter(({ weight }) => weight > 0);
  return {
    obs: used.map((row) => row.obs),
    next: used.map((row) => row.next),
    action: used.map((row) => row.action),
    reward: used.map((row) => row.reward),
    done: used.map((row) => (row.discount === 0 ? 1 : 0)),
  };
};

async function dqnUpdates(): Promise<Updates> {
  const made = await makeDqn({ name: "updates", actions: ACTIONS, config: DQN }, 3, ON_WASM);
  const { learner, shape, params, rows } = made;
  const input = { algo: "dqn", config: DQN, updates: UPDATES, logAlpha: 0, batch: batchOf(rows) };
  return {
    input: { ...input, params: numbersOf(namedDqn(shape, params)) },
    async run() {
      for (let k = 0; k < UPDATES; k++) {
        const movesTargets = (k + 1) % DQN.targetEvery === 0;
        learnDqn(learner, { draw: k, flags: Flag.firstMinibatch, samples: false, movesTargets });
      }
      const now = await learner.read("params", new Float32Array(params.length));
      return { params: numbersOf(namedDqn(shape, now)), logAlpha: 0 };
    },
    close: () => learner.close(),
  };
}

async function sacDiscreteUpdates(): Promise<Updates> {
  const made = await makeSacDiscrete({ name: "updates", actions: ACTIONS, config: SAC }, 3, ON_WASM);
  const { learner, shape, params, rows, alpha } = made;
  const input = {
    algo: "sac-discrete",
    config: SAC,
    updates: UPDATES,
    logAlpha: Math.log(alpha),
    batch: batchOf(rows),
  };
  return {
    input: { ...input, params: numbersOf(namedSacDiscrete(shape, params)) },
    async run() {
      for (let k = 0; k < UPDATES; k++)
        learnSac(learner, { draw: k, flags: Flag.firstMinibatch, samples: false, movesPolicy: true });
      const now = await learner.read("params", new Float32Array(params.length));
      const state = await learner.readState();
      return { params: numbersOf(namedSacDiscrete(shape, now)), logAlpha: state[SAC_STATE.log_alpha] };
    },
    close: () => learner.close(),
  };
}

/** Values are clipped as ratios are; rsl_rl shortens the gradients of policy and value apart, so neither is. */
const PPO = {
  hidden: [13, 7],
  activation: "elu",
  clip: 0.2,
  valueClip: 0.2,
  valueCoef: 2,
  entropyCoef: 0.02,
  learningRate: 1e-3,
  schedule: "constant",
  maxGradNorm: 1e6,
  adamEpsilon: 1e-8,
} as const;

async function ppoUpdates(): Promise<Updates> {
  const env = { head: "gaussian", observations: 11, actions: 3, alternatives: [] } as const;
  const { learner, shape, params, samples, scale } = await makeCase({ name: "updates", env, config: PPO }, 17, ON_WASM);
  const used = samples.filter(({ skipped }) => !skipped);
  const batch = {
    obs: used.map(({ obs }) => obs),
    action: used.map(({ action }) => action),
    value: used.map(({ value }) => value),
    advantage: used.map(({ advantage }) => (advantage - scale.mean) * scale.factor),
    target: used.map(({ target }) => target),
    logProb: used.map(({ logProb }) => logProb),
  };
  const named = (floats: Float32Array) => numbersOf(namedParameters(shape.nets, floats));
  const input = { algo: "ppo", config: PPO, updates: UPDATES, logAlpha: 0, batch, params: named(params) };
  return {
    input,
    async run() {
      for (let k = 0; k < UPDATES; k++)
        trainMinibatch(learner, {
          first: 0,
          rows: shape.minibatch,
          valid: shape.each,
          keys: [11, 22, 33, 44],
          flags: Flag.firstMinibatch,
        });
      const now = await learner.read("params", new Float32Array(params.length));
      return { params: named(now), logAlpha: 0 };
    },
    close: () => learner.close(),
  };
}

/** By algorithm: the updates, and what makes the same in torch. */
export const LEARNER_UPDATES = {
  dqn: { make: dqnUpdates, script: "discrete_updates.py" },
  "sac-discrete": { make: sacDiscreteUpdates, script: "discrete_updates.py" },
  ppo: { make: ppoUpdates, script: "rsl_rl_updates.py" },
};
