// options of an environment: those of the batch, those of mjOption, and those of its task
import { CorralError } from "../../core/errors.ts";
import {
  badOption,
  checked,
  fillIn,
  fillInPart,
  optionsOf,
  unknownOption,
  type ConfigOf,
  type Given,
  type OptionTable,
} from "../../core/options.ts";
import {
  boolean,
  described,
  either,
  integer,
  oneOf,
  range,
  real,
  text,
  unchecked,
  type Kind,
} from "../../core/schema.ts";
import { show } from "../../core/show.ts";
import { BATCH_OPTIONS, MAX_STEPS, numEnvsOf } from "../../batch/options.ts";
import { withOptions, type Model, type OptionOverrides } from "../../model/model.ts";
import { withLimits, type Limited } from "../../model/limits.ts";
import { Status } from "../../physics/status.ts";
import { monitorSettings, type MonitorOptions, type MonitorSettings } from "../../monitor/options.ts";
import { recorderSettings, type RecorderOptions, type RecorderSettings } from "../../record/options.ts";
import { MOST_TRIPS, type Trip } from "../kernel/trips.ts";

import type { Autoreset } from "../kernel/env-kernel.ts";
import type { ParamValues } from "./task-params.ts";
import {
  ACTION_OPTIONS,
  FINITE_OPTIONS,
  OBSERVATION_OPTIONS,
  REWARD_OPTIONS,
  type ActionOptions,
  type ObservationOptions,
} from "../task/options.ts";
import type { ActuatorRealities, Named, OptionValue, Randomisation, Task } from "../task/task.ts";

/** What to do about worlds that fail: end their episode (default), reject the step as well, or only set their status. */
export type Policy = "terminate" | "throw" | "ignore";

const POLICY = oneOf("terminate", "throw", "ignore");
const part = <T>(table: OptionTable): Kind<T> => unchecked(`an object of ${Object.keys(table).join(", ")}`);

export const VEC_OPTIONS = {
  ...BATCH_OPTIONS,
  seed: {
    default: 0,
    kind: unchecked<number | bigint>("an integer from 0"),
    doc: "of all worlds; used by the first reset unless that brings its own",
  },
  autoreset: {
    default: "next-step",
    kind: oneOf<Autoreset>("next-step", "same-step", "disabled"),
    doc: "what happens to worlds whose episode has ended, as in Gymnasium",
  },
  worldIds: {
    kind: unchecked<ArrayLike<number>>("a different id for each world"),
    doc: "stable ids of the worlds, by default 0 to numEnvs - 1: world 1734 alone is world 1734 of 4096",
  },
  frameSkip: { min: 1, max: 1e6, integer: true, doc: "physics steps of a control step; by default the task's" },
  maxEpisodeSteps: {
    kind: either(integer(1, MAX_STEPS), oneOf(Infinity)),
    doc: "control steps after which an episode is truncated; by default the task's",
  },
  onOverflow: { default: "terminate", kind: POLICY, doc: "what to do about contacts beyond `nconmax`" },
  onNonFinite: { default: "terminate", kind: POLICY, doc: "what to do about numbers that are not finite" },
  finite: {
    kind: part<Given<typeof FINITE_OPTIONS>>(FINITE_OPTIONS),
    doc: "what stands in for the numbers of a step that are not finite",
  },
  tuned: {
    default: false,
    doc: "take the form and workgroups of kernels that `corral tune` found fastest on this adapter, if it did",
  },
  copy: { default: false, doc: "new arrays with each step, instead of arrays that the next step overwrites" },
  recorder: {
    kind: unchecked<boolean | RecorderOptions>("true, false, or an object"),
    doc: "what is kept of the last control steps, to write a bundle of worlds that fail; on by default",
  },
  monitor: {
    kind: unchecked<MonitorOptions>("an object"),
    doc: "worlds that run beside MuJoCo in float64, a control step now and then; by default none",
  },
  trip: {
    default: [],
    kind: unchecked<readonly Trip[]>("a list of conditions { name, when }"),
    doc: 'conditions that trip the recorder beside failures, at most 8: `{ name: "fast", when: "qvel(joint.slide) > 5" }`',
  },
  params: {
    kind: unchecked<ParamValues>("values by name"),
    doc: "first values of the task's parameters, other than its own; see `setParams`",
  },
  action: {
    kind: part<ActionOptions>(ACTION_OPTIONS),
    doc: "what is done to actions before they act; by default nothing",
  },
  observation: {
    kind: part<ObservationOptions>(OBSERVATION_OPTIONS),
    doc: "what is done to the observation; by default nothing",
  },
  reward: {
    kind: part<Given<typeof REWARD_OPTIONS>>(REWARD_OPTIONS),
    doc: "what is done to the reward; by default nothing",
  },
  randomise: {
    kind: unchecked<Named<Randomisation>>("randomisations by name"),
    doc: "what worlds draw for themselves, beside or instead of what the task says, by name",
  },
  actuators: {
    kind: unchecked<ActuatorRealities>("an object of actuators or patterns"),
    doc: "delays, lags, encoders, play, torque-speed limits and networks of actuators, beside or instead of the task's",
  },
} as const satisfies OptionTable;

type VecTable = typeof VEC_OPTIONS;

/** Options of every environment; `VEC_OPTIONS` says what each means. Those of mjOption (timestep, ...) override the model's. */
export interface VecOptions extends OptionOverrides, Omit<Given<VecTable>, "numEnvs"> {
  /** Worlds. */
  readonly numEnvs: number;
}

/** Those that the environment settles. */
type Settled = "numEnvs" | "frameSkip" | "maxEpisodeSteps";

/** Options sorted out and checked. */
export interface Settings<O extends object> {
  readonly vec: Omit<
    ConfigOf<VecTable>,
    Settled | "recorder" | "monitor" | "finite" | "limits" | "actuators" | "tuned"
  > &
    Required<Pick<VecOptions, Settled>> & {
      readonly recorder: RecorderSettings | undefined;
      readonly monitor: MonitorSettings | undefined;
    };
  readonly finite: ConfigOf<typeof FINITE_OPTIONS>;
  readonly options: O;
  readonly model: Model;
  /** What is said of actuators, by the task and the batch. */
  readonly actuators: ActuatorRealities | undefined;
  /** What limits leave to the task: ends of ranges that worlds draw, and speeds that end episodes. */
  readonly limits: Omit<Limited, "model">;
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

/**
 * Sorts out the options given for a task. Names may be written as here or with underscores, as in Gymnasium.
 * @throws CorralError bad-option, unknown-option (with the nearest names), bad-num-envs, bad-world-ids
 */
export function settingsOf<O extends object>(task: Task<O>, model: Model, given: object): Settings<O> {
  const vec: Record<string, unknown> = {};
  const mj: Record<string, unknown> = {};
  const own: Record<string, unknown> = {};
  const defaults = (task.defaults ?? {}) as Record<string, OptionValue>;
  const byName = new Map<string, (value: unknown) => void>();
  const offer = (names: object, into: Record<string, unknown>) => {
    for (const name of Object.keys(names))
      for (const spelling of [name, snake(name)]) byName.set(spelling, (value) => (into[name] = value));
  };
  offer(model.opt, mj);
  offer(VEC_OPTIONS, vec);
  offer(defaults, own);

  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const take = byName.get(name) ?? byName.get(snake(name));
    if (!take) {
      const names = [VEC_OPTIONS, defaults, model.opt].flatMap((table) => Object.keys(table));
      throw unknownOption(task.id, name, names);
    }
    take(value);
  }

  const options: Record<string, OptionValue> = { ...defaults };
  for (const [name, value] of Object.entries(own))
    options[name] = checked(name, kindLike(name, defaults[name]), value) as OptionValue;
  numEnvsOf(vec);
  const checkedVec = fillIn(VEC_OPTIONS, vec, { of: task.id });
  const overrides = [...Object.keys(task.physics ?? {}), ...Object.keys(mj)];
  const { model: overridden, ...limits } = withLimits(
    overrides.length ? withOptions(model, { ...task.physics, ...mj }) : model,
    byPattern("limits", task.limits, checkedVec.limits),
  );
  task.check?.(options as O, overridden);
  return {
    vec: settleVec(task, overridden, checkedVec),
    finite: fillInPart("finite", FINITE_OPTIONS, checkedVec.finite ?? {}),
    options: options as O,
    model: overridden,
    actuators: byPattern("actuators", task.actuators, checkedVec.actuators),
    limits,
  };
}

/** What the task says of joints or actuators, then what is given. */
function byPattern<T extends object>(name: string, own: T | undefined, given: T | undefined): T | undefined {
  if (given === undefined) return own;
  if (Array.isArray(given))
    throw badOption(name, given, `pass an object of ${name === "limits" ? "joints" : name} or patterns`);
  const left = Object.entries(own ?? {}).filter(([pattern]) => !Object.hasOwn(optionsOf(given, name), pattern));
  return { ...Object.fromEntries(left), ...given };
}

/** A task's option is like its default; one whose default is an object's id may also be its name. */
function kindLike(name: string, usual: OptionValue): Kind<unknown> {
  if (typeof usual === "boolean") return boolean;
  if (typeof usual === "string") return text();
  if (typeof usual !== "number") return range(false);
  return name.endsWith("body") ? described("the id or the name of a body", either(real(), text())) : real();
}

function settleVec<O extends object>(task: Task<O>, model: Model, given: ConfigOf<VecTable>): Settings<O>["vec"] {
  const { finite: _finite, limits: _limits, actuators: _actuators, tuned: _tuned, worldIds, ...all } = given;
  const { numEnvs = 0, frameSkip = task.frameSkip, maxEpisodeSteps = task.maxEpisodeSteps } = given;
  fillInPart("observation", OBSERVATION_OPTIONS, task.observation ?? {});
  return {
    ...all,
    numEnvs,
    frameSkip: checked("frameSkip", integer(VEC_OPTIONS.frameSkip.min, VEC_OPTIONS.frameSkip.max), frameSkip),
    maxEpisodeSteps: checked("maxEpisodeSteps", VEC_OPTIONS.maxEpisodeSteps.kind, maxEpisodeSteps),
    recorder: recorderSettings(given.recorder, numEnvs),
    monitor: monitorSettings(given.monitor, numEnvs),
    trip: checkTrips(given.trip),
    ...(worldIds === undefined ? {} : { worldIds: checkWorldIds(worldIds, numEnvs) }),
    ...merged("params", given.params),
    ...merged("action", given.action, task.action),
    ...merged(
      "observation",
      given.observation && fillInPart("observation", OBSERVATION_OPTIONS, given.observation),
      task.observation,
    ),
    ...merged("reward", given.reward && fillInPart("reward", REWARD_OPTIONS, given.reward)),
    ...merged("randomise", given.randomise),
  };
}

function checkTrips(value: unknown): readonly Trip[] {
  const want = `pass a list of at most ${MOST_TRIPS} conditions { name, when } with different names, when an expression or a function of the scene`;
  if (!Array.isArray(value) || value.length > MOST_TRIPS) throw badOption("trip", value, want);
  const trips = value as readonly Partial<Trip>[];
  const isTrip = (t: Partial<Trip> | null) =>
    typeof t?.name === "string" && t.name !== "" && ["string", "function"].includes(typeof t.when);
  const names = trips.map((t) => t?.name);
  const taken = names.find((name) => name && Object.hasOwn(Status, name));
  if (taken !== undefined)
    throw badOption("trip", taken, "that is the name of a bit of the status word; name the condition otherwise");
  if (!trips.every(isTrip) || new Set(names).size < names.length) throw badOption("trip", value, want);
  return trips as readonly Trip[];
}

/** Options of a part: those of the task, overridden by those given; left out if there are none. */
function merged<T extends object>(name: string, given: T | undefined, own?: T): object {
  const all = { ...own, ...(given && optionsOf(given, name)) };
  return Object.keys(all).length > 0 ? { [name]: all } : {};
}

/** Lists of ids that may repeat themselves. */
const shared = new WeakSet<object>();

/** Ids of which several worlds may share one: of one seed these draw the same, so that only what differs tells. */
export function sharedIds(ids: readonly number[]): readonly number[] {
  shared.add(ids);
  return ids;
}

/** Ids of worlds, one each. Throws `bad-world-ids`. */
export function checkWorldIds(value: unknown, numEnvs: number): ArrayLike<number> {
  const ids = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>) : undefined;
  const refuse = (text: string) =>
    new CorralError("bad-world-ids", `${text}. Pass ${numEnvs} different whole numbers from 0 to 4294967295.`);
  if (ids?.length !== numEnvs)
    throw refuse(`worldIds has ${ids ? `${ids.length} ids` : "no ids"}; there are ${numEnvs} worlds`);
  const seen = new Set<unknown>();
  for (const id of ids) {
    if (!Number.isInteger(id) || (id as number) < 0 || (id as number) >= 2 ** 32)
      throw refuse(`worldIds has ${show(id)}`);
    if (seen.has(id) && !shared.has(value as object)) throw refuse(`worldIds has ${show(id)} twice`);
    seen.add(id);
  }
  return ids as number[];
}

/** The ids of `numEnvs` worlds: those given, or their places. */
export const worldIdsOf = (vec: { worldIds?: ArrayLike<number> }, numEnvs: number): readonly number[] =>
  Array.from({ length: numEnvs }, (_, i) => vec.worldIds?.[i] ?? i);

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
