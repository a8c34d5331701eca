// the space of a task's actions, and what a batch does to them before they act
import type { CorralError } from "../../core/errors.ts";
import { badOption, fillInPart } from "../../core/options.ts";
import type { Model } from "../../model/model.ts";
import { Box, type Space } from "../space/spaces.ts";
import { actuatorsOf } from "./actuators.ts";
import { badTerm, placeOf, within } from "./term-value.ts";
import { ACTION_OPTIONS, type ActionOptions } from "./options.ts";
import type { Task } from "./task.ts";

/** What becomes of the actions of a batch, as numbers for each entry of an action. */
export interface Actuation {
  /** Control steps that an action waits before it acts. until that many were given, the first of an episode acts. */
  readonly delay: number;
  /** Control steps that an action acts for; those given in between are passed over. */
  readonly hold: number;
  /** Bounds of an action; then it is multiplied, and the offset added. */
  readonly clip: readonly [number, number] | undefined;
  readonly scale: readonly number[] | undefined;
  readonly offset: readonly number[] | undefined;
  /** Where the numbers of an action go among the controls, if not one to each. */
  readonly part?: ControlPart | undefined;
}

/** Controls of which actions make a part. */
export interface ControlPart {
  /** Actuators that an action is for, in the order of its numbers. */
  readonly at: readonly number[];
  /** Controls of all actuators where no action says others. */
  readonly rest: readonly number[];
}

const isSpace = (x: unknown): boolean =>
  ["box", "discrete", "multi-discrete"].includes((x as Partial<Space> | null)?.kind as string);

interface ControlRange {
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** actuator_ctrlrange of each control; unbounded if an actuator has none. */
function controlRange(model: Model): ControlRange {
  const end = (i: number, k: number) =>
    model.actuator_ctrllimited[i] ? model.actuator_ctrlrange[2 * i + k] : k ? Infinity : -Infinity;
  const bounds = (k: number) => Array.from({ length: model.nu }, (_, i) => end(i, k));
  return { low: bounds(0), high: bounds(1) };
}

const bad = (name: string, value: unknown, want: string): CorralError =>
  badOption(`action.${name}`, value, `pass ${want}`);

/**
 * The space that actions are given in, and what becomes of them.
 * @throws CorralError bad-option, bad-space
 */
export function actingSpace<O extends object>(
  task: Task<O>,
  {
    vec,
    model,
    options,
  }: { readonly vec: { readonly action?: ActionOptions }; readonly model: Model; readonly options: O },
): { action: Space; actuation: Actuation } {
  const filled = fillInPart("action", ACTION_OPTIONS, vec.action ?? {});
  const { delay, hold, clip, scale, offset } = filled;

  const place = placeOf(task, "actionSpace");
  const given = task.actionSpace && within(place, () => task.actionSpace!(model, options));
  if (given && !isSpace(given)) throw badTerm(place, "it returns no Box, Discrete or MultiDiscrete");
  if (given && given.kind !== "box") {
    const { actuators, others } = filled;
    const [name, value] =
      Object.entries({ actuators, others, clip, scale, offset }).find(([, v]) => v !== undefined) ?? [];
    if (name !== undefined) throw bad(name, value, "it to Box actions only; these are whole numbers");
    return { action: given, actuation: { delay, hold, clip: undefined, scale: undefined, offset: undefined } };
  }

  const part = partOf(model, filled, given);
  const all = controlRange(model);
  const controls = part ? { low: entries(all.low, part), high: entries(all.high, part) } : all;
  const size = part?.at.length ?? given?.size ?? model.nu;
  const ranged = scale === "ctrlrange";
  if (ranged && size !== controls.low.length)
    throw bad("scale", scale, `it for ${model.nu} actions, one for each actuator`);
  if (
    ranged &&
    (offset !== undefined || !controls.low.every((x, i) => Number.isFinite(x) && Number.isFinite(controls.high[i])))
  )
    throw bad("scale", scale, "it for actuators that all have a ctrlrange, and without an offset");
  const half = (sign: number) => Array.from(controls.low, (low, i) => (controls.high[i] + sign * low) / 2);
  const factors = ranged ? half(-1) : perEntry("scale", scale, size);
  const offsets = ranged ? half(1) : perEntry("offset", offset, size);
  const actuation = { delay, hold, clip, scale: factors, offset: offsets, part };
  const space = given && part ? new Box({ low: entries(given.low, part), high: entries(given.high, part) }) : given;
  return { action: space ?? scaledSpace(controls, actuation, ranged), actuation };
}

const entries = (list: ArrayLike<number>, { at }: ControlPart): number[] => at.map((i) => list[i]);

/** The actuators that actions are for, where options name them. */
function partOf(model: Model, { actuators, others }: ActionOptions, given: Box | undefined): ControlPart | undefined {
  if (!actuators) {
    if (others === undefined) return undefined;
    throw bad("others", others, "actuators too, which says what actions are for");
  }
  if (given && given.size !== model.nu)
    throw bad(
      "actuators",
      actuators,
      `it for an actionSpace of ${model.nu} numbers, one for each actuator, not ${given.size}`,
    );
  const named = new Set(actuators.flatMap((pattern) => actuatorsOf(model, pattern)));
  const left = Array.from({ length: model.nu }, (_, i) => i).filter((i) => !named.has(i));
  const kept = perEntry("others", others ?? 0, left.length)!;
  const rest = Array<number>(model.nu).fill(0);
  left.forEach((i, k) => (rest[i] = kept[k]));
  return { at: [...named].sort((a, b) => a - b), rest };
}

function perEntry(name: string, value: number | readonly number[] | undefined, size: number): number[] | undefined {
  if (value === undefined) return undefined;
  const list: readonly unknown[] =
    typeof value === "number" ? Array<number>(size).fill(value) : Array.isArray(value) ? value : [];
  if (list.length === size && list.every((x) => Number.isFinite(x))) return [...(list as number[])];
  throw bad(name, value, `a finite number, or ${size} of them`);
}

/** The actions that make controls in their range, and that are not clipped. */
function scaledSpace({ low, high }: ControlRange, { scale, offset, clip }: Actuation, ranged: boolean): Box {
  const shape = [low.length];
  const [least, most] = clip ?? [-Infinity, Infinity];
  const ends = low.map((from, i) => {
    const all = ranged ? [-1, 1] : [from, high[i]].map((end) => (end - (offset?.[i] ?? 0)) / (scale?.[i] || 1));
    const [a, b] = all.sort((x, y) => x - y);
    // a range that is clipped away leaves the bounds of the clip
    return a > most || b < least ? [least, most] : [Math.max(a, least), Math.min(b, most)];
  });
  return new Box({ low: ends.map(([a]) => a), high: ends.map(([, b]) => b), shape });
}
