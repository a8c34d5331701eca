// batches of a replay on the host: twin of shaders/rl/replay.wgsl, to the bit but for rounding of returns of several steps
import { integerFromBits, philox4x32, streams, type PhiloxKey } from "../../core/rng.ts";
import { NOTE, StepFlag } from "../tables/device-tables.ts";
import type { RowStore, Starts } from "./row-store.ts";

/** Draws until one starts at a row whose action did something. */
const TRIES = 32;

export interface SamplerOptions {
  readonly worlds: number;
  readonly batch: number;
  readonly observations: number;
  readonly actions: number;
  /** Floats of a sample, padding included, and of an observation and an action in it. */
  readonly rowFloats: number;
  readonly obsFloats: number;
  readonly actionFloats: number;
  readonly nSteps: number;
  readonly gamma: number;
  readonly key: PhiloxKey;
}

export class Sampler {
  readonly nSteps: number;
  key: PhiloxKey;
  readonly #options: SamplerOptions;
  readonly #words = new Uint32Array(4);
  #rows = new Float32Array(0);

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.nSteps = options.nSteps;
    this.key = options.key;
  }

  /** Fills a batch with observation, next observation, action, rewards, what the next value counts, and weight. */
  fill(draw: number, store: RowStore, starts: Starts, into: Float32Array): void {
    const { batch, observations, actions, rowFloats, obsFloats, actionFloats, nSteps } = this.#options;
    const { width } = store;
    if (this.#rows.length !== (nSteps + 1) * width) this.#rows = new Float32Array((nSteps + 1) * width);
    for (let row = 0; row < batch; row++) {
      const weight = this.#start(row, draw, store, starts);
      const { steps, total, discount } = this.#follow(width);
      const rows = this.#rows;
      const next = steps * width;
      const at = row * rowFloats;
      into.set(rows.subarray(0, observations), at);
      into.set(rows.subarray(next, next + observations), at + obsFloats);
      into.set(rows.subarray(observations, observations + actions), at + 2 * obsFloats);
      const notes = at + 2 * obsFloats + actionFloats;
      into[notes + NOTE.at("n_step_return")] = total;
      into[notes + NOTE.at("discount")] = discount;
      into[notes + NOTE.at("weight")] = weight;
    }
  }

  /** Reads rows from where a sample starts; its weight is 0 if every draw met a row that only reset its world. */
  #start(row: number, draw: number, store: RowStore, starts: Starts): number {
    const { worlds } = this.#options;
    for (let i = 0; i < TRIES; i++) {
      philox4x32([row, draw, streams.replay, i], this.key, this.#words);
      const world = integerFromBits(this.#words[0], worlds);
      const number = starts.first + integerFromBits(this.#words[1], starts.count);
      store.read(world, number, this.#rows);
      if ((this.#rows[store.width - 1] & StepFlag.skipped) === 0) return 1;
    }
    return 0;
  }

  /** Rewards up to the end of the episode, at most n, as float32. */
  #follow(width: number): { steps: number; total: number; discount: number } {
    const gamma = Math.fround(this.#options.gamma);
    let [total, discount, flags, steps] = [0, 1, 0, 0];
    while (steps < this.nSteps && flags === 0) {
      const end = (steps + 1) * width;
      total = Math.fround(discount * this.#rows[end - 2] + total);
      discount = Math.fround(discount * gamma);
      flags = this.#rows[end - 1];
      steps++;
    }
    return { steps, total, discount: flags & StepFlag.terminated ? 0 : discount };
  }
}
