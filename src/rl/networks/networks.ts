// multilayer perceptrons: where their numbers lie in the parameter vector and in memory, and their names
import { ACTIVATIONS, keepsArgument, type Activation, type HiddenActivation } from "./activations.ts";
import { NORM } from "../tables/device-tables.ts";

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
  /** Where gains and shifts [n] of its layer norm lie, between x W + b and f; undefined if it has none. vec4s. */
  readonly norm?: number;
}

/** What hidden layers have in common. */
export interface HiddenForm {
  readonly activation: HiddenActivation;
  readonly layerNorm: boolean;
}

/** Logits of many actions, in blocks of columns: the policy's last layer, cut up. */
export interface StreamedHead {
  readonly name: string;
  readonly actions: number;
  /** Columns of a block; the last one may use fewer. */
  readonly width: number;
  /** A layer each, one behind the other: in the parameter vector, or in a buffer of embeddings. */
  readonly blocks: readonly Layer[];
  /** Where weights are embeddings of actions: what is known of each, times a matrix [features, dims] that is learned. */
  readonly embedding?: { readonly dims: number; readonly features: number; readonly at: number };
}

/** Recurrent cells: their gates, and parts of a state, of which a cell puts out the first. */
export const CELLS = { gru: { gates: 3, parts: 1 }, lstm: { gates: 4, parts: 2 } } as const;
export type CellKind = keyof typeof CELLS;
export const CELL_KINDS = Object.keys(CELLS) as CellKind[];

/** What the gates of a recurrent cell get from below, and from its state, in PyTorch's order. */
export interface Cell {
  readonly ih: Layer;
  readonly hh: Layer;
}

/** The parameter vector of a policy and a value function. Offsets and counts are vec4s. */
export interface Networks {
  /** Without the last layer if there is a `head`. */
  readonly policy: readonly Layer[];
  readonly value: readonly Layer[];
  readonly head?: StreamedHead | undefined;
  /** Recurrent cells before the last layers; `ih` is in `policy` and `value` too. */
  readonly cells?: { readonly kind: CellKind; readonly size: number; readonly policy: Cell; readonly value: Cell };
  /** Log standard deviations, if the policy is Gaussian. */
  readonly logStd: { readonly at: number; readonly count: number };
  readonly params4: number;
  /** Of these, what comes before the head. */
  readonly core4: number;
}

export interface NetworkOptions {
  readonly observations: number;
  /** Of the value function, if it sees others. */
  readonly valueObservations?: number;
  /** What the policy puts out: means, or logits. */
  readonly outputs: number;
  readonly hidden: readonly number[];
  readonly form: HiddenForm;
  /** Log standard deviations; 0 for policies that have none. */
  readonly logStds: number;
  /** A cell before the last layers, and the numbers that it puts out. */
  readonly recurrent?: { readonly kind: CellKind; readonly size: number };
  /** Outputs come in blocks of at most this many; or from embeddings of this many numbers, of actions with so many features. */
  readonly stream?: {
    readonly block: number;
    readonly embedding?: { readonly dims: number; readonly features: number };
  };
}

/** Most blocks of a head. */
const MAX_BLOCKS = 32;

/** Tiles of the kernels are 8 by 8. */
export const TILE = 8;
export const padTo = (n: number, unit: number): number => Math.ceil(n / unit) * unit;

export function layOutNetworks(options: NetworkOptions): Networks {
  const { observations, outputs, hidden, form, logStds, stream } = options;
  const embedding = stream?.embedding;
  const last = stream ? embedding?.dims : outputs;
  const shape = { observations, hidden, form, recurrent: options.recurrent };
  // small first actions, as in Andrychowicz et al. 2021
  const policy = layOutWhole("policy", shape, last, 0.01, 0);
  const seen = options.valueObservations ?? observations;
  const value = layOutWhole("value", { ...shape, observations: seen }, 1, 1, policy.end);
  const logStd = { at: value.end, count: logStds };
  const core4 = logStd.at + padTo(logStds, TILE) / 4;
  const cells = policy.cell && {
    cells: { ...options.recurrent!, policy: policy.cell, value: value.cell! },
  };
  const nets = { policy: policy.layers, value: value.layers, ...cells, logStd, params4: core4, core4 };
  if (!stream) return nets;

  const inputs = last ?? options.recurrent?.size ?? hidden.at(-1) ?? observations;
  const name = `policy.${hidden.length + (last === undefined ? 0 : 1)}`;
  const { head, end: params4 } = layOutBlocks(name, inputs, outputs, stream, core4);
  return { ...nets, head, params4 };
}

/** Scores of many actions in blocks, from a vec4 of the parameter vector on; and the vec4 after it. */
export function layOutBlocks(
  name: string,
  inputs: number,
  actions: number,
  { block, embedding }: NonNullable<NetworkOptions["stream"]>,
  at: number,
): { readonly head: StreamedHead; readonly end: number } {
  const k = padTo(inputs, TILE);
  const count = Math.min(MAX_BLOCKS, Math.ceil(actions / block));
  const width = padTo(Math.ceil(actions / count), TILE);
  const each4 = ((k + 1) * width) / 4;
  const blocks = Array.from({ length: Math.ceil(actions / width) }, (_, i): Layer => {
    const w = (embedding ? 0 : at) + i * each4;
    const own = Math.min(width, actions - i * width);
    const b = w + (k * width) / 4;
    return { name: `${name}[${i}]`, inputs, outputs: own, k, n: width, w, b, activation: "none", gain: 0.01 };
  });
  const head = { name, actions, width, blocks, ...(embedding && { embedding: { ...embedding, at } }) };
  return { head, end: at + (embedding ? (embedding.features * k) / 4 : blocks.length * each4) };
}

export interface WholeShape {
  readonly observations: number;
  readonly hidden: readonly number[];
  readonly form: HiddenForm;
  readonly recurrent: NetworkOptions["recurrent"];
}

/** Hidden layers, a recurrent cell if there is one, and a last layer if there is one. */
export function layOutWhole(
  name: string,
  shape: WholeShape,
  last: number | undefined,
  lastGain: number,
  start: number,
) {
  const { observations, hidden, form, recurrent } = shape;
  const widths = [observations, ...hidden];
  if (!recurrent) {
    const layers =
      last === undefined
        ? layOutNetwork(name, widths, form, Math.SQRT2, start, true)
        : layOutNetwork(name, [...widths, last], form, lastGain, start);
    return { layers, end: endOf(layers, start), cell: undefined };
  }
  const layers = layOutNetwork(name, widths, form, Math.SQRT2, start, true);
  const one = (part: string, inputs: number, outputs: number, gain: number, at: number): Layer => ({
    ...layOutNetwork(name, [inputs, outputs], form, gain, at)[0],
    name: `${name}.${part}`,
  });
  const { kind, size } = recurrent;
  const width = CELLS[kind].gates * size;
  const ih = one(`${kind}.ih`, widths.at(-1)!, width, 1, endOf(layers, start));
  const hh = one(`${kind}.hh`, size, width, 1, endOf([ih]));
  layers.push(ih);
  if (last !== undefined) layers.push(one(String(hidden.length), size, last, lastGain, endOf([hh])));
  return { layers, end: endOf([last === undefined ? hh : layers.at(-1)!]), cell: { ih, hh } };
}

/** vec4s of the buffer that embeddings of all actions take. */
export const embedding4 = ({ blocks, width }: StreamedHead): number => (blocks.length * (blocks[0].k + 1) * width) / 4;

/** The layers whose numbers lie in the parameter vector. */
export const layersOf = ({ policy, value, cells, head }: Networks): Layer[] => [
  ...policy,
  ...value,
  ...(cells ? [cells.policy.hh, cells.value.hh] : []),
  ...(head && !head.embedding ? head.blocks : []),
];

/** The layers of one network, from a vec4 of the parameter vector on. `lastIsHidden`: others come after the last one. */
export function layOutNetwork(
  name: string,
  widths: readonly number[],
  { activation, layerNorm }: HiddenForm,
  lastGain: number,
  start: number,
  lastIsHidden = false,
): Layer[] {
  let at = start;
  return widths.slice(1).map((width, i) => {
    const isLast = i === widths.length - 2;
    const isHidden = !isLast || lastIsHidden;
    const [k, n] = [padTo(widths[i], TILE), padTo(width, TILE)];
    const w = at;
    const b = w + (k * n) / 4;
    const norm = b + n / 4;
    const isNormed = isHidden && layerNorm;
    at = norm + (isNormed ? n / 2 : 0);
    return {
      name: `${name}.${i}`,
      inputs: widths[i],
      outputs: width,
      k,
      n,
      w,
      b,
      activation: isHidden ? activation : "none",
      gain: isLast ? lastGain : Math.SQRT2,
      ...(isNormed && { norm }),
    };
  });
}

/** The vec4 after the numbers of a layer. */
export const endOfLayer = ({ b, n, norm }: Layer): number => (norm === undefined ? b + n / 4 : norm + n / 2);

/** The vec4 after a network; `start` for one without layers. */
export function endOf(layers: readonly Layer[], start = 0): number {
  const last = layers.at(-1);
  return last ? endOfLayer(last) : start;
}

/** Where rows of a network lie in the learner's memory: its input, and the outputs of its layers. vec4s. */
export interface Rows {
  readonly x: number;
  readonly outputs: ReadonlyMap<Layer, number>;
  /** Of a recurrent cell: what its gates get from below, and what it puts out, which the next layer takes. */
  readonly cell?: { readonly below: number; readonly state: number };
}

/** Where the input of a layer lies. */
function inputOfLayer(layers: readonly Layer[], i: number, { x, outputs, cell }: Rows): number {
  if (i === 0) return x;
  const at = outputs.get(layers[i - 1])!;
  return at === cell?.below ? cell.state : at;
}

/**
 * vec4s that a row of a layer takes in the learner's memory: of all rows outputs, then what else is kept of them. With layer
 * norm that is what the activation takes, what the norm takes once it is normalised, and the factor that normalised it.
 */
export const row4Of = ({ n, activation, norm }: Layer): number =>
  norm === undefined ? (keepsArgument(activation) ? n / 2 : n / 4) : (3 * n) / 4 + 1;

/** The numbers of a layer's job, whose input lies at `x`. Where a layer norm follows, the activation is the norm's. */
export const layerJob = ({ k, w, b, n, activation, norm }: Layer, x: number, y: number) => ({
  x,
  k4: k / 4,
  w,
  b,
  y,
  n4: n / 4,
  activation: norm === undefined ? ACTIVATIONS[activation].code : 0,
  mode: 0,
});

/** The same in a network whose rows lie so. */
export const jobOfLayer = (layers: readonly Layer[], i: number, rows: Rows) =>
  layerJob(layers[i], inputOfLayer(layers, i, rows), rows.outputs.get(layers[i])!);

/** Numbers with a name and a shape, row-major. */
export interface NamedArray {
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
}

/** Shapes of arrays, by name. */
export const shapesOf = (named: Readonly<Record<string, NamedArray>>): Readonly<Record<string, readonly number[]>> =>
  Object.fromEntries(Object.entries(named).map(([name, { shape }]) => [name, shape]));

/**
 * The parameters by name, without padding, in the order and shapes of PyTorch: `policy.0.weight` [outputs, inputs],
 * `policy.0.bias` [outputs], `value.0.weight`, ..., with layer norm `policy.0.norm.weight` and `policy.0.norm.bias` [outputs],
 * and `log_std` [actions] of Gaussian policies.
 */
export function namedParameters(nets: Networks, params: Float32Array): Record<string, NamedArray> {
  const named = namedLayers(layersOf({ ...nets, head: undefined }), params);
  if (nets.head) Object.assign(named, namedHead("policy", nets.head, params));
  const { at, count } = nets.logStd;
  if (count > 0) named.log_std = { shape: [count], data: params.slice(4 * at, 4 * at + count) };
  return named;
}

/** Weights [outputs, inputs] and biases of layers by name, and those of their layer norms. */
export function namedLayers(layers: readonly Layer[], params: Float32Array): Record<string, NamedArray> {
  const named: Record<string, NamedArray> = {};
  for (const { name, inputs, outputs, n, w, b, norm } of layers) {
    const row = (at: number): NamedArray => ({ shape: [outputs], data: params.slice(4 * at, 4 * at + outputs) });
    const weight = new Float32Array(outputs * inputs);
    for (let o = 0; o < outputs; o++)
      for (let i = 0; i < inputs; i++) weight[o * inputs + i] = params[4 * w + i * n + o];
    named[`${name}.weight`] = { shape: [outputs, inputs], data: weight };
    named[`${name}.bias`] = row(b);
    if (norm === undefined) continue;
    named[`${name}.norm.weight`] = row(norm);
    named[`${name}.norm.bias`] = row(norm + n / 4);
  }
  return named;
}

/** The numbers of a head by name: those of a layer, or the map of embeddings. */
export function namedHead(of: string, head: StreamedHead, params: Float32Array): Record<string, NamedArray> {
  if (!head.embedding) return joinBlocks(head, params);
  const { at, dims, features } = head.embedding;
  const { k } = head.blocks[0];
  const rows = Array.from({ length: features }, (_, f) => [...params.subarray(4 * at + f * k, 4 * at + f * k + dims)]);
  return { [`${of}.embedding`]: { shape: [features, dims], data: Float32Array.from(rows.flat()) } };
}

/** Rows of one layer over many blocks: [outputs, inputs]. */
function joinBlocks({ name, actions, blocks }: StreamedHead, params: ArrayLike<number>): Record<string, NamedArray> {
  const { inputs } = blocks[0];
  const weight = new Float32Array(actions * inputs);
  const bias = new Float32Array(actions);
  let first = 0;
  for (const { outputs, n, w, b } of blocks) {
    for (let o = 0; o < outputs; o++) {
      for (let i = 0; i < inputs; i++) weight[(first + o) * inputs + i] = params[4 * w + i * n + o];
      bias[first + o] = params[4 * b + o];
    }
    first += outputs;
  }
  return {
    [`${name}.weight`]: { shape: [actions, inputs], data: weight },
    [`${name}.bias`]: { shape: [actions], data: bias },
  };
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
    "normalizer.mean": row(NORM.mean),
    "normalizer.inverse_std": row(NORM.inverse_std),
    "normalizer.variance": row(NORM.variance),
    "normalizer.count": row(NORM.count, 1),
  };
}
