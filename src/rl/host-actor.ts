// a squashed Gaussian policy on the CPU: what act_squashed.wgsl draws, with the same numbers but for rounding
import { normalsFromBits, philox4x32, streams, uniformFromBits, type PhiloxKey } from "../core/rng.ts";
import type { Layer } from "./networks.ts";

/** What stays the same while the parameters change; plain data, for worker threads. */
export interface ActorSpec {
  readonly layers: readonly Layer[];
  readonly actions: number;
  /** Bounds of the actions that environments take. */
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly minLogStd: number;
  readonly maxLogStd: number;
}

/** Floats of the parameters: those of the layers, padding included, from the start of a parameter vector on. */
export function actorFloats({ layers }: ActorSpec): number {
  return Math.max(...layers.map(({ b, n }) => 4 * b + n));
}

export class HostActor {
  readonly #spec: ActorSpec;
  readonly #params: Float32Array;
  readonly #key: PhiloxKey;
  readonly #words = new Uint32Array(4);
  readonly #rows: readonly [Float64Array, Float64Array];

  /** Acts by the parameters that the array has at the time. */
  constructor(spec: ActorSpec, params: Float32Array, key: PhiloxKey) {
    this.#spec = spec;
    this.#params = params;
    this.#key = key;
    const width = Math.max(...spec.layers.map(({ k, n }) => Math.max(k, n)));
    this.#rows = [new Float64Array(width), new Float64Array(width)];
  }

  #forward(observation: ArrayLike<number>): Float64Array {
    const params = this.#params;
    let [x, y] = this.#rows;
    for (let i = 0; i < observation.length; i++) x[i] = observation[i];
    for (const { inputs, outputs, n, w, b, activation } of this.#spec.layers) {
      for (let j = 0; j < outputs; j++) y[j] = params[4 * b + j];
      for (let i = 0; i < inputs; i++) {
        const at = 4 * w + i * n;
        const input = x[i];
        for (let j = 0; j < outputs; j++) y[j] += input * params[at + j];
      }
      if (activation === "tanh") for (let j = 0; j < outputs; j++) y[j] = Math.tanh(y[j]);
      if (activation === "relu") for (let j = 0; j < outputs; j++) y[j] = Math.max(0, y[j]);
      [x, y] = [y, x];
    }
    return x;
  }

  /**
   * Draws the action of a world: in [-1, 1] into `squashed`, and between its bounds into `sent`. Uniform where `random`
   * says so.
   */
  act(
    observation: ArrayLike<number>,
    world: number,
    draw: number,
    random: boolean,
    squashed: Float32Array,
    sent: Float32Array,
  ): void {
    const { actions, low, high, minLogStd, maxLogStd } = this.#spec;
    const out = random ? undefined : this.#forward(observation);
    for (let i = 0; i < actions; i++) {
      if (i % 4 === 0) philox4x32([world, draw, streams.policy, i / 4], this.#key, this.#words);
      let action: number;
      if (out) {
        const pair = i % 4 < 2 ? 0 : 2;
        const noise = normalsFromBits(this.#words[pair], this.#words[pair + 1])[i % 2];
        const logStd = minLogStd + 0.5 * (maxLogStd - minLogStd) * (Math.tanh(out[actions + i]) + 1);
        action = Math.tanh(out[i] + Math.exp(logStd) * noise);
      } else action = 2 * uniformFromBits(this.#words[i % 4]) - 1;
      squashed[i] = action;
      sent[i] = low[i] + (high[i] - low[i]) * (0.5 + 0.5 * squashed[i]);
    }
  }
}
