// a policy that is plain numbers, applied on the host: for pictures, plays and evaluations, not for training
import { CorralError } from "../../core/errors.ts";
import { show } from "../../core/show.ts";
import { assertWorld } from "../../memory/shards.ts";
import { ACTIVATIONS, sigmoid } from "./activations.ts";
import { normalise } from "./layer-norm.ts";
import type { Policy, PolicyCell, PolicyLayer } from "./policy.ts";

/** Worlds that are computed together, their numbers side by side: a weight is read once, and sums do not wait for each other. */
const LANES = 4;

/** W x + b of each lane, with W [outputs, inputs] row-major; x is [inputs, LANES]. */
function affine(weight: Float32Array, bias: Float32Array, x: Float64Array, out: Float64Array): void {
  const [inputs, outputs] = [weight.length / bias.length, bias.length];
  for (let row = 0, at = 0; row < outputs; row++) {
    let a = bias[row];
    let [b, c, d] = [a, a, a];
    for (let i = 0, k = 0; i < inputs; i++, k += LANES) {
      const w = weight[at++];
      a += w * x[k];
      b += w * x[k + 1];
      c += w * x[k + 2];
      d += w * x[k + 3];
    }
    const to = row * LANES;
    out[to] = a;
    out[to + 1] = b;
    out[to + 2] = c;
    out[to + 3] = d;
  }
}

function layer({ weight, bias, activation, norm }: PolicyLayer, x: Float64Array, out: Float64Array): Float64Array {
  affine(weight, bias, x, out);
  if (norm)
    for (let lane = 0; lane < LANES; lane++) {
      const row = Float64Array.from(bias, (_, i) => out[i * LANES + lane]);
      normalise(row, norm.weight, norm.bias);
      row.forEach((y, i) => (out[i * LANES + lane] = y));
    }
  const { onHost } = ACTIVATIONS[activation];
  if (activation !== "none") for (let i = 0; i < out.length; i++) out[i] = onHost(out[i]);
  return out;
}

/** Makes a cell's state [stateSize, LANES] the next one, gates in PyTorch's form. */
function recall(cell: PolicyCell, x: Float64Array, state: Float64Array, gates: readonly Float64Array[]): void {
  const { kind, inputWeight, inputBias, stateWeight, stateBias } = cell;
  const size = cell.size * LANES;
  const [a, b] = gates;
  affine(inputWeight, inputBias, x, a);
  affine(stateWeight, stateBias, state.subarray(0, size), b);
  for (let i = 0; i < size; i++) {
    const gate = (place: number) => a[place * size + i] + b[place * size + i];
    if (kind === "lstm") {
      const memory = sigmoid(gate(1)) * state[size + i] + sigmoid(gate(0)) * Math.tanh(gate(2));
      state[size + i] = memory;
      state[i] = sigmoid(gate(3)) * Math.tanh(memory);
    } else {
      const [reset, update] = [sigmoid(gate(0)), sigmoid(gate(1))];
      const candidate = Math.tanh(a[2 * size + i] + reset * b[2 * size + i]);
      state[i] = (1 - update) * candidate + update * state[i];
    }
  }
}

const lanes = (count: number) => new Float64Array(count * LANES);

/** Throws `bad-policy` for what `readPolicy` did not return. */
function assertPolicy(policy: unknown): asserts policy is Policy {
  const { layers, normalizer, head } = Object(policy) as Partial<Policy>;
  if (Array.isArray(layers) && layers.length > 0 && typeof normalizer === "object" && typeof head === "object") return;
  throw new CorralError("bad-policy", `the policy is ${show(policy)}; pass what readPolicy(bytes) returns.`);
}

/** The most likely actions of a policy in some worlds; one with a cell remembers them. */
export class AppliedPolicy {
  readonly #policy: Policy;
  readonly #worlds: number;
  /** Of each LANES worlds [stateSize, LANES]. */
  readonly #states: readonly Float64Array[];
  readonly #input: Float64Array;
  readonly #outputs: readonly Float64Array[];
  readonly #gates: readonly Float64Array[];

  /** @throws CorralError bad-policy, bad-num-envs */
  constructor(policy: Policy, worlds: number) {
    assertPolicy(policy);
    if (!Number.isInteger(worlds) || worlds < 1)
      throw new CorralError("bad-num-envs", `a policy acts in ${show(worlds)} worlds; pass their number, at least 1.`);
    const { cell, layers } = policy;
    this.#policy = policy;
    this.#worlds = worlds;
    this.#states = Array.from({ length: Math.ceil(worlds / LANES) }, () => lanes(cell?.stateSize ?? 0));
    this.#input = lanes(policy.observations);
    this.#outputs = layers.map(({ outputs }) => lanes(outputs));
    this.#gates = cell ? [lanes(cell.inputBias.length), lanes(cell.stateBias.length)] : [];
  }

  /** Forgets what it remembers of a world, whose episode is over. @throws CorralError bad-world */
  forget(world: number): void {
    assertWorld(world, this.#worlds);
    const state = this.#states[Math.floor(world / LANES)];
    for (let i = world % LANES; i < state.length; i += LANES) state[i] = 0;
  }

  /** The bits of what it remembers of all worlds; undefined of a policy without a cell. */
  get memory(): Uint32Array<ArrayBuffer> | undefined {
    if (!this.#policy.cell) return undefined;
    return new Uint32Array(Float64Array.from(this.#states.flatMap((state) => [...state])).buffer);
  }

  /** Puts such bits back; those of another policy, or of another count of worlds, are left out where their number tells. */
  remember(memory: Uint32Array): void {
    const bits = memory.slice();
    if (bits.length !== this.memory?.length) return;
    const values = new Float64Array(bits.buffer);
    this.#states.forEach((state, i) => state.set(values.subarray(i * state.length, (i + 1) * state.length)));
  }

  /**
   * Observations [worlds, width] to actions [worlds, ...]; what the policy sees comes first in each row.
   * @throws CorralError bad-shape
   */
  act(observations: ArrayLike<number>): number[] {
    const { length } = Object(observations) as { readonly length?: number };
    const width = Number(length) / this.#worlds;
    if (!Number.isInteger(width) || width < this.#policy.observations)
      throw new CorralError(
        "bad-shape",
        `observations ${length === undefined ? `are ${show(observations)}` : `have ${length} numbers`}; ${this.#policy.id} sees ${this.#policy.observations} numbers in each of ${this.#worlds} worlds. Pass those of an environment with as many, and the policy of that environment.`,
      );
    const { mean, inverseStd, clip } = this.#policy.normalizer;
    const actions: number[] = [];
    for (let first = 0; first < this.#worlds; first += LANES) {
      const count = Math.min(LANES, this.#worlds - first);
      for (let lane = 0; lane < count; lane++)
        for (let i = 0, at = (first + lane) * width; i < this.#policy.observations; i++) {
          const x = (observations[at + i] - mean[i]) * inverseStd[i];
          this.#input[i * LANES + lane] = Math.min(clip, Math.max(-clip, x));
        }
      const outputs = this.#through(this.#states[first / LANES]);
      for (let lane = 0; lane < count; lane++) this.#actionsOf(outputs, lane, actions);
    }
    return actions;
  }

  #through(state: Float64Array): Float64Array {
    const { layers, cell } = this.#policy;
    const last = layers.length - 1;
    let x = this.#input;
    for (let k = 0; k < last; k++) x = layer(layers[k], x, this.#outputs[k]);
    if (cell) {
      recall(cell, x, state, this.#gates);
      x = state.subarray(0, cell.size * LANES);
    }
    return layer(layers[last], x, this.#outputs[last]);
  }

  /** Appends the actions of a lane. */
  #actionsOf(outputs: Float64Array, lane: number, actions: number[]): void {
    const { head } = this.#policy;
    if (head.kind === "categorical") {
      let first = lane;
      for (const count of head.alternatives) {
        let best = 0;
        for (let i = 1; i < count; i++) if (outputs[first + i * LANES] > outputs[first + best * LANES]) best = i;
        actions.push(best + head.start);
        first += count * LANES;
      }
      return;
    }
    const { low, high, squash } = head;
    for (let i = 0; i < head.actions; i++) {
      const x = outputs[i * LANES + lane];
      if (squash) actions.push(low[i] + (high[i] - low[i]) * (0.5 + 0.5 * Math.tanh(x)));
      else actions.push(Math.min(high[i], Math.max(low[i], x)));
    }
  }
}
