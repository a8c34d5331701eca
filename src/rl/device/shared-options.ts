// options that every algorithm has
import { CorralError } from "../../core/errors.ts";
import { CELL_KINDS } from "../networks/networks.ts";
import { badOption, type ConfigOf, type OptionRow, type OptionTable } from "../../core/options.ts";

/** Of Adam (Kingma and Ba 2015), with decoupled decay of weights (Loshchilov and Hutter 2019). */
export const adamOptions = (epsilon: number) =>
  ({
    beta1: { default: 0.9, min: 0, max: 0.9999999, doc: "Adam's decay of the mean" },
    beta2: { default: 0.999, min: 0, max: 0.9999999, doc: "Adam's decay of the variance" },
    adamEpsilon: { default: epsilon, min: 1e-15, doc: "Adam's epsilon" },
    weightDecay: {
      default: 0,
      min: 0,
      max: 1,
      doc: "AdamW: each step takes this part, times the learning rate, off weights and biases; not off log standard deviations and the temperature",
    },
  }) as const satisfies OptionTable;

export type AdamConfig = ConfigOf<ReturnType<typeof adamOptions>> & { readonly maxGradNorm: number };

export const GAMMA = { default: 0.99, min: 0, max: 1, doc: "discount of a control step" } as const;

/** Throws `bad-option` if the bounds of the log standard deviation are the wrong way round. */
export function assertLogStds({ minLogStd, maxLogStd }: { readonly minLogStd: number; readonly maxLogStd: number }) {
  if (minLogStd > maxLogStd) throw badOption("minLogStd", minLogStd, `pass at most maxLogStd, ${maxLogStd}`);
}

/** Numbers of an embedding of discrete actions. */
export const ACTION_EMBEDDING = {
  default: 0,
  min: 0,
  max: 256,
  integer: true,
  doc: "discrete actions that stand for controls are scored by embeddings of this many numbers, made from the controls; 0 for a row of weights each",
} as const satisfies OptionRow;

/** Actions of a block. */
export const ACTION_BLOCK = {
  default: 2048,
  min: 8,
  max: 65536,
  integer: true,
  doc: "most actions whose values are held at once; larger choices go by in blocks of at most this many",
} as const satisfies OptionRow;

/** Of hidden layers (Ba, Kiros and Hinton 2016). */
export const LAYER_NORM = {
  default: false,
  doc: "normalise what each hidden layer puts out, before its activation, with gains and shifts that are learned",
} as const satisfies OptionRow;

/** Of algorithms that learn from a replay. */
export const REPLAY = {
  collectSteps: { default: 1, min: 1, max: 65536, integer: true, doc: "control steps of every world between updates" },
  gradientSteps: { default: 1, min: 0, max: 65536, integer: true, doc: "batches that an update learns from" },
  bufferSize: { default: 1_000_000, min: 1, max: 2 ** 31, integer: true, doc: "transitions that the replay keeps" },
  storage: { default: "gpu", oneOf: ["gpu", "host", "file"], doc: "where the replay lies" },
  nSteps: { default: 1, min: 1, max: 1024, integer: true, doc: "rewards of a return before the value takes over" },
  gamma: GAMMA,
  normalizeObservations: {
    default: false,
    doc: "observations by their running mean and deviation, those of the replay when they are drawn",
  },
} as const satisfies OptionTable;

export type ReplayConfig = ConfigOf<typeof REPLAY> & { readonly batchSize: number };

/** Of policies that remember. */
export const MEMORY = {
  recurrent: {
    default: "none",
    oneOf: ["none", ...CELL_KINDS],
    doc: "memory before the last layer of the policy, and of what judges it",
  },
  recurrentSize: {
    default: 64,
    min: 8,
    max: 1024,
    integer: true,
    doc: "numbers of a recurrent state, a multiple of 8",
  },
} as const satisfies OptionTable;

/** Throws `bad-option` for a size that no cell has. */
export function assertRecurrentSize({ recurrentSize }: { readonly recurrentSize: number }): void {
  if (recurrentSize % 8 !== 0) throw badOption("recurrentSize", recurrentSize, "pass a multiple of 8");
}

/** Throws `unsupported-recurrent` for a memory in what learns from single transitions. */
export function assertNoMemory(given: object, of: string): void {
  const name = ["recurrent", "recurrentSize", "recurrentSteps", "recurrentBurnIn"].find(
    (one) => Object.hasOwn(given, one) && (given as Record<string, unknown>)[one] !== "none",
  );
  if (name === undefined) return;
  throw new CorralError(
    "unsupported-recurrent",
    `${name} is of PPO and SAC of continuous actions: ${of} learns from single transitions, which hold no state of a memory. Train with one of those, or let the task observe a history.`,
    { name },
  );
}

/** Throws `bad-option` if a batch is larger than the replay. */
export function assertBatchFits({ bufferSize, batchSize }: ReplayConfig): void {
  if (bufferSize >= batchSize) return;
  throw badOption("bufferSize", bufferSize, `pass at least batchSize, ${batchSize}, or a smaller batchSize`);
}

/**
 * Rows that the replay keeps of each world.
 * @throws CorralError bad-option if they are too few to learn from
 */
export function replayRows({ bufferSize, nSteps, collectSteps }: ReplayConfig, numEnvs: number): number {
  const rows = Math.floor(bufferSize / numEnvs);
  const least = nSteps + collectSteps;
  if (rows >= least) return rows;
  throw badOption(
    "bufferSize",
    bufferSize,
    `${numEnvs} worlds need ${least} rows each (nSteps + collectSteps): pass at least ${least * numEnvs}`,
  );
}
