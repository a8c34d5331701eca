// every hyperparameter of DQN: flat, with its default, its bounds and what it means. The command line's flags are these.
import { badOption, fillIn, type ConfigOf, type OptionTable } from "../../core/options.ts";
import {
  ACTION_BLOCK,
  ACTION_EMBEDDING,
  adamOptions,
  assertBatchFits,
  assertNoMemory,
  LAYER_NORM,
  REPLAY,
} from "../device/shared-options.ts";
import { HIDDEN_ACTIVATIONS } from "../networks/activations.ts";

export const DQN_OPTIONS = {
  ...REPLAY,
  batchSize: { default: 128, min: 1, max: 4096, integer: true, doc: "transitions of a batch" },
  learningStarts: { default: 1000, min: 0, doc: "env steps with uniform actions, before anything is learnt" },
  explorationSteps: { default: 50_000, min: 0, doc: "env steps until random actions are as rare as they get" },
  explorationInitial: { default: 1, min: 0, max: 1, doc: "share of random actions at the start" },
  explorationFinal: { default: 0.05, min: 0, max: 1, doc: "the same once explorationSteps are over" },
  tau: { default: 0.01, min: 0, max: 1, doc: "part of the way that targets follow the network at a time" },
  targetEvery: { default: 1, min: 1, max: 2 ** 31, integer: true, doc: "batches between two moves of the targets" },
  doubleQ: { default: true, doc: "the network chooses next actions that targets value (double Q-learning)" },
  huber: { default: 1, min: 1e-9, doc: "errors beyond this cost linearly; Infinity for squares" },
  learningRate: { default: 1e-3, min: 0, doc: "step size of Adam" },
  maxGradNorm: { default: 10, min: 1e-9, doc: "longer gradients are shortened to this; Infinity for none" },
  hidden: { default: [64, 64], doc: "widths of the hidden layers" },
  activation: { default: "relu", oneOf: HIDDEN_ACTIVATIONS, doc: "of the hidden layers" },
  layerNorm: LAYER_NORM,
  actionBlock: ACTION_BLOCK,
  actionEmbedding: ACTION_EMBEDDING,
  ...adamOptions(1e-8),
} as const satisfies OptionTable;

export type DqnOption = keyof typeof DQN_OPTIONS;

/** Hyperparameters by name; `DQN_OPTIONS` says what each means. */
export type DqnConfig = ConfigOf<typeof DQN_OPTIONS>;

/**
 * Fills in defaults.
 * @throws CorralError unknown-option with the nearest names, bad-option, unsupported-recurrent
 */
export function dqnConfig(given: Partial<DqnConfig> = {}): DqnConfig {
  assertNoMemory(given, "DQN");
  const made = fillIn(DQN_OPTIONS, given, { of: "DQN" });
  assertBatchFits(made);
  const { explorationFinal, explorationInitial } = made;
  if (explorationFinal > explorationInitial)
    throw badOption("explorationFinal", explorationFinal, `pass at most explorationInitial, ${explorationInitial}`);
  return made;
}

/** How often actions are random after so many env steps. */
export function epsilonAt(envSteps: number, c: DqnConfig): number {
  if (envSteps < c.learningStarts) return 1;
  const done = c.explorationSteps > 0 ? Math.min(1, envSteps / c.explorationSteps) : 1;
  return c.explorationInitial + done * (c.explorationFinal - c.explorationInitial);
}
