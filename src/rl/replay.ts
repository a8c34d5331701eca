// A replay of transitions: rows of a ring for each world, on the device, in the machine's memory or in a file
import { CorralError } from "../core/errors.ts";
import type { PhiloxKey } from "../core/rng.ts";
import type { DeviceCore } from "./device-core.ts";
import type { Sampler } from "./sampler.ts";
import { STEP, type SacShape } from "./sac-arenas.ts";

/** Rows that a return of n steps may start at: the number of the oldest, and how many from there on. */
export interface Starts {
  readonly first: number;
  readonly count: number;
}

/** Of rows `oldest` to `written - 1`. The newest n are no starts: the observation after them is not a row yet. */
export function startsOf(oldest: number, written: number, nSteps: number): Starts {
  return { first: oldest, count: Math.max(0, written - oldest - nSteps) };
}

/**
 * Where rows lie that are not on the device. Row `number` of a world, counted from 0, lies in slot `number % capacity`; a
 * row is `width` floats: observation, action, reward, flags.
 */
export interface RowStore {
  readonly capacity: number;
  readonly width: number;
  /** Every byte, in memory or on disk. */
  readonly bytes: number;
  /** Rows of every world so far, and the oldest that is there. */
  readonly written: number;
  readonly oldest: number;
  /** Writes the next rows of one world. Throws `disk-full` and what the file system throws. */
  write(world: number, values: Float32Array): void;
  /** Says that the next rows of all worlds are written. */
  advance(rows: number): void;
  /** Reads rows from one on. Throws `bad-replay` if what is there is not what was written. */
  read(world: number, number: number, into: Float32Array): void;
  /** What a run goes on from; and puts it back, saying what is gone of it. Throws `bad-snapshot`, `bad-replay`. */
  copy(): Record<string, Uint32Array<ArrayBuffer>>;
  put(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>): string | undefined;
  close(): void;
}

/** Control steps of all worlds that others made, [steps, numEnvs, ...] row-major; see `Collector`. */
export interface CollectedSteps {
  readonly steps: number;
  readonly numEnvs: number;
  readonly observations: Float32Array;
  /** In [-1, 1]. */
  readonly actions: Float32Array;
  readonly rewards: Float32Array;
  readonly flags: Float32Array;
  readonly episodes: {
    readonly count: number;
    readonly returns: number;
    readonly lengths: number;
    readonly badSteps?: number;
  };
}

/** What an algorithm asks of a replay, wherever it lies. */
export interface Replay {
  readonly bytes: number;
  /** Takes the control steps that the device has just made. */
  append(steps: number): Promise<void>;
  /** Takes steps that others made. Throws `needs-host-replay` if rows lie on the device. */
  take(rows: CollectedSteps): void;
  starts(): Starts;
  /** Draws by another key from now on, where it draws itself. */
  drawBy(key: PhiloxKey): void;
  /** Prepares a batch; true if the device draws it itself. */
  prepare(draw: number): boolean;
  copy(): Record<string, Uint32Array<ArrayBuffer>>;
  /** Puts a copy back, `written` rows having been seen; says what is gone of it. */
  put(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>, written: number): string | undefined;
  close(): void;
}

/** Bits of a row's flags: twins of shaders/rl/common.wgsl. */
export const TERMINATED = 1;
export const TRUNCATED = 2;
export const SKIPPED = 4;

const RING = ["replay_obs", "replay_actions", "replay_steps"] as const;

/** The error of steps that come from the host for a replay on the device. */
export const needsHostReplay = (): CorralError =>
  new CorralError(
    "needs-host-replay",
    'steps that were collected on the CPU go into a replay on the host. Pass storage: "host" or "file".',
  );

/** All rows on the device, where kernels write them and draw from them. */
export class DeviceReplay implements Replay {
  readonly bytes: number;
  readonly #capacity: number;
  readonly #nSteps: number;
  #written = 0;

  constructor(core: DeviceCore, { capacity }: SacShape, nSteps: number) {
    this.bytes = RING.reduce((sum, arena) => sum + core.buffer(arena).size, 0);
    this.#capacity = capacity;
    this.#nSteps = nSteps;
  }

  append(steps: number): Promise<void> {
    this.#written += steps;
    return Promise.resolve();
  }

  take(): never {
    throw needsHostReplay();
  }

  starts(): Starts {
    return startsOf(Math.max(0, this.#written - this.#capacity), this.#written, this.#nSteps);
  }

  drawBy(): void {}

  prepare(): boolean {
    return true;
  }

  copy(): Record<string, never> {
    return {};
  }

  put(_copies: unknown, written: number): undefined {
    this.#written = written;
  }

  close(): void {}
}

/** Rows in a store of the host: the device has those of the last update, and gets its batches written. */
export class HostReplay implements Replay {
  readonly #core: DeviceCore;
  readonly #shape: SacShape;
  readonly #store: RowStore;
  readonly #sampler: Sampler;
  readonly #window: readonly { readonly arena: string; readonly into: Float32Array<ArrayBuffer> }[];
  #rows: Float32Array;
  readonly #batch: Float32Array<ArrayBuffer>;

  constructor(core: DeviceCore, shape: SacShape, store: RowStore, sampler: Sampler) {
    const { window, env, obs4, actions4, batch, row4 } = shape;
    this.#core = core;
    this.#shape = shape;
    this.#store = store;
    this.#sampler = sampler;
    const rows = env.numEnvs * window;
    this.#window = RING.map((arena, i) => ({
      arena,
      into: new Float32Array(rows * [4 * obs4, 4 * actions4, STEP][i]),
    }));
    this.#rows = new Float32Array(window * store.width);
    this.#batch = new Float32Array(batch * 4 * row4);
  }

  get bytes(): number {
    return this.#store.bytes;
  }

  async append(steps: number): Promise<void> {
    const { window, env, obs4, actions4 } = this.#shape;
    if (steps !== window) throw new CorralError("internal", `${steps} rows are not the ${window} of the window.`);
    await this.#core.readAll(this.#window);
    if (this.#rows.length !== window * this.#store.width) this.#rows = new Float32Array(window * this.#store.width);
    const [obs, actions, told] = this.#window.map(({ into }) => into);
    const { width } = this.#store;
    for (let world = 0; world < env.numEnvs; world++) {
      for (let i = 0; i < window; i++) {
        const from = world * window + i;
        const to = i * width;
        this.#rows.set(obs.subarray(from * 4 * obs4, from * 4 * obs4 + env.observations), to);
        this.#rows.set(actions.subarray(from * 4 * actions4, from * 4 * actions4 + env.actions), to + env.observations);
        this.#rows.set(told.subarray(from * STEP, (from + 1) * STEP), to + width - STEP);
      }
      this.#store.write(world, this.#rows);
    }
    this.#store.advance(steps);
  }

  take({ steps, numEnvs, observations, actions, rewards, flags }: CollectedSteps): void {
    const { observations: nobs, actions: nact } = this.#shape.env;
    const { width } = this.#store;
    if (this.#rows.length !== steps * width) this.#rows = new Float32Array(steps * width);
    for (let world = 0; world < numEnvs; world++) {
      for (let t = 0; t < steps; t++) {
        const from = t * numEnvs + world;
        const to = t * width;
        this.#rows.set(observations.subarray(from * nobs, (from + 1) * nobs), to);
        this.#rows.set(actions.subarray(from * nact, (from + 1) * nact), to + nobs);
        this.#rows[to + nobs + nact] = rewards[from];
        this.#rows[to + nobs + nact + 1] = flags[from];
      }
      this.#store.write(world, this.#rows);
    }
    this.#store.advance(steps);
  }

  starts(): Starts {
    return startsOf(this.#store.oldest, this.#store.written, this.#sampler.nSteps);
  }

  drawBy(key: PhiloxKey): void {
    this.#sampler.key = key;
  }

  prepare(draw: number): boolean {
    this.#sampler.fill(draw, this.#store, this.starts(), this.#batch);
    this.#core.write("batch", this.#batch);
    return false;
  }

  copy(): Record<string, Uint32Array<ArrayBuffer>> {
    return this.#store.copy();
  }

  put(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>): string | undefined {
    return this.#store.put(copies);
  }

  close(): void {
    this.#store.close();
  }
}
