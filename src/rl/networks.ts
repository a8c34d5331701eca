/** Multilayer perceptrons: where their numbers lie in the parameter vector and in memory, and what they start as. */
import { RandomStream, streams } from "../core/rng.ts";

export type Activation = "tanh" | "relu" | "none";
/** Codes of the kernels. */
export const ACTIVATION: Readonly<Record<Activation, number>> = { none: 0, tanh: 1, relu: 2 };

/** One dense layer, y = f(x W + b). `w` and `b`: vec4s in the parameter vector, where W is [k, n] row-major. */
export interface Layer {
  readonly name: string;
  readonly inputs: number;
  readonly outputs: number;
  /** Inputs and outputs with padding to whole tiles of 8; the padding's weights are and stay zero. */
  readonly k: number;
  readonly n: number;
  readonly w: number;
  readonly b: number;
  readonly activation: Activation;
  /** Standard deviation of its initial weights, in units of an orthogonal matrix. */
  readonly gain: number;
}

/** The parameter vector of a policy and a value function. Offsets and counts are vec4s. */
export interface Networks {
  readonly policy: readonly Layer[];
  readonly value: readonly Layer[];
  /** Log standard deviations, where the policy is Gaussian. */
  readonly logStd: { readonly at: number; readonly count: number };
  readonly params4: number;
}

export interface NetworkOptions {
  readonly observations: number;
  /** What the policy puts out: means, or logits. */
  readonly outputs: number;
  readonly hidden: readonly number[];
  readonly activation: "tanh" | "relu";
  /** Log standard deviations; 0 for policies that have none. */
  readonly logStds: number;
}

/** Tiles of the kernels are 8 by 8. */
export const TILE = 8;
export const padTo = (n: number, unit: number): number => Math.ceil(n / unit) * unit;

export function layOutNetworks(options: NetworkOptions): Networks {
  const { observations, outputs, hidden, activation, logStds } = options;
  // small first actions, as in Andrychowicz et al. 2021
  const policy = layOutNetwork("policy", [observations, ...hidden, outputs], activation, 0.01, 0);
  const value = layOutNetwork("value", [observations, ...hidden, 1], activation, 1, endOf(policy));
  const logStd = { at: endOf(value), count: logStds };
  return { policy, value, logStd, params4: logStd.at + padTo(logStds, TILE) / 4 };
}

/** The layers of one network, from a vec4 of the parameter vector on; its last layer has no activation. */
export function layOutNetwork(
  name: string,
  widths: readonly number[],
  activation: "tanh" | "relu",
  lastGain: number,
  start: number,
): Layer[] {
  let at = start;
  return widths.slice(1).map((width, i) => {
    const isLast = i === widths.length - 2;
    const [k, n] = [padTo(widths[i], TILE), padTo(width, TILE)];
    const w = at;
    const b = w + (k * n) / 4;
    at = b + n / 4;
    return {
      name: `${name}.${i}`,
      inputs: widths[i],
      outputs: width,
      k,
      n,
      w,
      b,
      activation: isLast ? ("none" as const) : activation,
      gain: isLast ? lastGain : Math.SQRT2,
    };
  });
}

/** The vec4 after a network. */
export function endOf(layers: readonly Layer[]): number {
  const { b, n } = layers[layers.length - 1];
  return b + n / 4;
}

/** Where rows of a network lie in the learner's memory: its input, and the outputs of its layers. vec4s. */
export interface Rows {
  readonly x: number;
  readonly outputs: ReadonlyMap<Layer, number>;
}

/** What the kernels of a layer are told: input, its width, weights, biases, output, its width. vec4s. */
export function layerWords(layers: readonly Layer[], i: number, { x, outputs }: Rows): number[] {
  const { k, w, b, n } = layers[i];
  return [i > 0 ? outputs.get(layers[i - 1])! : x, k / 4, w, b, outputs.get(layers[i])!, n / 4];
}

/** The parameters at the start: orthogonal weights, zero biases. Depends on the seed alone. */
export function initialParameters(nets: Networks, seed: number | bigint, initialLogStd: number) {
  const params = new Float32Array(nets.params4 * 4);
  fillWeights(params, [...nets.policy, ...nets.value], seed);
  params.fill(initialLogStd, nets.logStd.at * 4, nets.logStd.at * 4 + nets.logStd.count);
  return params;
}

/** Puts orthogonal weights of a seed into a parameter vector. */
export function fillWeights(params: Float32Array, layers: readonly Layer[], seed: number | bigint): void {
  layers.forEach((layer, i) => {
    const { inputs, outputs, n, w, gain } = layer;
    const weights = orthogonal(inputs, outputs, new RandomStream(seed, i, 0, streams.initialization));
    for (let row = 0; row < inputs; row++) {
      for (let column = 0; column < outputs; column++) {
        params[w * 4 + row * n + column] = gain * weights[row * outputs + column];
      }
    }
  });
}

/** A random matrix with orthonormal rows or columns, whichever are fewer (Saxe et al. 2014). Row-major. */
function orthogonal(rows: number, columns: number, random: RandomStream): Float64Array {
  const many = Math.max(rows, columns);
  const few = Math.min(rows, columns);
  const vectors: Float64Array[] = [];
  for (let i = 0; i < few; i++) {
    const v = Float64Array.from({ length: many }, (_, j) => random.normal(i * many + j));
    // Gram-Schmidt, twice for rounding
    for (let pass = 0; pass < 2; pass++) {
      for (const u of vectors) {
        let along = 0;
        for (let j = 0; j < many; j++) along += u[j] * v[j];
        for (let j = 0; j < many; j++) v[j] -= along * u[j];
      }
    }
    const length = Math.hypot(...v);
    vectors.push(v.map((x) => x / length));
  }
  const matrix = new Float64Array(rows * columns);
  for (let i = 0; i < few; i++) {
    for (let j = 0; j < many; j++) matrix[rows > columns ? j * columns + i : i * columns + j] = vectors[i][j];
  }
  return matrix;
}

/** Numbers with a name and a shape, row-major. */
export interface NamedArray {
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
}

/**
 * The parameters by name, without padding, in the order and shapes of PyTorch: `policy.0.weight` [outputs, inputs],
 * `policy.0.bias` [outputs], `value.0.weight`, ..., and `log_std` [actions] of Gaussian policies.
 */
export function namedParameters(nets: Networks, params: Float32Array): Record<string, NamedArray> {
  const named: Record<string, NamedArray> = {};
  for (const { name, inputs, outputs, n, w, b } of [...nets.policy, ...nets.value]) {
    const weight = new Float32Array(outputs * inputs);
    for (let o = 0; o < outputs; o++)
      for (let i = 0; i < inputs; i++) weight[o * inputs + i] = params[4 * w + i * n + o];
    named[`${name}.weight`] = { shape: [outputs, inputs], data: weight };
    named[`${name}.bias`] = { shape: [outputs], data: params.slice(4 * b, 4 * b + outputs) };
  }
  const { at, count } = nets.logStd;
  if (count > 0) named.log_std = { shape: [count], data: params.slice(4 * at, 4 * at + count) };
  return named;
}

/**
 * What observations are normalised by, by name: (observation - `normalizer.mean`) * `normalizer.inverse_std`, then clipped;
 * with the variance and the count that they come from. `norm` is the learner's arena of that name.
 */
export function namedNormalizer(observations: number, norm: Float32Array): Record<string, NamedArray> {
  const width = padTo(observations, TILE);
  const row = (i: number, count = observations): NamedArray => ({
    shape: [count],
    data: norm.slice(i * width, i * width + count),
  });
  return {
    "normalizer.mean": row(0),
    "normalizer.inverse_std": row(1),
    "normalizer.variance": row(2),
    "normalizer.count": row(3, 1),
  };
}
