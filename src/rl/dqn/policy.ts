// the networks of DQN by name, and its policy as plain numbers
import type { ActionFacts, Policy } from "../networks/policy.ts";
import { policyOf, withoutEmbedding } from "../networks/policy.ts";
import { namedHead, namedLayers, type NamedArray } from "../networks/networks.ts";
import type { DqnShape } from "./arenas.ts";
import type { DqnConfig } from "./config.ts";

/**
 * The parameters by name, as PyTorch has them: `policy.0.weight` [outputs, inputs], ..., whose last layer puts out the
 * values of all actions, or `policy.embedding`; the same of `target`. Observations are taken as they are.
 */
export function namedDqn({ nets, seen }: DqnShape, params: Float32Array): Record<string, NamedArray> {
  const { online, target } = nets;
  const observed = (value: number) => ({ shape: [seen], data: new Float32Array(seen).fill(value) });
  return {
    ...namedLayers([...online.layers, ...target.layers], params),
    ...namedHead("policy", online.head, params),
    ...namedHead("target", target.head, params),
    "normalizer.mean": observed(0),
    "normalizer.inverse_std": observed(1),
  };
}

/** The best actions by such parameters; `features` are those of the actions, if they have embeddings. Throws `bad-policy`. */
export function dqnPolicyOf(
  named: Readonly<Record<string, NamedArray>>,
  id: string,
  space: ActionFacts,
  { activation }: Pick<DqnConfig, "activation">,
  features: Float32Array | undefined,
): Policy {
  const own = Object.fromEntries(Object.entries(named).filter(([name]) => !name.startsWith("target.")));
  const facts = { id, algo: "dqn", space, activation, squash: false, clipObservations: Infinity };
  return policyOf(withoutEmbedding(own, features), facts);
}
