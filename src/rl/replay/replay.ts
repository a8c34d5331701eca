// a replay of transitions: rows of a ring for each world, on the device, in the machine's memory or in a file
import { CorralError } from "../../core/errors.ts";
import type { PhiloxKey } from "../../core/rng.ts";
import type { DeviceCore } from "../device/device-core.ts";
import type { EnvShape } from "../device/env-shape.ts";
import { startsOf, type CollectedSteps, type RowStore, type Starts } from "./row-store.ts";
import type { Sampler } from "./sampler.ts";
import { REPLAY_STEP } from "../tables/device-tables.ts";

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

/** Sizes of a replay, of its rows and of a batch: vec4s as the learner has them. */
export interface ReplayShape {
  readonly env: Pick<EnvShape, "id" | "numEnvs" | "observations" | "actions">;
  /** Rows of each world, and how many of them lie on the device. */
  readonly capacity: number;
  readonly window: number;
  readonly batch: number;
  readonly obs4: number;
  readonly actions4: number;
  readonly row4: number;
}

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

  constructor(core: DeviceCore, { capacity }: ReplayShape, nSteps: number) {
    this.bytes = RING.reduce((sum, arena) => sum + 4 * core.words(arena), 0);
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
  readonly #shape: ReplayShape;
  readonly #store: RowStore;
  readonly #sampler: Sampler;
  readonly #window: readonly { readonly arena: string; readonly into: Float32Array<ArrayBuffer> }[];
  #rows: Float32Array;
  readonly #batch: Float32Array<ArrayBuffer>;

  constructor(core: DeviceCore, shape: ReplayShape, store: RowStore, sampler: Sampler) {
    const { window, env, obs4, actions4, batch, row4 } = shape;
    this.#core = core;
    this.#shape = shape;
    this.#store = store;
    this.#sampler = sampler;
    const rows = env.numEnvs * window;
    this.#window = RING.map((arena, i) => ({
      arena,
      into: new Float32Array(rows * [4 * obs4, 4 * actions4, REPLAY_STEP.size][i]),
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
    const [obs, actions, replaySteps] = this.#window.map(({ into }) => into);
    const { width } = this.#store;
    for (let world = 0; world < env.numEnvs; world++) {
      for (let i = 0; i < window; i++) {
        const from = world * window + i;
        const to = i * width;
        this.#rows.set(obs.subarray(from * 4 * obs4, from * 4 * obs4 + env.observations), to);
        this.#rows.set(actions.subarray(from * 4 * actions4, from * 4 * actions4 + env.actions), to + env.observations);
        this.#rows.set(
          replaySteps.subarray(from * REPLAY_STEP.size, (from + 1) * REPLAY_STEP.size),
          to + width - REPLAY_STEP.size,
        );
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
