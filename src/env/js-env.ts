// environments that step in the user's own JavaScript: what they must have, many worlds of one made into a vector, and their names
import { CorralError } from "../core/errors.ts";
import { alternatives } from "../core/names.ts";
import { badOption, checked, fillIn, kindOf, optionsOf, unknownOption, type OptionTable } from "../core/options.ts";
import { RandomStream, seedKey, streams } from "../core/rng.ts";
import { integer, unchecked } from "../core/schema.ts";
import { show } from "../core/show.ts";
import { checkWorldIds, VEC_OPTIONS } from "./host/options.ts";
import { CheckedWorld, type JsStep, type JsWorld } from "./js-world.ts";
import { isRegistered } from "./registry.ts";
import { BatchedSpace } from "./space/batched-space.ts";
import type { Box, Space } from "./space/spaces.ts";
import { isPlainObject } from "./task/term-value.ts";

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

/** Worlds are objects of JavaScript, stepped one after another: more fill the heap. */
const MOST_WORLDS = 2 ** 20;

const FIELDS = [
  "id",
  "observationSpace",
  "actionSpace",
  "maxEpisodeSteps",
  "makeWorld",
] as const satisfies (keyof JsEnv)[];

const OPTIONS = {
  numEnvs: { kind: integer(1, MOST_WORLDS), doc: "worlds; has to be given", code: "bad-num-envs" },
  seed: { default: 0, kind: unchecked<number | bigint>("a seed"), doc: "of start states" },
  worldIds: { kind: unchecked<readonly number[]>("ids"), doc: "by default 0 to numEnvs - 1" },
} as const satisfies OptionTable;

/** Whether something is what `defineJsEnv` takes. */
export const isJsEnv = (value: unknown): value is JsEnv =>
  typeof (value as Partial<JsEnv> | null | undefined)?.makeWorld === "function";

/** Throws `bad-env`, `bad-option`, or `unknown-option` for what is no environment; fields that a class adds are its own. */
function checkEnv(env: JsEnv): void {
  if (!isJsEnv(env) || typeof env.id !== "string" || env.id === "")
    throw new CorralError("bad-env", "an environment in JavaScript has an id, its spaces and makeWorld(world).");
  const { id, observationSpace, actionSpace, maxEpisodeSteps } = env;
  const other = isPlainObject(env)
    ? Object.keys(env).find((name) => !(FIELDS as readonly string[]).includes(name))
    : undefined;
  if (other !== undefined) throw unknownOption(id, other, FIELDS);
  const bad = (name: string, value: unknown, want: string) =>
    new CorralError("bad-env", `${name} of ${id} is ${show(value)}; pass ${want}.`, { id, name });
  if (!isSpace(observationSpace) || observationSpace.kind !== "box")
    throw bad("observationSpace", observationSpace, "a Box, such as new Box({ low: -1, high: 1, shape: [3] })");
  if (!isSpace(actionSpace))
    throw bad("actionSpace", actionSpace, "a Box, Discrete or MultiDiscrete, such as new Discrete(2)");
  if (maxEpisodeSteps !== undefined) checked("maxEpisodeSteps", VEC_OPTIONS.maxEpisodeSteps.kind, maxEpisodeSteps);
}

/** By what it has: the space may come from another copy of the package. */
function isSpace(value: unknown): value is Space {
  const { kind, size } = Object(value) as { readonly kind?: unknown; readonly size?: unknown };
  return ["box", "discrete", "multi-discrete"].includes(kind as string) && Number.isSafeInteger(size);
}

/**
 * Makes an environment known by its id, for collectors in threads. The same one again does nothing.
 * @throws CorralError bad-env, bad-option, unknown-option with the nearest names, duplicate-env for another environment
 *   of a known id
 */
export function defineJsEnv<E extends JsEnv>(env: E): E {
  checkEnv(env);
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
  /** At most 1,048,576: each is an object of JavaScript. */
  readonly numEnvs: number;
  /** Of start states. Default 0. */
  readonly seed?: number | bigint;
  /** Default: 0 to numEnvs - 1. */
  readonly worldIds?: readonly number[];
}

/**
 * Many worlds of an environment, stepped one after another in this thread: time limit, autoreset and draws are made here.
 * @throws CorralError bad-num-envs, bad-option, unknown-option, bad-seed, bad-world-ids, unknown-env, bad-env; their `step`
 *   and `reset` throw bad-env with the world, the call and the cause for what a world throws or should not return
 */
export function makeJsVec(env: JsEnv | string, options: JsVecOptions): JsVec {
  const found = typeof env === "string" ? jsEnvOf(env) : env;
  if (found === undefined) {
    const { hint, nearest } = alternatives(typeof env === "string" ? env : "", [...jsEnvs.keys()]);
    throw new CorralError(
      "unknown-env",
      `no environment in JavaScript is called ${show(env)}; ${hint}. Import the module that defines it.`,
      { nearest },
    );
  }
  checkEnv(found);
  const { numEnvs, seed, worldIds } = fillIn(OPTIONS, optionsOf(options), { of: "makeJsVec" });
  if (numEnvs === undefined)
    throw badOption("numEnvs", numEnvs, `pass ${kindOf(OPTIONS.numEnvs).want}`, "bad-num-envs");
  seedKey(seed);
  const ids = worldIds === undefined ? Array.from({ length: numEnvs }, (_, i) => i) : checkWorldIds(worldIds, numEnvs);
  return new WorldsInTurn(found, seed, Array.from(ids));
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
  readonly #worlds: readonly CheckedWorld[];
  readonly #runs: Run[];
  readonly save?: () => unknown;
  readonly load?: (saved: unknown) => void;
  readonly #space: BatchedSpace<Space>;
  readonly #actions: Float32Array | Int32Array;
  #seed: number | bigint;

  constructor(env: JsEnv, seed: number | bigint, worldIds: readonly number[]) {
    this.id = env.id;
    this.numEnvs = worldIds.length;
    this.singleObservationSpace = env.observationSpace;
    this.singleActionSpace = env.actionSpace;
    this.maxEpisodeSteps = env.maxEpisodeSteps ?? Infinity;
    this.worldIds = worldIds;
    const { size } = env.observationSpace;
    this.#worlds = worldIds.map((world) => new CheckedWorld(env.id, world, size, (of) => env.makeWorld(of)));
    this.#runs = this.worldIds.map(() => ({ episode: -1, length: 0, over: false }));
    this.#seed = seed;
    this.#space = new BatchedSpace(env.actionSpace, this.numEnvs);
    this.#actions = new (env.actionSpace.kind === "box" ? Float32Array : Int32Array)(this.#space.size);
    if (!this.#worlds.every(({ isSaved }) => isSaved)) return;
    this.save = () => ({
      seed: String(this.#seed),
      runs: this.#runs.map((run) => ({ ...run })),
      worlds: this.#worlds.map((world) => world.save()),
    });
    this.load = (saved) => {
      const { seed: was, runs, worlds } = saved as { seed: string; runs: Run[]; worlds: unknown[] };
      this.#seed = BigInt(was);
      runs.forEach((run, i) => Object.assign(this.#runs[i], run));
      worlds.forEach((world, i) => this.#worlds[i].load(world));
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

  reset(options: { readonly seed?: number | bigint } = {}): { readonly observations: Rows } {
    const other = Object.keys(optionsOf(options)).find((name) => name !== "seed");
    if (other !== undefined) throw unknownOption("reset", other, ["seed"]);
    const { seed } = options;
    if (seed !== undefined) {
      seedKey(seed);
      this.#seed = seed;
      for (const run of this.#runs) run.episode = -1;
    }
    return { observations: this.#worlds.map((_, i) => this.#start(i)) };
  }

  /** @throws CorralError needs-reset, bad-action, bad-env */
  step(actions: Float32Array | Int32Array): JsVecStep {
    if (this.#runs[0].episode < 0)
      throw new CorralError("needs-reset", `${this.id} was not reset yet. Call reset() before step().`);
    this.#space.write(actions, this.#actions);
    const { size } = this.singleActionSpace;
    const steps = this.#worlds.map((world, i): Required<JsStep> => {
      const run = this.#runs[i];
      if (run.over) return { observation: this.#start(i), reward: 0, terminated: false, truncated: false };
      const step = world.step(this.#actions.subarray(i * size, (i + 1) * size));
      const { terminated } = step;
      run.length++;
      const truncated = step.truncated || (!terminated && run.length >= this.maxEpisodeSteps);
      run.over = terminated || truncated;
      return { ...step, truncated };
    });
    return {
      observations: steps.map(({ observation }) => observation),
      rewards: steps.map(({ reward }) => reward),
      terminated: steps.map(({ terminated }) => terminated),
      truncated: steps.map(({ truncated }) => truncated),
    };
  }
}
