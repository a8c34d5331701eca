// every hyperparameter of SAC: flat, with its default, its bounds and what it means. The command line's flags are these.
import { badOption, fillIn, type ConfigOf, type OptionTable } from "../../core/options.ts";
import { HIDDEN_ACTIVATIONS } from "../networks/activations.ts";
import { TILE } from "../networks/networks.ts";
import {
  adamOptions,
  assertBatchFits,
  assertLogStds,
  assertRecurrentSize,
  LAYER_NORM,
  MEMORY,
  REPLAY,
} from "../device/shared-options.ts";

export const SAC_OPTIONS = {
  ...REPLAY,
  batchSize: { default: 256, min: 1, max: 65536, integer: true, doc: "transitions of a batch" },
  learningStarts: { default: 5000, min: 0, doc: "env steps with uniform actions, before anything is learnt" },
  tau: { default: 0.005, min: 0, max: 1, doc: "part of the way that targets follow the critics after each batch" },
  policyEvery: { default: 1, min: 1, max: 65536, integer: true, doc: "batches between two that move the policy" },
  learningRate: { default: 3e-4, min: 0, doc: "step size of Adam for the policy" },
  criticLearningRate: { default: 1e-3, min: 0, doc: "the same for both critics" },
  temperatureLearningRate: { default: 1e-3, min: 0, doc: "the same for the temperature; 0 keeps it as it starts" },
  initialTemperature: { default: 1, min: 1e-6, max: 1e6, doc: "weight of the entropy at the start" },
  targetEntropy: {
    default: -1,
    min: -1000,
    max: 1000,
    doc: "what the temperature steers entropy to, in nats per number of an action",
  },
  maxGradNorm: { default: Infinity, min: 1e-9, doc: "longer gradients are shortened to this; Infinity for none" },
  hidden: { default: [256, 256], doc: "widths of the hidden layers of policy and critics" },
  activation: { default: "relu", oneOf: HIDDEN_ACTIVATIONS, doc: "of the hidden layers" },
  layerNorm: LAYER_NORM,
  ...MEMORY,
  recurrentSteps: {
    default: 16,
    min: 2,
    max: 128,
    integer: true,
    doc: "with a memory, control steps of a sequence that is learnt from; batchSize is a multiple of 8 times as many",
  },
  recurrentBurnIn: {
    default: 8,
    min: 0,
    max: 128,
    integer: true,
    doc: "control steps before those, which fill the memory; those of episodes that begin in a sequence are learnt from",
  },
  minLogStd: { default: -20, doc: "lower bound of the log standard deviation before squashing" },
  maxLogStd: { default: 2, doc: "its upper bound" },
  ...adamOptions(1e-8),
} as const satisfies OptionTable;

export type SacOption = keyof typeof SAC_OPTIONS;

/** Hyperparameters by name; `SAC_OPTIONS` says what each means. */
export type SacConfig = ConfigOf<typeof SAC_OPTIONS>;

/**
 * Fills in defaults.
 * @throws CorralError unknown-option with the nearest names, bad-option
 */
export function sacConfig(given: Partial<SacConfig> = {}): SacConfig {
  const made = fillIn(SAC_OPTIONS, given, { of: "SAC" });
  assertBatchFits(made);
  assertLogStds(made);
  if (made.recurrent !== "none") assertSequences(made);
  return made;
}

/** Throws `bad-option` for what does not go with sequences. */
function assertSequences(config: SacConfig): void {
  const { batchSize, nSteps, recurrentSteps } = config;
  assertRecurrentSize(config);
  if (nSteps > 1) throw badOption("nSteps", nSteps, "with a memory returns are of one step: pass 1");
  const least = leastSequences(recurrentSteps);
  if (batchSize % least === 0) return;
  const all = `with a memory a batch is whole sequences, 8 at a time: pass a multiple of ${least} (8 recurrentSteps)`;
  throw badOption("batchSize", batchSize, all);
}

/** Steps of the smallest batch of sequences. */
export const leastSequences = (recurrentSteps: number): number => TILE * recurrentSteps;

/** Rows of a world that a sample takes: with a memory those of a sequence and the one after it. */
export const rowsOfSample = ({ nSteps, recurrent, recurrentSteps, recurrentBurnIn }: SacConfig): number =>
  recurrent === "none" ? nSteps : recurrentBurnIn + recurrentSteps;
