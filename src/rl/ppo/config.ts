// every hyperparameter of PPO: flat, with its default, its bounds and what it means. The command line's flags are these.
import { badOption, fillIn, type ConfigOf, type OptionTable } from "../../core/options.ts";
import { MIRROR_COLUMNS } from "./mirror.ts";
import { HIDDEN_ACTIVATIONS } from "../networks/activations.ts";
import {
  ACTION_EMBEDDING,
  adamOptions,
  assertLogStds,
  assertRecurrentSize,
  GAMMA,
  LAYER_NORM,
  MEMORY,
} from "../device/shared-options.ts";

export const PPO_OPTIONS = {
  rolloutSteps: { default: 32, min: 1, max: 65536, integer: true, doc: "control steps of every world between updates" },
  epochs: { default: 4, min: 1, max: 1000, integer: true, doc: "passes over each rollout" },
  minibatches: { default: 8, min: 1, max: 65536, integer: true, doc: "parts that a rollout is cut into" },
  learningRate: { default: 1e-3, min: 0, doc: "step size of Adam" },
  schedule: {
    default: "linear",
    oneOf: ["constant", "linear", "adaptive"],
    doc: "of the learning rate: constant, linear to 0 over all steps, or adaptive to targetKl",
  },
  gamma: GAMMA,
  gaeLambda: { default: 0.95, min: 0, max: 1, doc: "lambda of generalized advantage estimation" },
  clip: { default: 0.2, min: 0, doc: "probability ratios beyond 1 +- this are not followed" },
  valueClip: { default: 1, min: 0, doc: "the same for values, in units of scaled returns; Infinity for none" },
  entropyCoef: { default: 0, min: 0, doc: "weight of the entropy bonus" },
  valueWarmup: {
    default: 0,
    min: 0,
    integer: true,
    doc: "updates at the start in which the value function learns alone: for a policy that comes without one",
  },
  valueCoef: { default: 0.5, min: 0, doc: "weight of the value loss" },
  maxGradNorm: { default: 0.5, min: 1e-9, doc: "longer gradients are shortened to this; Infinity for none" },
  targetKl: { default: Infinity, min: 0, doc: "an update stops at 1.5 x this divergence; adaptive rates aim at it" },
  normalizeAdvantages: { default: true, doc: "advantages of a rollout to mean 0 and deviation 1" },
  normalizeObservations: { default: true, doc: "observations by their running mean and deviation" },
  normalizeRewards: { default: true, doc: "rewards by the running deviation of discounted returns" },
  clipObservations: { default: 10, min: 0, doc: "normalized observations are clipped to +- this" },
  clipRewards: { default: 10, min: 0, doc: "scaled rewards are clipped to +- this" },
  hidden: { default: [64, 64], doc: "widths of the hidden layers of policy and value network" },
  activation: { default: "tanh", oneOf: HIDDEN_ACTIVATIONS, doc: "of the hidden layers" },
  layerNorm: LAYER_NORM,
  ...MEMORY,
  recurrentSteps: {
    default: 16,
    min: 1,
    max: 32,
    integer: true,
    doc: "control steps that derivatives go back through; rolloutSteps is a multiple of it",
  },
  mirrorObservations: {
    default: [],
    kind: MIRROR_COLUMNS,
    doc: "half of the rollout is learnt from as its mirror image: for each column of the observations the one that it is in the mirror, counted from 1, negative where the sign changes; see mirrorColumns",
  },
  mirrorActions: { default: [], kind: MIRROR_COLUMNS, doc: "the same of continuous actions" },
  squash: {
    default: false,
    doc: "continuous actions go through tanh into their bounds, instead of being clipped to them",
  },
  actionBlock: {
    default: 2048,
    min: 8,
    max: 65536,
    integer: true,
    doc: "most discrete actions whose logits are held at once; larger choices go by in blocks of at most this many",
  },
  actionEmbedding: ACTION_EMBEDDING,
  initialLogStd: { default: 0, doc: "log standard deviation of actions at the start" },
  minLogStd: { default: -5, doc: "its lower bound" },
  maxLogStd: { default: 2, doc: "its upper bound" },
  finalLogStd: {
    default: Infinity,
    doc: "its upper bound at the end, to which that falls from initialLogStd linearly over all steps, so that what is likeliest is learnt too; Infinity for none",
  },
  ...adamOptions(1e-5),
} as const satisfies OptionTable;

export type PpoOption = keyof typeof PPO_OPTIONS;

/** Hyperparameters by name; `PPO_OPTIONS` says what each means. */
export type PpoConfig = ConfigOf<typeof PPO_OPTIONS>;

/**
 * Fills in defaults.
 * @throws CorralError unknown-option with the nearest names, bad-option
 */
export function ppoConfig(given: Partial<PpoConfig> = {}): PpoConfig {
  const made = fillIn(PPO_OPTIONS, given, { of: "PPO" });
  assertLogStds(made);
  if (made.finalLogStd < made.minLogStd)
    throw badOption("finalLogStd", made.finalLogStd, `pass at least minLogStd, ${made.minLogStd}`);
  if (made.schedule === "adaptive" && !(made.targetKl > 0 && made.targetKl < Infinity)) {
    throw badOption("targetKl", made.targetKl, 'schedule "adaptive" aims at it: pass such as 0.01');
  }
  if (made.recurrent !== "none") {
    const { recurrentSteps, rolloutSteps } = made;
    assertRecurrentSize(made);
    if (rolloutSteps % Math.min(recurrentSteps, rolloutSteps) !== 0) {
      throw badOption("recurrentSteps", recurrentSteps, `rolloutSteps, ${rolloutSteps}, is to be a multiple of it`);
    }
  }
  return made;
}
