// options that every algorithm has
import { badOption, type OptionTable } from "../../core/options.ts";

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

export const GAMMA = { default: 0.99, min: 0, max: 1, doc: "discount of a control step" } as const;

/** Throws `bad-option` if the bounds of the log standard deviation are the wrong way round. */
export function assertLogStds({ minLogStd, maxLogStd }: { readonly minLogStd: number; readonly maxLogStd: number }) {
  if (minLogStd > maxLogStd) throw badOption("minLogStd", minLogStd, `pass at most maxLogStd, ${maxLogStd}`);
}
