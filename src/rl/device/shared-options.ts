// options that every algorithm has
import { badOption, type OptionRow } from "../../core/options.ts";

export const WEIGHT_DECAY = {
  default: 0,
  min: 0,
  max: 1,
  doc: "AdamW: each step takes this part, times the learning rate, off weights and biases; not off log standard deviations and the temperature",
} as const satisfies OptionRow;

/** Throws `bad-option` if the bounds of the log standard deviation are the wrong way round. */
export function assertLogStds({ minLogStd, maxLogStd }: { readonly minLogStd: number; readonly maxLogStd: number }) {
  if (minLogStd > maxLogStd) throw badOption("minLogStd", minLogStd, `pass at most maxLogStd, ${maxLogStd}`);
}
