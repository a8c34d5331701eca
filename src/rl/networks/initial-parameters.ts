// what networks start as: numbers that depend on the seed alone
import { philox4x32, RandomStream, seedKey, streams, uniformFromBits } from "../../core/rng.ts";
import { layersOf, type Layer, type Networks, type StreamedHead } from "./networks.ts";

/** The parameters at the start: orthogonal weights, zero biases. Depends on the seed alone. */
export function initialParameters(nets: Networks, seed: number | bigint, initialLogStd: number) {
  const params = new Float32Array(nets.params4 * 4);
  const layers = layersOf({ ...nets, head: undefined });
  fillWeights(params, layers, seed);
  fillNorms(params, layers);
  params.fill(initialLogStd, nets.logStd.at * 4, nets.logStd.at * 4 + nets.logStd.count);
  if (nets.head) fillHead(params, nets.head, seed, nets.policy.length + nets.value.length);
  return params;
}

/** Uniform numbers in [-1, 1), one after another: four from each draw. */
function uniforms(seed: number | bigint, stream: number): () => number {
  const key = seedKey(seed);
  const words = new Uint32Array(4);
  let drawn = 0;
  return () => {
    if (drawn % 4 === 0) philox4x32([stream, 0, streams.initialization, drawn / 4], key, words);
    return 2 * uniformFromBits(words[drawn++ % 4]) - 1;
  };
}

/** Numbers of a head at the start: uniform, since thousands of columns are as good as orthogonal. */
export function fillHead(params: Float32Array, head: StreamedHead, seed: number | bigint, stream: number): void {
  const uniform = uniforms(seed, stream);
  const next = (deviation: number): number => uniform() * Math.sqrt(3) * deviation;
  const { embedding, blocks } = head;
  if (embedding) {
    const { at, dims, features } = embedding;
    for (let f = 0; f < features; f++) {
      for (let d = 0; d < dims; d++) params[4 * at + f * blocks[0].k + d] = next(1 / Math.sqrt(features));
    }
    return;
  }
  for (const { inputs, outputs, n, w, gain } of blocks) {
    for (let row = 0; row < inputs; row++) {
      for (let column = 0; column < outputs; column++)
        params[4 * w + row * n + column] = next(gain / Math.sqrt(inputs));
    }
  }
}

/** Uniform weights and biases of a seed, at most 1 / sqrt(inputs): the start of PyTorch's `nn.Linear`. */
export function fillUniform(params: Float32Array, layers: readonly Layer[], seed: number | bigint): void {
  layers.forEach(({ inputs, outputs, n, w, b }, i) => {
    const uniform = uniforms(seed, i);
    const bound = 1 / Math.sqrt(inputs);
    for (let row = 0; row < inputs; row++)
      for (let column = 0; column < outputs; column++) params[4 * w + row * n + column] = bound * uniform();
    for (let column = 0; column < outputs; column++) params[4 * b + column] = bound * uniform();
  });
  fillNorms(params, layers);
}

/** Layer norms as they start: gains of 1, shifts of 0. */
function fillNorms(params: Float32Array, layers: readonly Layer[]): void {
  for (const { norm, outputs } of layers) if (norm !== undefined) params.fill(1, 4 * norm, 4 * norm + outputs);
}

/** Puts orthogonal weights of a seed into a parameter vector. */
function fillWeights(params: Float32Array, layers: readonly Layer[], seed: number | bigint): void {
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
