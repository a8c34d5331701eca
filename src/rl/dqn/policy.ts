// the networks of DQN by name, and its policy as plain numbers
import type { ActionFeatures } from "../networks/action-features.ts";
import type { ActionFacts, Policy } from "../networks/policy.ts";
import { policyOf, withoutEmbedding } from "../networks/policy.ts";
import { namedHead, namedLayers, type NamedArray } from "../networks/networks.ts";
import { namedMoments } from "../replay/named.ts";
import type { DqnShape, QNetwork } from "./arenas.ts";
import type { DqnConfig } from "./config.ts";

/** The numbers of one network by name. */
export const namedNetwork = (
  name: string,
  { layers, head }: QNetwork,
  params: Float32Array,
): Record<string, NamedArray> => ({ ...namedLayers(layers, params), ...namedHead(name, head, params) });

/**
 * The parameters by name, as PyTorch has them: `policy.0.weight` [outputs, inputs], ..., whose last layer puts out the
 * values of all actions, or `policy.embedding`; the same of `target`; with `namedMoments`.
 */
export function namedDqn(shape: DqnShape, params: Float32Array, norm?: Float32Array): Record<string, NamedArray> {
  const { online, target } = shape.nets;
  return {
    ...namedNetwork("policy", online, params),
    ...namedNetwork("target", target, params),
    ...namedMoments(shape, shape.seen, norm),
  };
}

/** The best actions by such parameters; `features` are those of the actions, if they have embeddings. Throws `bad-policy`. */
export function dqnPolicyOf(
  named: Readonly<Record<string, NamedArray>>,
  id: string,
  space: ActionFacts,
  { activation }: Pick<DqnConfig, "activation">,
  features: ActionFeatures | undefined,
): Policy {
  const own = Object.fromEntries(Object.entries(named).filter(([name]) => !name.startsWith("target.")));
  const facts = { id, algo: "dqn", space, activation, squash: false, clipObservations: Infinity };
  return policyOf(withoutEmbedding(own, features), facts);
}
