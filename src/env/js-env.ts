// environments that step in the user's own JavaScript: what they must have, many worlds of one made into a vector, and their names
import { CorralError } from "../core/errors.ts";
import { checked } from "../core/options.ts";
import { RandomStream, seedKey, streams } from "../core/rng.ts";
import { integer } from "../core/schema.ts";
import { isRegistered } from "./registry.ts";
import type { Box, Space } from "./space/spaces.ts";

type Awaitable<T> = T | Promise<T>;

/** Numbers of all worlds, row-major, or one array for each world. */
export type Rows = ArrayLike<number> | readonly ArrayLike<number>[];

/** What a step of all worlds returns; each list has one entry a world. */
export interface JsVecStep {
  readonly observations: Rows;
  readonly rewards: ArrayLike<number>;
  readonly terminated: ArrayLike<number | boolean>;
  readonly truncated: ArrayLike<number | boolean>;
}

/**
 * Many worlds with the contract of `gymnasium.vector.VectorEnv`, autoreset "next-step": the step after a world's last one
 * ignores its action, starts its next episode and returns that one's first observation.
 */
export interface JsVec {
  /** Default: "JsVec". */
  readonly id?: string;
  readonly numEnvs: number;
  readonly singleObservationSpace: Box;
  readonly singleActionSpace: Space;
  /** Learners take "next-step", which is the default. */
  readonly autoreset?: "next-step";
  /** Steps after which its worlds truncate episodes. Default: Infinity. */
  readonly maxEpisodeSteps?: number;
  /** Names of the worlds in random draws. Default: 0, 1, ... */
  readonly worldIds?: readonly number[];
  /** Starts new episodes in all worlds. */
  reset(options?: { readonly seed?: number | bigint }): Awaitable<{ readonly observations: Rows }>;
  /** `actions`: [numEnvs, ...action], row-major. Its own array, overwritten by the next call. */
  step(actions: Float32Array | Int32Array): Awaitable<JsVecStep>;
  /** Plain data (what JSON holds) that the future depends on: a run can be resumed only with both. */
  save?(): unknown;
  load?(saved: unknown): void;
  close?(): Awaitable<void>;
}

/** The start of an episode. */
export interface JsStart {
  readonly world: number;
  /** Counts the world's episodes. */
  readonly episode: number;
  /** Draws of this seed, world and episode by their index: the same whatever other worlds do, and however often they are asked for. */
  readonly random: RandomStream;
}

export interface JsStep {
  readonly observation: ArrayLike<number>;
  readonly reward: number;
  readonly terminated?: boolean;
  readonly truncated?: boolean;
}

/** One world. */
export interface JsWorld {
  /** Starts an episode; returns its first observation. */
  reset(start: JsStart): ArrayLike<number>;
  /** `action` is valid during the call. */
  step(action: Float32Array | Int32Array): JsStep;
  /** Plain data (what JSON holds) that the world's future depends on. */
  save?(): unknown;
  load?(saved: unknown): void;
}

/** An environment by what makes one of its worlds. */
export interface JsEnv {
  readonly id: string;
  readonly observationSpace: Box;
  readonly actionSpace: Space;
  /** Steps after which an episode is truncated. Default: Infinity. */
  readonly maxEpisodeSteps?: number;
  makeWorld(world: number): JsWorld;
}

const jsEnvs = new Map<string, JsEnv>();

/** Whether something is what `defineJsEnv` takes. */
export const isJsEnv = (value: unknown): value is JsEnv =>
  typeof (value as Partial<JsEnv> | null | undefined)?.makeWorld === "function";

/**
 * Makes an environment known by its id, for collectors in threads. The same one again does nothing.
 * @throws CorralError bad-env, duplicate-env for another environment of a known id
 */
export function defineJsEnv<E extends JsEnv>(env: E): E {
  if (!isJsEnv(env) || typeof env.id !== "string" || env.id === "")
    throw new CorralError("bad-env", "an environment in JavaScript has an id, its spaces and makeWorld(world).");
  const known = jsEnvs.get(env.id);
  if ((known && known !== env) || isRegistered(env.id)) {
    throw new CorralError("duplicate-env", `an environment ${env.id} is there already. Give this one another id.`, {
      id: env.id,
    });
  }
  jsEnvs.set(env.id, env);
  return env;
}

/** The environment of an id, if one in JavaScript has it. */
export const jsEnvOf = (id: string): JsEnv | undefined => jsEnvs.get(id);

export interface JsVecOptions {
  readonly numEnvs: number;
  /** Of start states. Default 0. */
  readonly seed?: number | bigint;
  /** Default: 0 to numEnvs - 1. */
  readonly worldIds?: readonly number[];
}

/**
 * Many worlds of an environment, stepped one after another in this thread: time limit, autoreset and draws are made here.
 * @throws CorralError bad-option, bad-seed, unknown-env
 */
export function makeJsVec(env: JsEnv | string, options: JsVecOptions): JsVec {
  const found = typeof env === "string" ? jsEnvOf(env) : env;
  if (!found)
    throw new CorralError(
      "unknown-env",
      `no environment in JavaScript is called "${typeof env === "string" ? env : "undefined"}". Import the module that defines it.`,
    );
  return new WorldsInTurn(found, options);
}

interface Run {
  episode: number;
  length: number;
  over: boolean;
}

class WorldsInTurn implements JsVec {
  readonly id: string;
  readonly numEnvs: number;
  readonly singleObservationSpace: Box;
  readonly singleActionSpace: Space;
  readonly maxEpisodeSteps: number;
  readonly worldIds: readonly number[];
  readonly #worlds: readonly JsWorld[];
  readonly #runs: Run[];
  readonly save?: () => unknown;
  readonly load?: (saved: unknown) => void;
  #seed: number | bigint;

  constructor(env: JsEnv, { numEnvs, seed = 0, worldIds }: JsVecOptions) {
    checked("numEnvs", integer(1), numEnvs);
    seedKey(seed);
    this.id = env.id;
    this.numEnvs = numEnvs;
    this.singleObservationSpace = env.observationSpace;
    this.singleActionSpace = env.actionSpace;
    this.maxEpisodeSteps = env.maxEpisodeSteps ?? Infinity;
    this.worldIds = worldIds ?? Array.from({ length: numEnvs }, (_, i) => i);
    this.#worlds = this.worldIds.map((world) => env.makeWorld(world));
    this.#runs = this.worldIds.map(() => ({ episode: -1, length: 0, over: false }));
    this.#seed = seed;
    if (!this.#worlds.every(({ save, load }) => save && load)) return;
    this.save = () => ({
      seed: String(this.#seed),
      runs: this.#runs.map((run) => ({ ...run })),
      worlds: this.#worlds.map((world) => world.save!()),
    });
    this.load = (saved) => {
      const { seed: was, runs, worlds } = saved as { seed: string; runs: Run[]; worlds: unknown[] };
      this.#seed = BigInt(was);
      runs.forEach((run, i) => Object.assign(this.#runs[i], run));
      worlds.forEach((world, i) => this.#worlds[i].load!(world));
    };
  }

  #start(i: number): ArrayLike<number> {
    const [world, run] = [this.worldIds[i], this.#runs[i]];
    const episode = run.episode + 1;
    Object.assign(run, { episode, length: 0, over: false });
    return this.#worlds[i].reset({
      world,
      episode,
      random: new RandomStream(this.#seed, world, episode, streams.user),
    });
  }

  reset({ seed }: { readonly seed?: number | bigint } = {}): { readonly observations: Rows } {
    if (seed !== undefined) {
      seedKey(seed);
      this.#seed = seed;
      for (const run of this.#runs) run.episode = -1;
    }
    return { observations: this.#worlds.map((_, i) => this.#start(i)) };
  }

  step(actions: Float32Array | Int32Array): JsVecStep {
    const { size } = this.singleActionSpace;
    const steps = this.#worlds.map((world, i): Required<JsStep> => {
      const run = this.#runs[i];
      if (run.over) return { observation: this.#start(i), reward: 0, terminated: false, truncated: false };
      const { terminated = false, ...step } = world.step(actions.subarray(i * size, (i + 1) * size));
      run.length++;
      const truncated = (step.truncated ?? false) || (!terminated && run.length >= this.maxEpisodeSteps);
      run.over = terminated || truncated;
      return { ...step, terminated, truncated };
    });
    return {
      observations: steps.map(({ observation }) => observation),
      rewards: steps.map(({ reward }) => reward),
      terminated: steps.map(({ terminated }) => terminated),
      truncated: steps.map(({ truncated }) => truncated),
    };
  }
}
