// the networks of SAC over discrete actions by name, and its policy as plain numbers
import type { ActionFeatures } from "../networks/action-features.ts";
import { namedNetwork } from "../dqn/policy.ts";
import type { NamedArray } from "../networks/networks.ts";
import { policyOf, withoutEmbedding, type ActionFacts, type Policy } from "../networks/policy.ts";
import { namedMoments } from "../replay/named.ts";
import type { SacDiscreteShape } from "./arenas.ts";
import type { SacDiscreteConfig } from "./config.ts";

/**
 * The parameters by name, as PyTorch has them: `policy.0.weight` [outputs, inputs], ..., whose last layer puts out the logits
 * of all actions, or `policy.embedding`; the same of `q1`, `q2`, `target1` and `target2`, which put out values; with
 * `namedMoments`.
 */
export function namedSacDiscrete(
  shape: SacDiscreteShape,
  params: Float32Array,
  norm?: Float32Array,
): Record<string, NamedArray> {
  const { policy, critics, targets } = shape.nets;
  const networks = { policy, q1: critics[0], q2: critics[1], target1: targets[0], target2: targets[1] };
  const named = Object.entries(networks).map(([name, network]) => namedNetwork(name, network, params));
  return {
    ...(Object.assign({}, ...named) as Record<string, NamedArray>),
    ...namedMoments(shape, shape.groups.policy.size, norm),
  };
}

/** The likeliest actions by such parameters; `features` are those of the actions, if they have embeddings. Throws `bad-policy`. */
export function sacDiscretePolicyOf(
  named: Readonly<Record<string, NamedArray>>,
  id: string,
  space: ActionFacts,
  { activation }: Pick<SacDiscreteConfig, "activation">,
  features: ActionFeatures | undefined,
): Policy {
  const own = Object.fromEntries(Object.entries(named).filter(([name]) => !/^(q|target)\d\./.test(name)));
  const facts = { id, algo: "sac-discrete", space, activation, squash: false, clipObservations: Infinity };
  return policyOf(withoutEmbedding(own, features), facts);
}
