// a policy's parameters as safetensors, under the names that PyTorch gives to such layers
import { encodeSafetensors } from "../io/safetensors.ts";
import type { NamedArray } from "../rl/networks/networks.ts";
import type { Policy } from "../rl/networks/policy.ts";
import { factsOf } from "./facts.ts";

/** What belongs to the policy: not the value function. */
const isPolicys = (name: string): boolean => !name.startsWith("value.");

const arraysOf = ({ named }: Policy): Record<string, NamedArray> =>
  Object.fromEntries(Object.entries(named).filter(([name]) => isPolicys(name)));

/**
 * `policy.0.weight` [outputs, inputs], `policy.0.bias`, …, `log_std` of Gaussian policies, and `normalizer.mean`,
 * `normalizer.inverse_std`, `normalizer.variance`, `normalizer.count`; the rest of the policy as metadata.
 */
export const encodePolicySafetensors = (policy: Policy): Uint8Array<ArrayBuffer> =>
  encodeSafetensors(arraysOf(policy), factsOf(policy));

/** Where each array begins behind the file's header, in floats. */
export function weightPlaces(policy: Policy): Map<string, number> {
  let at = 0;
  return new Map(
    Object.entries(arraysOf(policy)).map(([name, { data }]) => {
      at += data.length;
      return [name, at - data.length];
    }),
  );
}
