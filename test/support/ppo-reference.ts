// PPO's loss in plain float64, sample by sample, from the formulas of the paper: what the kernels' gradients are checked against
import type { LearnerShape } from "../../src/rl/ppo/arenas.ts";
import type { PpoConfig } from "../../src/rl/ppo/config.ts";
import type { Layer } from "../../src/rl/networks/networks.ts";

/** One sample of a rollout. */
export interface RefSample {
  readonly obs: readonly number[];
  readonly action: readonly number[];
  readonly logProb: number;
  readonly value: number;
  readonly skipped: boolean;
  readonly advantage: number;
  readonly target: number;
  /** The states of policy and value that a sequence began with, at its first sample. */
  readonly start?: readonly [readonly number[], readonly number[]] | undefined;
}

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

/** From the papers' formulas, not from the kernels' table. */
export function bend(v: number, activation: Layer["activation"]): number {
  if (activation === "tanh") return Math.tanh(v);
  if (activation === "relu") return Math.max(0, v);
  if (activation === "elu") return v > 0 ? v : Math.exp(v) - 1;
  return activation === "silu" ? v / (1 + Math.exp(-v)) : v;
}

/** Mean 0 and variance 1, as the documentation of PyTorch's `LayerNorm` says. */
export function standardised(y: readonly number[]): number[] {
  const mean = y.reduce((sum, v) => sum + v, 0) / y.length;
  const variance = y.reduce((sum, v) => sum + (v - mean) ** 2, 0) / y.length;
  return y.map((v) => (v - mean) / Math.sqrt(variance + 1e-5));
}

/** Marks the parameters of a layer that are no padding. */
export function markLayer(used: Uint8Array, { inputs, n, outputs, w, b, norm }: Layer): void {
  for (let i = 0; i < inputs; i++) used.fill(1, 4 * w + i * n, 4 * w + i * n + outputs);
  const rows = norm === undefined ? [b] : [b, norm, norm + n / 4];
  for (const at of rows) used.fill(1, 4 * at, 4 * at + outputs);
}

export function mlp(params: ArrayLike<number>, layers: readonly Layer[], input: readonly number[]): number[] {
  let x = [...input];
  for (const { inputs, outputs, n, w, b, activation, norm } of layers) {
    const y = Array.from({ length: outputs }, (_, j) => params[4 * b + j]);
    for (let i = 0; i < inputs; i++) for (let j = 0; j < outputs; j++) y[j] += x[i] * params[4 * w + i * n + j];
    const [gain, shift] = [4 * (norm ?? 0), 4 * (norm ?? 0) + n];
    const normed = norm === undefined ? y : standardised(y).map((v, j) => v * params[gain + j] + params[shift + j]);
    x = normed.map((v) => bend(v, activation));
  }
  return x;
}

type Input = Pick<RefSample, "obs" | "skipped" | "start">;

/** What policy and value put out for each sample; samples are in order, world by world and step by step. */
export function outputsOf(shape: LearnerShape, params: ArrayLike<number>, samples: readonly Input[]) {
  const { cells, policy, value } = shape.nets;
  const network = (layers: readonly Layer[], net: 0 | 1): number[][] => {
    const group = shape.env.groups?.[net === 0 ? "policy" : "critic"];
    const seen = ({ obs }: Input) => (group ? obs.slice(group.from, group.from + group.size) : obs);
    if (!cells) return samples.map((sample) => mlp(params, layers, seen(sample)));
    const { ih, hh } = net === 0 ? cells.policy : cells.value;
    const [below, above] = [layers.slice(0, layers.indexOf(ih) + 1), layers.slice(layers.indexOf(ih) + 1)];
    let state: number[] = [];
    return samples.map((sample) => {
      const { skipped, start } = sample;
      if (start) state = [...start[net]];
      const shown = state.slice(0, cells.size);
      state = NEXT_STATE[cells.kind](mlp(params, below, seen(sample)), mlp(params, [hh], shown), state);
      const out = mlp(params, above, state.slice(0, cells.size));
      if (skipped) state = state.map(() => 0);
      return out;
    });
  };
  const values = network(value, 1);
  return network(policy, 0).map((out, i) => ({ out: throughHead(shape, params, out), value: values[i][0] }));
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** A gated recurrent unit, as PyTorch's documentation defines it. */
function gru(below: readonly number[], gates: readonly number[], state: readonly number[]): number[] {
  const size = state.length;
  return state.map((h, i) => {
    const reset = sigmoid(below[i] + gates[i]);
    const update = sigmoid(below[size + i] + gates[size + i]);
    const candidate = Math.tanh(below[2 * size + i] + reset * gates[2 * size + i]);
    return (1 - update) * candidate + update * h;
  });
}

/** Long short-term memory, as PyTorch's documentation defines it: what it puts out, then what it keeps. */
function lstm(below: readonly number[], gates: readonly number[], state: readonly number[]): number[] {
  const size = state.length / 2;
  const sum = (gate: number, i: number) => below[gate * size + i] + gates[gate * size + i];
  const memory = state.slice(size).map((c, i) => sigmoid(sum(1, i)) * c + sigmoid(sum(0, i)) * Math.tanh(sum(2, i)));
  return [...memory.map((c, i) => sigmoid(sum(3, i)) * Math.tanh(c)), ...memory];
}

export const NEXT_STATE = { gru, lstm };

/** A head in blocks, if there is one. */
function throughHead({ nets, env }: LearnerShape, params: ArrayLike<number>, x: number[]): number[] {
  const { head } = nets;
  if (!head) return x;
  if (!head.embedding) return head.blocks.flatMap((block) => mlp(params, [block], x));
  const { at, dims, features } = head.embedding;
  const map = (f: number, d: number) => params[4 * at + f * head.blocks[0].k + d];
  const known = env.features!.values;
  return Array.from({ length: head.actions }, (_, a) => {
    let logit = 0;
    for (let d = 0; d < dims; d++) {
      for (let f = 0; f < features; f++) logit += x[d] * map(f, d) * known[a * features + f];
    }
    return logit;
  });
}

export function logSoftmax(logits: readonly number[]): number[] {
  const best = Math.max(...logits);
  const total = Math.log(logits.reduce((sum, l) => sum + Math.exp(l - best), 0));
  return logits.map((l) => l - best - total);
}

/** Log probability of an action, and entropy. */
export function distribution(
  shape: LearnerShape,
  params: ArrayLike<number>,
  out: readonly number[],
  action: readonly number[],
) {
  let logProb = 0;
  let entropy = 0;
  if (shape.env.head === "gaussian") {
    out.forEach((mean, i) => {
      const logStd = params[4 * shape.nets.logStd.at + i];
      const z = (action[i] - mean) / Math.exp(logStd);
      logProb += -0.5 * z * z - logStd - HALF_LOG_2PI;
      entropy += logStd + 0.5 + HALF_LOG_2PI;
    });
    return { logProb, entropy };
  }
  let at = 0;
  shape.env.alternatives.forEach((count, d) => {
    const l = logSoftmax(out.slice(at, at + count));
    logProb += l[action[d]];
    entropy -= l.reduce((sum, x) => sum + Math.exp(x) * x, 0);
    at += count;
  });
  return { logProb, entropy };
}

/** The sum over samples of everything PPO minimises, and its parts. */
export function ppoLoss(
  shape: LearnerShape,
  config: PpoConfig,
  scale: { readonly mean: number; readonly factor: number },
  params: ArrayLike<number>,
  samples: readonly RefSample[],
) {
  const sums = { count: 0, policy: 0, value: 0, entropy: 0, kl: 0, clipped: 0 };
  const outputs = outputsOf(shape, params, samples);
  for (const [i, s] of samples.entries()) {
    if (s.skipped) continue;
    const { out, value } = outputs[i];
    const { logProb, entropy } = distribution(shape, params, out, s.action);
    const advantage = (s.advantage - scale.mean) * scale.factor;
    const ratio = Math.exp(logProb - s.logProb);
    const bounded = Math.min(1 + config.clip, Math.max(1 - config.clip, ratio));
    const near = s.value + Math.min(config.valueClip, Math.max(-config.valueClip, value - s.value));
    sums.count++;
    sums.policy += Math.max(-advantage * ratio, -advantage * bounded);
    sums.value += 0.5 * Math.max((value - s.target) ** 2, (near - s.target) ** 2);
    sums.entropy += entropy;
    sums.kl += ratio - 1 - Math.log(ratio);
    sums.clipped += bounded === ratio ? 0 : 1;
  }
  return { ...sums, total: sums.policy + config.valueCoef * sums.value - config.entropyCoef * sums.entropy };
}

/** The gradient of a function by central differences, if `isUsed` holds. */
export function differences(
  params: Float64Array,
  isUsed: (i: number) => boolean,
  f: (params: Float64Array) => number,
): Float64Array {
  const h = 1e-5;
  return params.map((_, i) => {
    if (!isUsed(i)) return 0;
    const at = (x: number) => f(params.with(i, x));
    return (at(params[i] + h) - at(params[i] - h)) / (2 * h);
  });
}
