// what an update submits: advantages, a minibatch, the moments of observations
import { seedKey } from "../../core/rng.ts";
import { type LearnerShape } from "./arenas.ts";
import type { JobPass } from "../device/kernels.ts";
import { ADAM_EACH, Flag } from "../tables/device-tables.ts";
import type { PpoConfig } from "./config.ts";
import type { Learner } from "./learner.ts";
import { halfBits, shuffleKeys } from "./shuffle.ts";
import { SUM_PARTS } from "../device/arenas.ts";
import { adamUniforms } from "../device/uniforms.ts";

/** Tells the learner the numbers that stay the same for the whole run. */
export function setUniforms(learner: Learner, config: PpoConfig, seed: number | bigint): void {
  const { samples, nets, obs4, k4, total4, chunkRows, env, units, cells } = learner.shape;
  learner.uniforms.set({
    worlds: env.numEnvs,
    steps: config.rolloutSteps,
    samples,
    seed: [...seedKey(seed)],
    units,
    unroll: cells?.unroll ?? 1,
    half_bits: halfBits(units),
    chunk_rows: chunkRows,
    params4: nets.params4,
    total4,
    sum_parts: SUM_PARTS,
    log_std_at: nets.logStd.at,
    log_std_count: nets.logStd.count,
    obs4,
    k4,
    gamma: config.gamma,
    lambda: config.gaeLambda,
    clip: config.clip,
    clip_value: config.valueClip,
    entropy_coef: config.entropyCoef,
    value_coef: config.valueCoef,
    target_kl: config.targetKl,
    log_std_min: config.minLogStd,
    log_std_max: config.maxLogStd,
    clip_reward: config.clipRewards,
    clip_obs: config.normalizeObservations ? config.clipObservations : Infinity,
    ...adamUniforms(config),
    // bounds of the learning rate that follows the KL divergence
    adaptive_min: 1e-5,
    adaptive_max: 1e-2,
  });
}

/** The minibatches of an update, in order. */
export function* minibatchesOf(
  { units, each, minibatch, cells }: Pick<LearnerShape, "units" | "each" | "minibatch" | "cells">,
  config: PpoConfig,
  seed: number | bigint,
  iteration: number,
): Generator<Minibatch> {
  const adapts = config.schedule === "adaptive";
  const stops = !adapts && config.targetKl < Infinity && config.targetKl > 0;
  // a policy that stays has no divergence to follow
  const commonFlags =
    iteration < config.valueWarmup ? Flag.valueOnly : (adapts ? Flag.adaptRate : 0) | (stops ? Flag.stopAtKl : 0);
  for (let epoch = 0; epoch < config.epochs; epoch++) {
    const keys = shuffleKeys(seed, iteration, epoch);
    for (let first = 0; first < units; first += each) {
      const isFirst = epoch === 0 && first === 0;
      const flags = commonFlags | (isFirst ? Flag.firstMinibatch : 0);
      const valid = Math.min(each, units - first);
      yield { first, rows: cells ? minibatch : valid, valid, keys, flags };
    }
  }
}

/** Which samples of the shuffled rollout, and what the gradient gate is asked to do (`Flag`). */
export interface Minibatch {
  /** The first sample, or sequence of samples. */
  readonly first: number;
  /** Rows of the networks. */
  readonly rows: number;
  /** How many sequences are valid; the remaining lanes are padding. */
  readonly valid?: number;
  readonly keys: readonly number[];
  readonly flags: number;
}

const forward =
  (learner: Learner, { rows }: Minibatch) =>
  (pass: JobPass) => {
    learner.run(pass, "gather", rows * learner.shape.k4);
    learner.forward(pass, rows);
  };

const loss =
  (learner: Learner, { rows }: Minibatch) =>
  (pass: JobPass) =>
    learner.loss(pass, rows);

const chunksOf = (learner: Learner, { rows }: Minibatch): number => Math.ceil(rows / learner.shape.chunkRows);

const backward = (learner: Learner, part: Minibatch) => (pass: JobPass) => {
  learner.backward(pass, part.rows, chunksOf(learner, part));
  learner.sum(pass);
};

const optimize = (learner: Learner) => (pass: JobPass) => {
  learner.run(pass, "gradient_gate", 1);
  learner.run(pass, "adam", Math.ceil(learner.shape.nets.params4 / ADAM_EACH));
};

function submit(learner: Learner, part: Minibatch, encoders: readonly ((pass: JobPass) => void)[]): void {
  const { first, rows, valid = rows, keys, flags } = part;
  const lanes = learner.shape.cells?.lanes ?? 0;
  learner.submit("update", { first, rows, lanes, valid, chunks: chunksOf(learner, part), keys, flags }, (pass) => {
    for (const encode of encoders) encode(pass);
  });
}

/** One minibatch: forward, loss, backward, and Adam where the gradient gate lets it. */
export const trainMinibatch = (learner: Learner, part: Minibatch): void =>
  submit(learner, part, [forward(learner, part), loss(learner, part), backward(learner, part), optimize(learner)]);

/** Its parts, one at a time. */
export const minibatchParts = (
  learner: Learner,
  part: Minibatch,
): Record<"forward" | "loss" | "backward" | "optimize", () => void> => ({
  forward: () => submit(learner, part, [forward(learner, part)]),
  loss: () => submit(learner, part, [loss(learner, part)]),
  backward: () => submit(learner, part, [backward(learner, part)]),
  optimize: () => submit(learner, part, [optimize(learner)]),
});

/** Turns the rollout of half of the worlds, others in each update, into its mirror image. */
export function mirrorRollout(learner: Learner, draw: number): void {
  const { samples, env } = learner.shape;
  learner.submit("mirror", { draw }, (pass) => learner.run(pass, "mirror", samples * (env.observations + env.actions)));
}

/** The scale of rewards, then advantages and returns backwards in time, then the scale of advantages. */
export function estimateAdvantages(learner: Learner, flags: number): void {
  const { numEnvs } = learner.shape.env;
  learner.submit("advantages", { flags }, (pass) => {
    learner.run(pass, "returns", numEnvs);
    learner.run(pass, "sum_worlds", SUM_PARTS);
    learner.run(pass, "scale_rewards", 1);
    learner.run(pass, "advantages", numEnvs);
    learner.run(pass, "sum_worlds", SUM_PARTS);
    learner.run(pass, "scale_advantages", 1);
  });
}

/** The rollout's observations move the normalizer that the next rollout acts with. */
export function observeMoments(learner: Learner): void {
  const { obs4 } = learner.shape;
  learner.submit("moments", {}, (pass) => {
    learner.run(pass, "sum_obs", SUM_PARTS * obs4);
    learner.run(pass, "merge_obs", obs4);
  });
}

/** Counts the rollout's observations that were clipped, by the normalizer that it acted with. */
export function countClipped(learner: Learner): void {
  learner.submit("clipped", {}, (pass) => {
    learner.run(pass, "count_clipped", SUM_PARTS * learner.shape.obs4);
    learner.run(pass, "tally_clipped", 1);
  });
}
