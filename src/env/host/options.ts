// options of an environment: those of the batch, those of mjOption, and those of its task
import { CorralError } from "../../core/errors.ts";
import { show } from "../../core/show.ts";
import { nearest } from "../../core/names.ts";
import { withOptions, type Model, type OptionOverrides } from "../../model/model.ts";
import { withLimits, type JointLimits, type Limited } from "../../model/limits.ts";
import type { PlacementOptions } from "../../batch/device.ts";
import { unrollByDefault } from "../../batch/kernel-form.ts";
import { Status } from "../../physics/status.ts";
import { monitorSettings, type MonitorOptions, type MonitorSettings } from "../../monitor/options.ts";
import { recorderSettings, type RecorderOptions, type RecorderSettings } from "../../record/options.ts";
import { MOST_TRIPS, type Trip } from "../kernel/trips.ts";

import type { Autoreset } from "../kernel/env-kernel.ts";
import type { ParamValues } from "./task-params.ts";
import type { ActionOptions, Named, ObservationOptions, OptionValue, Randomisation, Task } from "../task/task.ts";

/** What to do about worlds that fail: end their episode (default), reject the step as well, or only set their status. */
export type Policy = "terminate" | "throw" | "ignore";

/** Options of every environment. Those of mjOption (timestep, integrator, ...) override the model's. */
export interface VecOptions extends PlacementOptions, OptionOverrides {
  /** Worlds. */
  readonly numEnvs: number;
  /** Seed of all worlds, used by the first reset unless that brings its own. Default 0. */
  readonly seed?: number | bigint;
  /** What happens to worlds whose episode has ended. Default: "next-step", as in Gymnasium. */
  readonly autoreset?: Autoreset;
  /** Stable ids of the worlds: world 1734 alone is world 1734 of 4096. Default 0 to numEnvs - 1. */
  readonly worldIds?: ArrayLike<number>;
  /** Physics steps of a control step. */
  readonly frameSkip?: number;
  /** Control steps after which an episode is truncated; Infinity for no limit. */
  readonly maxEpisodeSteps?: number;
  /** Contacts that a world may have at once; default: all that its candidate pairs can make, 256 at most. */
  readonly nconmax?: number;
  /** What to do about contacts beyond `nconmax`. */
  readonly onOverflow?: Policy;
  /** What to do about numbers that are not finite. */
  readonly onNonFinite?: Policy;
  /** What stands in for the numbers of a step that are not finite. Default 0 and 0. */
  readonly finite?: { readonly observation?: number; readonly reward?: number };
  /** Straight-line kernels, or kernels with runtime loops. Default: by the size of the model. */
  readonly unroll?: boolean;
  /** Take the form and workgroups of kernels that `corral tune` found fastest on this adapter, if it did. Default false. */
  readonly tuned?: boolean;
  /** New arrays with each step, instead of arrays that the next step overwrites. Default false. */
  readonly copy?: boolean;
  /** What is kept of the last control steps, to write a bundle of worlds that fail. Default: see `RecorderOptions`. */
  readonly recorder?: boolean | RecorderOptions;
  /** Worlds that run beside MuJoCo in float64, a control step now and then. Default: none. */
  readonly monitor?: MonitorOptions;
  /** Conditions that trip the recorder beside failures, 8 at most: `{ name: "fast", when: "qvel(joint.slide) > 5" }`. */
  readonly trip?: readonly Trip[];
  /** First values of the task's parameters, other than its own; see `setParams`. */
  readonly params?: ParamValues;
  /** What is done to actions before they act: delay, hold, clip, scale, offset. Default: nothing. */
  readonly action?: ActionOptions;
  /** What is done to the observation: normalize, clip, history. Default: nothing. */
  readonly observation?: ObservationOptions;
  /**
   * Ranges and speeds of joints beside the MJCF's, by name or pattern, for joints that have none too:
   * `{ "hip_*": { range: [-1, 1], velocity: 20 } }`. Beside or instead of what the task says.
   */
  readonly limits?: JointLimits;
  /** What worlds draw for themselves, beside or instead of what the task says, by name. */
  readonly randomise?: Named<Randomisation>;
  /** Bounds of the reward: the sum of its terms is clipped to `clip`. Default: none. */
  readonly reward?: { readonly clip?: readonly [number, number] };
  /** Keep a snapshot on the host, taken every so many control steps: what `restoreOn` goes on from. Default: none. */
  readonly snapshotEvery?: number;
}

const VEC_NAMES = [
  "numEnvs",
  "seed",
  "autoreset",
  "worldIds",
  "frameSkip",
  "maxEpisodeSteps",
  "nconmax",
  "onOverflow",
  "onNonFinite",
  "finite",
  "unroll",
  "tuned",
  "copy",
  "params",
  "action",
  "observation",
  "reward",
  "randomise",
  "limits",
  "snapshotEvery",
  "recorder",
  "monitor",
  "trip",
  "device",
  "adapter",
  "budget",
  "onOverBudget",
  "shards",
  "workgroupSize",
] as const satisfies readonly (keyof VecOptions)[];

type VecName = (typeof VEC_NAMES)[number];

/** Options sorted out and checked. */
export interface Settings<O extends object> {
  readonly vec: Required<
    Pick<
      VecOptions,
      | "numEnvs"
      | "autoreset"
      | "frameSkip"
      | "maxEpisodeSteps"
      | "onOverflow"
      | "onNonFinite"
      | "unroll"
      | "copy"
      | "trip"
    >
  > & { readonly recorder: RecorderSettings | undefined; readonly monitor: MonitorSettings | undefined } & Pick<
      VecOptions,
      | "nconmax"
      | "worldIds"
      | "seed"
      | "snapshotEvery"
      | "params"
      | "action"
      | "observation"
      | "reward"
      | "randomise"
      | keyof PlacementOptions
    >;
  readonly finite: { readonly observation: number; readonly reward: number };
  readonly options: O;
  readonly model: Model;
  /** What limits leave to the task: ends of ranges that worlds draw, and speeds that end episodes. */
  readonly limits: Omit<Limited, "model">;
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

const bad = (name: string, value: unknown, want: string, code = "bad-option"): CorralError =>
  new CorralError(code, `${name} is ${show(value)}; ${want}.`, { name, value });

/**
 * Sorts out the options given for a task. Names may be written as here or with underscores, as in Gymnasium.
 * @throws CorralError bad-option, unknown-option (with the nearest names), bad-num-envs, bad-world-ids
 */
export function settingsOf<O extends object>(task: Task<O>, model: Model, given: object): Settings<O> {
  const vec: Partial<Record<VecName, unknown>> = {};
  const mj: Record<string, unknown> = {};
  const own: Record<string, unknown> = {};
  const defaults = (task.defaults ?? {}) as Record<string, OptionValue>;
  const byName = new Map<string, (value: unknown) => void>();
  const offer = (name: string, take: (value: unknown) => void) => {
    for (const spelling of [name, snake(name)]) byName.set(spelling, take);
  };
  for (const name of Object.keys(model.opt)) offer(name, (v) => (mj[name] = v));
  for (const name of VEC_NAMES) offer(name, (v) => (vec[name] = v));
  for (const name of Object.keys(defaults)) offer(name, (v) => (own[name] = v));

  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const take = byName.get(name) ?? byName.get(snake(name));
    if (!take) {
      const near = nearest(name, [...VEC_NAMES, ...Object.keys(defaults), ...Object.keys(model.opt)]);
      const hint = near.length
        ? `; nearest: ${near.join(", ")}`
        : `; its own are ${Object.keys(defaults).join(", ") || "none"}`;
      throw new CorralError("unknown-option", `${task.id} has no option "${name}"${hint}.`, { name, nearest: near });
    }
    take(value);
  }

  const options: Record<string, OptionValue> = { ...defaults };
  for (const [name, value] of Object.entries(own)) options[name] = checkOption(name, value, defaults[name]);
  const { model: overridden, ...limits } = withLimits(
    Object.keys(mj).length ? withOptions(model, mj) : model,
    limitsOf(task, vec.limits),
  );
  task.check?.(options as O, overridden);
  return {
    vec: checkVec(task, overridden, vec),
    finite: checkFinite(vec.finite),
    options: options as O,
    model: overridden,
    limits,
  };
}

/** The task's limits, then those given. */
function limitsOf({ limits }: { readonly limits?: JointLimits }, given: unknown): JointLimits | undefined {
  if (given === undefined) return limits;
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw bad("limits", given, "it is an object of joints or patterns");
  const left = Object.entries(limits ?? {}).filter(([pattern]) => !Object.hasOwn(given, pattern));
  return { ...Object.fromEntries(left), ...given };
}

/** A task's option has the form of its default; one whose default is an object's id may also be its name. */
function checkOption(name: string, value: unknown, normal: OptionValue): OptionValue {
  if (typeof normal === "boolean") {
    if (typeof value === "boolean") return value;
    throw bad(name, value, "it is true or false");
  }
  if (typeof normal === "number") {
    if (typeof value === "number" && Number.isFinite(value)) return value;
    if (typeof value === "string" && name.endsWith("body")) return value;
    throw bad(name, value, name.endsWith("body") ? "it is the id or the name of a body" : "it is a finite number");
  }
  if (typeof normal === "string") {
    if (typeof value === "string") return value;
    throw bad(name, value, "it is a string");
  }
  const range = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>) : [];
  const ordered = range.length === 2 && range.every((x) => typeof x === "number") && range[0] <= range[1];
  if (!ordered) throw bad(name, value, "it is a range [low, high] with low <= high; an end may be infinite");
  return range as unknown as readonly [number, number];
}

function count(name: string, value: unknown, max: number, code?: string): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number;
  throw bad(name, value, `it is a whole number from 1 to ${max}`, code);
}

function oneOf<T extends string>(name: string, value: unknown, words: readonly T[]): T {
  if (words.includes(value as T)) return value as T;
  throw bad(name, value, `it is one of ${words.map((w) => `"${w}"`).join(", ")}`);
}

function flagOf(name: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw bad(name, value, "it is true or false");
}

// results are floats, which count exactly as far as this
const MAX_STEPS = 2 ** 24;
const POLICIES = ["terminate", "throw", "ignore"] as const;

function checkVec<O extends object>(
  task: Task<O>,
  model: Model,
  given: Partial<Record<VecName, unknown>>,
): Settings<O>["vec"] {
  const {
    seed = 0,
    worldIds,
    nconmax,
    autoreset = "next-step",
    onOverflow = "terminate",
    onNonFinite = "terminate",
  } = given;
  const {
    device,
    adapter,
    budget,
    onOverBudget,
    shards,
    workgroupSize,
    frameSkip = task.frameSkip,
    maxEpisodeSteps = task.maxEpisodeSteps,
  } = given;
  if (given.numEnvs === undefined)
    throw bad("numEnvs", undefined, "it is the number of worlds. Pass at least 1", "bad-num-envs");
  const numEnvs = count("numEnvs", given.numEnvs, 2 ** 32, "bad-num-envs");
  if (given.tuned !== undefined) flagOf("tuned", given.tuned);
  if (onOverBudget !== undefined) oneOf("onOverBudget", onOverBudget, ["throw", "shrink"]);
  if (adapter !== undefined && typeof adapter !== "string" && !Number.isInteger(adapter))
    throw bad("adapter", adapter, 'it is a string, such as "gpu", or the index of an adapter');
  return {
    numEnvs,
    seed: seed as number | bigint,
    autoreset: oneOf("autoreset", autoreset, ["next-step", "same-step", "disabled"]),
    frameSkip: count("frameSkip", frameSkip, 1e6),
    maxEpisodeSteps: maxEpisodeSteps === Infinity ? Infinity : count("maxEpisodeSteps", maxEpisodeSteps, MAX_STEPS),
    onOverflow: oneOf("onOverflow", onOverflow, POLICIES),
    onNonFinite: oneOf("onNonFinite", onNonFinite, POLICIES),
    unroll: flagOf("unroll", given.unroll ?? unrollByDefault(model)),
    copy: flagOf("copy", given.copy ?? false),
    recorder: recorderSettings(given.recorder, numEnvs),
    monitor: monitorSettings(given.monitor, numEnvs),
    trip: checkTrips(given.trip ?? []),
    ...(nconmax === undefined ? {} : { nconmax: count("nconmax", nconmax, 2 ** 20) }),
    ...(worldIds === undefined ? {} : { worldIds: checkWorldIds(worldIds, numEnvs) }),
    ...(given.snapshotEvery === undefined
      ? {}
      : { snapshotEvery: count("snapshotEvery", given.snapshotEvery, MAX_STEPS) }),
    ...(shards === undefined ? {} : { shards: count("shards", shards, 1024) }),
    ...((workgroupSize === undefined ? {} : { workgroupSize }) as Pick<PlacementOptions, "workgroupSize">),
    ...group("params", given.params, {}),
    ...group("action", given.action, { ...task.action }),
    ...group("observation", checkObservation(given.observation), { ...(checkObservation(task.observation) as object) }),
    ...group("reward", checkReward(given.reward), {}),
    ...group("randomise", given.randomise, {}),
    ...((device === undefined ? {} : { device }) as Pick<PlacementOptions, "device">),
    ...((adapter === undefined ? {} : { adapter }) as Pick<PlacementOptions, "adapter">),
    ...((budget === undefined ? {} : { budget }) as Pick<PlacementOptions, "budget">),
    ...((onOverBudget === undefined ? {} : { onOverBudget }) as Pick<PlacementOptions, "onOverBudget">),
  };
}

function checkTrips(value: unknown): readonly Trip[] {
  const want = `it is a list of at most ${MOST_TRIPS} conditions { name, when } with different names, when an expression or a function of the scene`;
  if (!Array.isArray(value) || value.length > MOST_TRIPS) throw bad("trip", value, want);
  const trips = value as readonly Partial<Trip>[];
  const isTrip = (t: Partial<Trip> | null) =>
    typeof t?.name === "string" && ["string", "function"].includes(typeof t.when);
  const names = trips.map((t) => t?.name);
  const taken = names.find((name) => name && Object.hasOwn(Status, name));
  if (taken !== undefined)
    throw bad("trip", taken, "that is the name of a bit of the status word; name the condition otherwise");
  if (!trips.every(isTrip) || new Set(names).size < names.length) throw bad("trip", value, want);
  return trips as readonly Trip[];
}

/** Options of a group: those of the task, overridden by those given. */
function group(name: string, given: unknown, own: object): object {
  if (given !== undefined && (typeof given !== "object" || given === null))
    throw bad(name, given, "it is an object of options");
  const all = { ...own, ...given };
  return Object.keys(all).length > 0 ? { [name]: all } : {};
}

function checkObservation(given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  const { normalize, clip, history, ...unknown } = given as Record<string, unknown>;
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw bad(`observation.${other}`, unknown[other], "there are normalize, clip, history");
  if (normalize !== undefined) flagOf("observation.normalize", normalize);
  if (clip !== undefined) rangeOf("observation.clip", clip);
  if (history !== undefined) count("observation.history", history, 1000);
  return given;
}

function checkReward(given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  const { clip, ...unknown } = given as Record<string, unknown>;
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw bad(`reward.${other}`, unknown[other], "there is clip");
  if (clip !== undefined) rangeOf("reward.clip", clip);
  return given;
}

function rangeOf(name: string, value: unknown): void {
  const ok = Array.isArray(value) && value.length === 2 && value.every(Number.isFinite) && value[0] <= value[1];
  if (!ok) throw bad(name, value, "it is [low, high], finite, low <= high");
}

function checkWorldIds(value: unknown, numEnvs: number): ArrayLike<number> {
  const ids = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>) : undefined;
  const refuse = (text: string) =>
    new CorralError("bad-world-ids", `${text}. Pass ${numEnvs} different whole numbers from 0 to 4294967295.`);
  if (ids?.length !== numEnvs)
    throw refuse(`worldIds has ${ids ? `${ids.length} ids` : "no ids"}; there are ${numEnvs} worlds`);
  const seen = new Set<unknown>();
  for (const id of ids) {
    if (!Number.isInteger(id) || (id as number) < 0 || (id as number) >= 2 ** 32)
      throw refuse(`worldIds has ${show(id)}`);
    if (seen.has(id)) throw refuse(`worldIds has ${show(id)} twice`);
    seen.add(id);
  }
  return ids as number[];
}

/** The ids of `numEnvs` worlds: those given, or their places. */
export const worldIdsOf = (vec: { worldIds?: ArrayLike<number> }, numEnvs: number): readonly number[] =>
  Array.from({ length: numEnvs }, (_, i) => vec.worldIds?.[i] ?? i);

function checkFinite(value: unknown): { observation: number; reward: number } {
  const { observation = 0, reward = 0 } = (value ?? {}) as { observation?: number; reward?: number };
  for (const [name, x] of Object.entries({ observation, reward })) {
    if (typeof x !== "number" || !Number.isFinite(Math.fround(x)))
      throw bad(`finite.${name}`, x, "it is a finite number");
  }
  return { observation, reward };
}

export const NON_FINITE =
  Status.BAD_QPOS |
  Status.BAD_QVEL |
  Status.BAD_QACC |
  Status.BAD_CTRL |
  Status.BAD_REWARD |
  Status.BAD_OBS |
  Status.BAD_CONDITION;
export const OVERFLOW = Status.CONTACT_OVERFLOW;

/** Bits of the status word by what the policies do about them. */
export function statusMasks(vec: { onNonFinite: Policy; onOverflow: Policy }) {
  const { onNonFinite, onOverflow } = vec;
  return {
    voids: onNonFinite === "ignore" ? 0 : NON_FINITE,
    ends: onOverflow === "ignore" ? 0 : OVERFLOW,
    throws: (onNonFinite === "throw" ? NON_FINITE : 0) | (onOverflow === "throw" ? OVERFLOW : 0),
  };
}
