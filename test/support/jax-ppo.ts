// PPO's loss written in jax-js, which differentiates it by itself: a second opinion on every gradient
import { defaultDevice, grad, init, nn, numpy as np } from "@jax-js/jax";
import { layersOf, type Layer } from "../../src/rl/networks/networks.ts";
import type { MadeCase } from "./learner-case.ts";

type Array = np.Array;
export type Params = Record<string, Array>;

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

/** Weights and biases without padding, by layer. */
export function unpackLayers(layers: readonly Layer[], params: Float32Array): Params {
  const packed: Params = {};
  for (const { name, inputs, outputs, n, w, b, norm } of layers) {
    const rows = globalThis.Array.from({ length: inputs }, (_, i) => [
      ...params.subarray(4 * w + i * n, 4 * w + i * n + outputs),
    ]);
    packed[`${name}.w`] = np.array(rows);
    const row = (at: number) => np.array([...params.subarray(4 * at, 4 * at + outputs)]);
    packed[`${name}.b`] = row(b);
    if (norm === undefined) continue;
    packed[`${name}.gain`] = row(norm);
    packed[`${name}.shift`] = row(norm + n / 4);
  }
  return packed;
}

/** Puts gradients if the kernels have them. */
export async function packLayers(layers: readonly Layer[], gradients: Params, into: Float32Array): Promise<void> {
  for (const { name, inputs, outputs, n, w, b, norm } of layers) {
    const weights = await gradients[`${name}.w`].data();
    for (let i = 0; i < inputs; i++) {
      for (let j = 0; j < outputs; j++) into[4 * w + i * n + j] = weights[i * outputs + j];
    }
    into.set(await gradients[`${name}.b`].data(), 4 * b);
    if (norm === undefined) continue;
    into.set(await gradients[`${name}.gain`].data(), 4 * norm);
    into.set(await gradients[`${name}.shift`].data(), 4 * norm + n);
  }
}

function unpack({ shape, params }: MadeCase): Params {
  const { nets } = shape;
  const packed = unpackLayers(layersOf(nets), params);
  if (nets.head?.embedding) {
    const { at, dims, features } = nets.head.embedding;
    const rows = globalThis.Array.from({ length: features }, (_, f) => {
      const row = 4 * at + f * nets.head!.blocks[0].k;
      return [...params.subarray(row, row + dims)];
    });
    packed.embedding = np.array(rows);
  }
  const { at, count } = nets.logStd;
  if (count > 0) packed.logStd = np.array([...params.subarray(4 * at, 4 * at + count)]);
  return packed;
}

export function forward(p: Params, layers: readonly Layer[], input: Array): Array {
  let x = input;
  for (const { name, activation, norm } of layers) {
    x = np.matmul(x, p[`${name}.w`].ref).add(p[`${name}.b`].ref);
    if (norm !== undefined) {
      x = nn.standardize(x, -1, { epsilon: 1e-5 });
      x = x.mul(p[`${name}.gain`].ref).add(p[`${name}.shift`].ref);
    }
    if (activation === "tanh") x = np.tanh(x);
    if (activation === "relu") x = nn.relu(x);
    if (activation === "elu") x = nn.elu(x);
    if (activation === "silu") x = nn.silu(x);
  }
  return x;
}

/** Policy or value network over samples that lie step by step. */
function network(
  p: Params,
  { nets, cells: sizes, env }: MadeCase["shape"],
  samples: MadeCase["samples"],
  net: 0 | 1,
): Array {
  const layers = net === 0 ? nets.policy : nets.value;
  const { from, size: width } = env.groups?.[net === 0 ? "policy" : "critic"] ?? { from: 0, size: env.observations };
  const obs = np.array(samples.map((s) => s.obs.slice(from, from + width)));
  if (!nets.cells || !sizes) return forward(p, layers, obs);
  const { ih, hh } = net === 0 ? nets.cells.policy : nets.cells.value;
  const at = layers.indexOf(ih);
  const below = forward(p, layers.slice(0, at + 1), obs);
  const count = samples.length / sizes.unroll;
  const start = np.array(samples.slice(0, count).map((s) => [...s.start![net]]));
  const states = alongCell(
    p,
    nets.cells,
    hh,
    below,
    start,
    samples.map(({ skipped }) => skipped),
  );
  return forward(p, layers.slice(at + 1), states);
}

/** What a cell puts out over rows that lie step by step, from a start on; it forgets after rows that say so. */
export function alongCell(
  p: Params,
  { kind, size }: Pick<NonNullable<MadeCase["shape"]["nets"]["cells"]>, "kind" | "size">,
  hh: Layer,
  below: Array,
  start: Array,
  resets: readonly boolean[],
): Array {
  const [count] = start.shape;
  let state = start;
  const states: Array[] = [];
  for (let t = 0; t < resets.length / count; t++) {
    const part = (x: Array, i: number) => x.ref.slice([], [i * size, (i + 1) * size]);
    const x = below.ref.slice([t * count, (t + 1) * count]);
    const h = forward(p, [hh], part(state, 0));
    const sum = (gate: number) => part(x, gate).add(part(h, gate));
    let next: Array;
    if (kind === "gru") {
      const [reset, update] = [nn.sigmoid(sum(0)), nn.sigmoid(sum(1))];
      const candidate = np.tanh(part(x, 2).add(reset.mul(part(h, 2))));
      next = candidate.ref.add(update.mul(state.sub(candidate)));
    } else {
      const [input, keep, output] = [sum(0), sum(1), sum(3)].map((x) => nn.sigmoid(x));
      const memory = keep.mul(part(state, 1)).add(input.mul(np.tanh(sum(2))));
      state.dispose();
      next = np.concatenate([output.mul(np.tanh(memory.ref)), memory], 1);
    }
    x.dispose();
    h.dispose();
    states.push(part(next, 0));
    const keeps = resets.slice(t * count, (t + 1) * count).map((reset) => [reset ? 0 : 1]);
    state = next.mul(np.array(keeps));
  }
  state.dispose();
  below.dispose();
  return np.concatenate(states, 0);
}

/** What a head in blocks makes of the policy's last layer. */
function logits(p: Params, { nets, env }: MadeCase["shape"], x: Array): Array {
  const { head } = nets;
  if (!head) return x;
  if (head.embedding) {
    const { features } = head.embedding;
    const known = globalThis.Array.from({ length: head.actions }, (_, a) => [
      ...env.features!.values.subarray(a * features, (a + 1) * features),
    ]);
    return np.matmul(x, np.matmul(np.array(known), p.embedding.ref).transpose());
  }
  const parts = head.blocks.map(({ name }) => np.matmul(x.ref, p[`${name}.w`].ref).add(p[`${name}.b`].ref));
  x.dispose();
  return np.concatenate(parts, 1);
}

/** The gradient of the summed loss, laid out as the kernels' parameters. */
export async function jaxGradient(made: MadeCase): Promise<Float32Array> {
  await init("cpu");
  defaultDevice("cpu");
  const { shape, config, scale, params } = made;
  const { nets, env, cells } = shape;
  // sequences side by side, step by step; without a memory one step of all
  const { unroll } = cells ?? { unroll: 1 };
  const samples = globalThis.Array.from({ length: unroll }, (_, t) =>
    made.samples.filter((_sample, s) => s % unroll === t),
  ).flat();
  const column = (of: (s: (typeof samples)[number]) => number) => np.array(samples.map(of));

  const loss = (p: Params): Array => {
    const out = logits(p, made.shape, network(p, made.shape, samples, 0));
    const value = network(p, made.shape, samples, 1).reshape([samples.length]);
    const counts = column((s) => (s.skipped ? 0 : 1));
    let logProb: Array = np.zeros([samples.length]);
    let entropy: Array = np.zeros([samples.length]);
    if (env.head === "gaussian") {
      const actions = np.array(samples.map((s) => [...s.action]));
      const z = actions.sub(out).mul(np.exp(p.logStd.ref.neg()));
      logProb = z.ref.mul(z).mul(-0.5).sub(p.logStd.ref).sub(HALF_LOG_2PI).sum(1);
      entropy = entropy.add(p.logStd.ref.add(0.5 + HALF_LOG_2PI).sum());
    } else {
      let at = 0;
      env.alternatives.forEach((count, d) => {
        const l = nn.logSoftmax(out.ref.slice([], [at, at + count]), -1);
        const chosen = samples.map((s) =>
          globalThis.Array.from({ length: count }, (_, a) => (a === s.action[d] ? 1 : 0)),
        );
        logProb = logProb.add(l.ref.mul(np.array(chosen)).sum(1));
        entropy = entropy.sub(np.exp(l.ref).mul(l).sum(1));
        at += count;
      });
      out.dispose();
    }
    const advantage = column((s) => (s.advantage - scale.mean) * scale.factor);
    const ratio = np.exp(logProb.sub(column((s) => s.logProb)));
    const bounded = np.clip(ratio.ref, 1 - config.clip, 1 + config.clip);
    const policyLoss = np.maximum(advantage.ref.neg().mul(ratio), advantage.neg().mul(bounded));

    const target = column((s) => s.target);
    const old = column((s) => s.value);
    const moved = value.ref.sub(old.ref);
    const limit = Math.min(1e30, config.valueClip);
    const near = old.add(np.clip(moved, -limit, limit)).sub(target.ref);
    const error = value.sub(target);
    const valueLoss = np.maximum(error.ref.mul(error), near.ref.mul(near)).mul(0.5);
    return policyLoss.add(valueLoss.mul(config.valueCoef)).sub(entropy.mul(config.entropyCoef)).mul(counts).sum();
  };

  const gradients = grad(loss)(unpack(made));
  const flat = new Float32Array(params.length);
  await packLayers(layersOf(nets), gradients, flat);
  if (nets.head?.embedding) {
    const { at, dims, features } = nets.head.embedding;
    const map = await gradients.embedding.data();
    for (let f = 0; f < features; f++) {
      flat.set(map.subarray(f * dims, (f + 1) * dims), 4 * at + f * nets.head.blocks[0].k);
    }
  }
  if (nets.logStd.count > 0) flat.set(await gradients.logStd.data(), 4 * nets.logStd.at);
  return flat;
}
