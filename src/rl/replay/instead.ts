// what a replay of discrete actions would have taken otherwise
import type { ReplayConfig } from "../device/shared-options.ts";
import type { Instead } from "../networks/policy.ts";

/** Bytes of one-hot actions, and of `matrices` numbers for every action of every row of a batch, which `what` names. */
export const insteadOfReplay = (
  what: string,
  matrices: number,
  outputs: number,
  { bufferSize, batchSize }: ReplayConfig,
): Instead[] => [
  { what: "one-hot actions of the replay, in float32", bytes: 4 * outputs * bufferSize },
  { what, bytes: 4 * matrices * outputs * batchSize },
];
