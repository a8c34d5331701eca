// a policy as plain numbers: what remains of a learner when it is left behind
import type { Box, Discrete, MultiDiscrete } from "../../env/space/spaces.ts";
import { CorralError } from "../../core/errors.ts";
import { LEVEL_SINCE, type ActionFeatures } from "./action-features.ts";
import type { Activation, HiddenActivation } from "./activations.ts";
import { CELLS, CELL_KINDS, type CellKind, type NamedArray } from "./networks.ts";

/** y = f(W x + b), with W [outputs, inputs] row-major; with layer norm y = f(norm(W x + b)). */
export interface PolicyLayer {
  readonly inputs: number;
  readonly outputs: number;
  readonly activation: Activation;
  readonly weight: Float32Array;
  readonly bias: Float32Array;
  /** Gains and shifts [outputs] of its layer norm. */
  readonly norm?: { readonly weight: Float32Array; readonly bias: Float32Array };
}

/**
 * A recurrent cell between the hidden layers and the last one, gates in the order and form of PyTorch: of a GRU reset,
 * update, candidate; of an LSTM input, forget, candidate, output. An episode begins with a state of zeros.
 */
export interface PolicyCell {
  readonly kind: CellKind;
  /** Numbers that it puts out. */
  readonly size: number;
  /** Numbers of its state: what it puts out, and an LSTM's memory behind that. */
  readonly stateSize: number;
  readonly inputs: number;
  /** [gates size, inputs], [gates size], [gates size, size], [gates size]. */
  readonly inputWeight: Float32Array;
  readonly inputBias: Float32Array;
  readonly stateWeight: Float32Array;
  readonly stateBias: Float32Array;
}

/** What becomes of the last layer's outputs: bounded numbers, or the likeliest alternative of each choice. */
export type PolicyHead =
  | {
      readonly kind: "gaussian";
      readonly actions: number;
      /** Bounds of each action, infinite if there are none. */
      readonly low: Float32Array;
      readonly high: Float32Array;
      /** Whether actions go through tanh into their bounds, instead of being clipped to them. */
      readonly squash: boolean;
      /** Log standard deviations of the draws in training, if they do not depend on the state. */
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
 * The deterministic policy: x = clip((observation - mean) * inverseStd, -clip, clip) through the layers into the head,
 * through the cell before the last layer if it has one.
 */
export interface Policy {
  /** The environment that it was trained in, and how. */
  readonly id: string;
  readonly algo: string;
  readonly observations: number;
  readonly normalizer: { readonly mean: Float32Array; readonly inverseStd: Float32Array; readonly clip: number };
  readonly layers: readonly PolicyLayer[];
  readonly cell: PolicyCell | undefined;
  readonly head: PolicyHead;
  /** Where the numbers come from, by their names in checkpoints. */
  readonly named: Readonly<Record<string, NamedArray>>;
}

/** The normaliser's arrays without the columns that only others see: those of the policy come first. */
const seenBy = (observations: number, named: Readonly<Record<string, NamedArray>>): Record<string, NamedArray> =>
  Object.fromEntries(
    Object.entries(named).map(([name, array]) => {
      const isWider = name.startsWith("normalizer.") && array.shape[0] > observations;
      return [name, isWider ? { shape: [observations], data: array.data.slice(0, observations) } : array];
    }),
  );

/** What other ways of holding discrete actions would take. */
export interface Instead {
  readonly what: string;
  readonly bytes: number;
}

/** What is asked of the space of actions. */
export type ActionFacts =
  | Pick<Box, "kind" | "low" | "high" | "size">
  | Pick<Discrete, "kind" | "n" | "start">
  | Pick<MultiDiscrete, "kind" | "nvec" | "size">;

/** What must be known of a policy beside its parameters. */
export interface PolicyFacts {
  readonly id: string;
  readonly algo: string;
  readonly space: ActionFacts;
  readonly activation: HiddenActivation;
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
      ...(Object.hasOwn(named, `policy.${i}.norm.weight`) && { norm: normOf(`policy.${i}`, shape[0], take) }),
    };
  });
  const kind = cellKindOf(named);
  const cell = kind && cellOf(kind, take);
  const wanted = space.kind === "multi-discrete" ? space.nvec.reduce((a, b) => a + b, 0) : sizeOf(space);
  const outputs = layers.at(-1)!.outputs;
  if (wanted !== outputs) {
    const text = `the policy has ${outputs} outputs; actions of ${id} take ${wanted}. Pass the environment that it was trained in.`;
    throw new CorralError("bad-policy", text, { outputs, wanted });
  }
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
  // a policy without hidden layers sees its observations in the cell
  const observations = layers.length > 1 || !cell ? layers[0].inputs : cell.inputs;
  const normalizer = {
    mean: take("normalizer.mean").data.slice(0, observations),
    inverseStd: take("normalizer.inverse_std").data.slice(0, observations),
    clip: clipObservations,
  };
  return { id, algo, observations, normalizer, layers, cell, head, named: seenBy(observations, named) };
}

function normOf(name: string, outputs: number, take: (name: string) => NamedArray): PolicyLayer["norm"] {
  const [weight, bias] = ["weight", "bias"].map((part) => {
    const { data } = take(`${name}.norm.${part}`);
    if (data.length === outputs) return data;
    const text = `"${name}.norm.${part}" has ${data.length} numbers where its layer puts out ${outputs}.`;
    throw new CorralError("bad-policy", text, { name, outputs });
  });
  return { weight, bias };
}

/** The kind of cell that a policy's parameters hold, if any. */
export const cellKindOf = (named: Readonly<Record<string, NamedArray>>): CellKind | undefined =>
  CELL_KINDS.find((kind) => Object.hasOwn(named, `policy.${kind}.ih.weight`));

function cellOf(kind: CellKind, take: (name: string) => NamedArray): PolicyCell {
  const [input, state] = [`policy.${kind}.ih`, `policy.${kind}.hh`];
  const { shape } = take(`${input}.weight`);
  const { gates, parts } = CELLS[kind];
  const rows = shape[0];
  const size = Math.floor(rows / gates);
  const sized = (name: string, count: number): Float32Array => {
    const { data } = take(name);
    if (data.length === count) return data;
    throw new CorralError("bad-policy", `"${name}" has ${data.length} numbers where its ${kind} takes ${count}.`, {
      name,
      count,
    });
  };
  return {
    kind,
    size,
    stateSize: parts * size,
    inputs: shape[1],
    inputWeight: sized(`${input}.weight`, gates * size * shape[1]),
    inputBias: sized(`${input}.bias`, gates * size),
    stateWeight: sized(`${state}.weight`, gates * size * size),
    stateBias: sized(`${state}.bias`, gates * size),
  };
}

/** Parameters whose last layer scores actions itself, where embeddings of the actions did. Throws `bad-policy`. */
export function withoutEmbedding(
  named: Readonly<Record<string, NamedArray>>,
  features: ActionFeatures | undefined,
): Readonly<Record<string, NamedArray>> {
  if (!Object.hasOwn(named, "policy.embedding") || !features) return named;
  const { "policy.embedding": map, ...others } = named;
  const [count, dims] = map.shape;
  if (count !== features.count) {
    const text = `the policy's embeddings are of ${count} features of an action, and actions have ${features.count} here. Pass the environment that it was trained in; ${LEVEL_SINCE}.`;
    throw new CorralError("bad-policy", text, { count, wanted: features.count });
  }
  const actions = features.values.length / count;
  const last = Object.keys(others).filter((name) => /^policy\.\d+\.weight$/.test(name)).length - 1;
  const { shape, data: below } = others[`policy.${last}.weight`];
  const { data: offset } = others[`policy.${last}.bias`];
  const inputs = shape[1];
  const weight = new Float32Array(actions * inputs);
  const bias = new Float32Array(actions);
  for (let a = 0; a < actions; a++) {
    for (let d = 0; d < dims; d++) {
      let e = 0;
      for (let f = 0; f < count; f++) e += features.values[a * count + f] * map.data[f * dims + d];
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

const sizeOf = (space: Exclude<ActionFacts, { kind: "multi-discrete" }>): number =>
  space.kind === "discrete" ? space.n : space.size;
