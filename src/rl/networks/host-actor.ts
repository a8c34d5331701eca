// a squashed Gaussian policy on the CPU: what act_squashed.wgsl draws, with the same numbers but for rounding
import { normalsFromBits, philox4x32, streams, uniformFromBits, type PhiloxKey } from "../../core/rng.ts";
import { ACTIVATIONS } from "./activations.ts";
import { normalise } from "./layer-norm.ts";
import { endOfLayer, type Layer } from "./networks.ts";

/** A policy that acts on the CPU, by the parameters that its array has at the time. */
export interface HostPolicy {
  /**
   * Draws the action of a world: as it is kept into `kept`, as the environment takes it into `sent`, and its log
   * probability and value, where the policy has them, into `actorOutputs`. Uniform if `random` is true.
   */
  act(
    observation: ArrayLike<number>,
    world: number,
    draw: number,
    random: boolean,
    kept: Float32Array,
    sent: Float32Array | Int32Array,
    actorOutputs: Float32Array,
  ): void;
  /** What an observation is worth; 0 if the policy has no value function. */
  value(observation: ArrayLike<number>): number;
}

/** What stays the same while the parameters change; plain data, for worker threads. */
export interface SquashedSpec {
  readonly layers: readonly Layer[];
  readonly actions: number;
  /** Bounds of the actions that environments take. */
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly minLogStd: number;
  readonly maxLogStd: number;
}

/** Floats of the parameters: those of the layers, padding included, from the start of a parameter vector on. */
export function squashedFloats({ layers }: SquashedSpec): number {
  return 4 * Math.max(...layers.map(endOfLayer));
}

/** Two rows wide enough for any layer. */
export type TwoRows = readonly [Float64Array, Float64Array];

export function rowsFor(layers: readonly Layer[]): TwoRows {
  const width = Math.max(...layers.map(({ k, n }) => Math.max(k, n)));
  return [new Float64Array(width), new Float64Array(width)];
}

/** What layers put out for the input that lies in the first row. */
export function forward(layers: readonly Layer[], params: Float32Array, rows: TwoRows): Float64Array {
  let [x, y] = rows;
  for (const { inputs, outputs, n, w, b, activation, norm } of layers) {
    for (let j = 0; j < outputs; j++) y[j] = params[4 * b + j];
    for (let i = 0; i < inputs; i++) {
      const at = 4 * w + i * n;
      const input = x[i];
      for (let j = 0; j < outputs; j++) y[j] += input * params[at + j];
    }
    if (norm !== undefined) {
      const [gains, shifts] = [params.subarray(4 * norm), params.subarray(4 * norm + n)];
      normalise(y.subarray(0, outputs), gains, shifts);
    }
    const { onHost } = ACTIVATIONS[activation];
    for (let j = 0; j < outputs; j++) y[j] = onHost(y[j]);
    [x, y] = [y, x];
  }
  return x;
}

/** A squashed action, in [-1, 1], between the bounds that environments take. */
export const between = (low: number, high: number, squashed: number): number =>
  low + (high - low) * (0.5 + 0.5 * squashed);

/** The random numbers of actions, asked for in order: four come at once. */
export class ActionDraws {
  readonly #key: PhiloxKey;
  readonly #words = new Uint32Array(4);

  constructor(key: PhiloxKey) {
    this.#key = key;
  }

  #draw(world: number, draw: number, i: number): Uint32Array {
    if (i % 4 === 0) philox4x32([world, draw, streams.policy, i / 4], this.#key, this.#words);
    return this.#words;
  }

  normal(world: number, draw: number, i: number): number {
    const words = this.#draw(world, draw, i);
    const pair = i % 4 < 2 ? 0 : 2;
    return normalsFromBits(words[pair], words[pair + 1])[i % 2];
  }

  uniform(world: number, draw: number, i: number): number {
    return uniformFromBits(this.#draw(world, draw, i)[i % 4]);
  }
}

export class HostActor implements HostPolicy {
  readonly #spec: SquashedSpec;
  readonly #params: Float32Array;
  readonly #draws: ActionDraws;
  readonly #rows: TwoRows;

  /** Acts by the parameters that the array has at the time. */
  constructor(spec: SquashedSpec, params: Float32Array, key: PhiloxKey) {
    this.#spec = spec;
    this.#params = params;
    this.#draws = new ActionDraws(key);
    this.#rows = rowsFor(spec.layers);
  }

  /** Into `squashed` in [-1, 1], between its bounds into `sent`. */
  act(
    observation: ArrayLike<number>,
    world: number,
    draw: number,
    random: boolean,
    squashed: Float32Array,
    sent: Float32Array | Int32Array,
  ): void {
    const { actions, low, high, minLogStd, maxLogStd } = this.#spec;
    const [x] = this.#rows;
    for (let i = 0; i < observation.length; i++) x[i] = observation[i];
    const out = random ? undefined : forward(this.#spec.layers, this.#params, this.#rows);
    for (let i = 0; i < actions; i++) {
      let action: number;
      if (out) {
        const noise = this.#draws.normal(world, draw, i);
        const logStd = Math.min(maxLogStd, Math.max(minLogStd, out[actions + i]));
        action = Math.tanh(out[i] + Math.exp(logStd) * noise);
      } else action = 2 * this.#draws.uniform(world, draw, i) - 1;
      squashed[i] = action;
      sent[i] = between(low[i], high[i], squashed[i]);
    }
  }

  value(): number {
    return 0;
  }
}
