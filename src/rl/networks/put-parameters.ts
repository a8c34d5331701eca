// arrays by name put back where a learner has them: the inverse of `namedParameters` and `namedNormalizer`
import { floatsOf } from "../../core/float32.ts";
import { NORM, STATE } from "../tables/device-tables.ts";
import { layersOf, padTo, TILE, type Layer, type NamedArray, type Networks, type StreamedHead } from "./networks.ts";

/** Arrays by name, some of which may be missing. */
export type Named = Readonly<Record<string, NamedArray>>;

/**
 * Puts what is named into a parameter vector; what is not stays. `columns`: of each column of the observations that the
 * arrays are of, counted from 0, the one that it is here. Those that are none of them get weights of 0.
 */
export function putParameters(nets: Networks, params: Float32Array, named: Named, columns: readonly number[]): void {
  const seeing = [nets.policy[0], nets.value[0]];
  for (const layer of layersOf({ ...nets, head: undefined }))
    putLayer(layer, params, named, seeing.includes(layer) ? columns : undefined);
  if (nets.head) putHead(nets.head, params, named);
  const { log_std } = named;
  if (log_std) params.set(log_std.data, 4 * nets.logStd.at);
}

/** Between what the log standard deviations of a learner's actions are. */
interface LogStds {
  readonly minLogStd: number;
  readonly maxLogStd: number;
}

/** Brings log standard deviations between a learner's bounds: worlds act within them, and losses read what is here. */
export function boundLogStds({ logStd }: Networks, params: Float32Array, { minLogStd, maxLogStd }: LogStds): void {
  const own = params.subarray(4 * logStd.at, 4 * logStd.at + logStd.count);
  own.set(own.map((x) => Math.min(maxLogStd, Math.max(minLogStd, x))));
}

function putLayer(
  { name, inputs, outputs, n, w, b, norm }: Layer,
  params: Float32Array,
  named: Named,
  columns?: readonly number[],
) {
  const weight = named[`${name}.weight`];
  if (!weight) return;
  const rows = columns ?? Array.from({ length: inputs }, (_, i) => i);
  params.fill(0, 4 * w, 4 * w + inputs * n);
  for (let o = 0; o < outputs; o++)
    rows.forEach((row, i) => {
      params[4 * w + row * n + o] = weight.data[o * rows.length + i];
    });
  params.set(named[`${name}.bias`].data, 4 * b);
  if (norm === undefined) return;
  params.set(named[`${name}.norm.weight`].data, 4 * norm);
  params.set(named[`${name}.norm.bias`].data, 4 * norm + n);
}

/** Scores of many actions: blocks of a layer, or what their embeddings are made by. */
function putHead({ name, blocks, embedding }: StreamedHead, params: Float32Array, named: Named): void {
  if (embedding) {
    const rows = named["policy.embedding"]?.data;
    const { at, dims, features } = embedding;
    if (!rows) return;
    for (let f = 0; f < features; f++) params.set(rows.subarray(f * dims, (f + 1) * dims), 4 * at + f * blocks[0].k);
    return;
  }
  const [weight, bias] = [named[`${name}.weight`], named[`${name}.bias`]];
  if (!weight) return;
  let first = 0;
  for (const { inputs, outputs, n, w, b } of blocks) {
    for (let o = 0; o < outputs; o++) {
      for (let i = 0; i < inputs; i++) params[4 * w + i * n + o] = weight.data[(first + o) * inputs + i];
      params[4 * b + o] = bias.data[first + o];
    }
    first += outputs;
  }
}

/** The same of the normaliser, whose new columns have seen nothing yet. */
export function putNormalizer(
  observations: number,
  norm: Float32Array,
  named: Named,
  columns: readonly number[],
): void {
  const width = padTo(observations, TILE);
  const put = (row: number, valueOf: (i: number) => number) =>
    columns.forEach((column, i) => {
      norm[row * width + column] = valueOf(i);
    });
  put(NORM.mean, (i) => named["normalizer.mean"].data[i]);
  put(NORM.inverse_std, (i) => named["normalizer.inverse_std"].data[i]);
  put(NORM.variance, (i) => named["normalizer.variance"].data[i]);
  put(NORM.count, () => named["normalizer.count"].data[0]);
}

/** What scales rewards, of another learner's state into this one. */
export function takeRewardScale(learnt: Readonly<Record<string, Uint32Array>>, state: Float32Array): void {
  const [first, end] = [STATE.reward_mean, STATE.reward_scale + 1];
  state.set(floatsOf(learnt.state).subarray(first, end), first);
}
