/** A policy as plain numbers: what remains of a learner when it is left behind. */
import type { Space } from "../env/spaces.ts";
import { CorralError } from "../core/errors.ts";
import type { NamedArray } from "./networks.ts";

/** y = f(W x + b), with W [outputs, inputs] row-major. */
export interface PolicyLayer {
  readonly inputs: number;
  readonly outputs: number;
  readonly activation: "tanh" | "relu" | "none";
  readonly weight: Float32Array;
  readonly bias: Float32Array;
}

/** What becomes of the last layer's outputs: bounded numbers, or the likeliest alternative of each choice. */
export type PolicyHead =
  | {
      readonly kind: "gaussian";
      readonly actions: number;
      /** Bounds of each action, infinite where there are none. */
      readonly low: Float32Array;
      readonly high: Float32Array;
      /** Whether actions go through tanh into their bounds, instead of being clipped to them. */
      readonly squash: boolean;
      /** Log standard deviations of the draws in training, where they do not depend on the state. */
      readonly logStd: Float32Array | undefined;
    }
  | {
      readonly kind: "categorical";
      /** Alternatives of each choice, and the smallest action. */
      readonly alternatives: readonly number[];
      readonly start: number;
      /** A single number, or a row of them, one for each choice. */
      readonly single: boolean;
    };

/**
 * The deterministic policy: x = clip((observation - mean) * inverseStd, -clip, clip) through the layers into the head.
 * Recurrent policies have none of these (`unsupported-export`).
 */
export interface Policy {
  /** The environment that it was trained in, and how. */
  readonly id: string;
  readonly algo: string;
  readonly observations: number;
  readonly normalizer: { readonly mean: Float32Array; readonly inverseStd: Float32Array; readonly clip: number };
  readonly layers: readonly PolicyLayer[];
  readonly head: PolicyHead;
  /** Where the numbers come from, by their names in checkpoints. */
  readonly named: Readonly<Record<string, NamedArray>>;
}

/** What must be known of a policy beside its parameters. */
export interface PolicyFacts {
  readonly id: string;
  readonly algo: string;
  readonly space: Space;
  readonly activation: "tanh" | "relu";
  readonly squash: boolean;
  readonly clipObservations: number;
}

/** Puts a policy together from its parameters by name (`namedParameters`, `namedNormalizer`). Throws `bad-policy`. */
export function policyOf(named: Readonly<Record<string, NamedArray>>, facts: PolicyFacts): Policy {
  const { id, algo, space, activation, squash, clipObservations } = facts;
  const count = Object.keys(named).filter((name) => /^policy\.\d+\.weight$/.test(name)).length;
  const take = (name: string): NamedArray => {
    if (Object.hasOwn(named, name)) return named[name];
    throw new CorralError("bad-policy", `the policy has no "${name}". Export one that corral trained.`, { name });
  };
  const layers = Array.from({ length: Math.max(1, count) }, (_, i): PolicyLayer => {
    const { shape, data } = take(`policy.${i}.weight`);
    return {
      inputs: shape[1],
      outputs: shape[0],
      activation: i === count - 1 ? "none" : activation,
      weight: data,
      bias: take(`policy.${i}.bias`).data,
    };
  });
  const wanted = space.kind === "multi-discrete" ? space.nvec.reduce((a, b) => a + b, 0) : sizeOf(space);
  const outputs = layers.at(-1)!.outputs;
  if (wanted !== outputs) {
    throw new CorralError("bad-policy", `the policy has ${outputs} outputs; actions of ${id} take ${wanted}.`, {
      outputs,
      wanted,
    });
  }
  const normalizer = {
    mean: take("normalizer.mean").data,
    inverseStd: take("normalizer.inverse_std").data,
    clip: clipObservations,
  };
  const head: PolicyHead =
    space.kind === "box"
      ? {
          kind: "gaussian",
          actions: space.size,
          low: space.low,
          high: space.high,
          squash,
          logStd: named.log_std?.data,
        }
      : {
          kind: "categorical",
          alternatives: space.kind === "discrete" ? [space.n] : [...space.nvec],
          start: space.kind === "discrete" ? space.start : 0,
          single: space.kind === "discrete",
        };
  return { id, algo, observations: layers[0].inputs, normalizer, layers, head, named };
}

/** Throws `unsupported-export` for policies with a memory: a single observation does not say what they do. */
export function assertExportable({ recurrent }: { readonly recurrent: string }): void {
  if (recurrent === "none") return;
  throw new CorralError(
    "unsupported-export",
    `the policy is recurrent (${recurrent}); policies without memory are exported. Its parameters by name are in the checkpoints of its run.`,
    { recurrent },
  );
}

/** Parameters whose last layer scores actions itself, where embeddings of the actions did: `features` by action. */
export function withoutEmbedding(
  named: Readonly<Record<string, NamedArray>>,
  features: Float32Array | undefined,
): Readonly<Record<string, NamedArray>> {
  if (!Object.hasOwn(named, "policy.embedding") || !features) return named;
  const { "policy.embedding": map, ...others } = named;
  const [count, dims] = map.shape;
  const actions = features.length / count;
  const last = Object.keys(others).filter((name) => /^policy\.\d+\.weight$/.test(name)).length - 1;
  const { shape, data: below } = others[`policy.${last}.weight`];
  const { data: offset } = others[`policy.${last}.bias`];
  const inputs = shape[1];
  const weight = new Float32Array(actions * inputs);
  const bias = new Float32Array(actions);
  for (let a = 0; a < actions; a++) {
    for (let d = 0; d < dims; d++) {
      let e = 0;
      for (let f = 0; f < count; f++) e += features[a * count + f] * map.data[f * dims + d];
      bias[a] += e * offset[d];
      for (let i = 0; i < inputs; i++) weight[a * inputs + i] += e * below[d * inputs + i];
    }
  }
  return {
    ...others,
    [`policy.${last}.weight`]: { shape: [actions, inputs], data: weight },
    [`policy.${last}.bias`]: { shape: [actions], data: bias },
  };
}

const sizeOf = (space: Space): number => (space.kind === "discrete" ? space.n : space.size);
