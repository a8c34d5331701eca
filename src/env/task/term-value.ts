// what a task's terms are worth in a scene: expressions, functions and values become scalars of the trace
import { CorralError } from "../../core/errors.ts";
import { isHeld } from "../../core/float32.ts";
import { show } from "../../core/show.ts";
import { TraceNode } from "../../trace/nodes.ts";
import { add, mul, select, sub, toF32, type Bool, type Scalar } from "../../trace/scalar.ts";
import { describeValue, evaluate, isTruth, unfitName, type Value } from "./expression/index.ts";
import { decided } from "./undecided.ts";
import { clipped } from "./finite.ts";
import type { Named, Scene, SharedValues, Task, Term, TermOptions, Terms, TermSource } from "./task.ts";

type Options = TermOptions;
export const OPTION_NAMES: readonly string[] = ["value", "noise", "clip", "scale", "weight", "history", "delay"];

/** The longest delay of an observation (control steps). */
const MOST_DELAY = 100;

/** The ends of one number or two. */
export const rangeOf = (x: number | readonly [number, number]): readonly [number, number] =>
  typeof x === "object" ? x : [x, x];

/** A term with its name in messages: "task Ant-v5, reward.forward". */
export interface TermPlace {
  readonly name: string;
  /** What a group of terms takes: options that mean nothing there are refused. */
  readonly takes: readonly (keyof TermOptions)[];
  /** Whether a condition is refused. */
  readonly onlyNumbers?: boolean;
}

export const placeOf = (task: Pick<Task, "id">, group: string, name?: string): string =>
  `task ${task.id}, ${group}${name === undefined ? "" : `.${name}`}`;

export const badTerm = (place: string, text: string, code = "bad-term"): CorralError =>
  new CorralError(code, `${place}: ${text}.`, { term: place });

/** The terms of a group in a scene. */
export function termsIn<O extends object>(terms: Terms<O> | undefined, scene: Scene<O>, place: string): Named<Term<O>> {
  if (typeof terms !== "function") return terms ?? {};
  const named = within(place, () => terms(scene));
  if (isPlainObject(named)) return named;
  throw badTerm(place, `it returns ${describeReturn(named)}; return terms by name`);
}

/** Whether something is an object of named things, not a list, a promise or a number of the trace. */
export const isPlainObject = (x: unknown): x is Readonly<Record<string, unknown>> =>
  typeof x === "object" && x !== null && [Object.prototype, null].includes(Object.getPrototypeOf(x) as object | null);

/** What a function returned that it should not, in words. */
export const describeReturn = (x: unknown): string => {
  if (x instanceof Promise) return "a promise: it may not be async";
  return Array.isArray(x) ? "a list" : x === null || typeof x !== "object" ? String(x) : `a ${x.constructor.name}`;
};

const hasOptions = <O extends object>(term: Term<O>): term is Options & { readonly value: TermSource<O> } =>
  typeof term === "object" && term !== null && !(term instanceof TraceNode) && !Array.isArray(term);

/** A term apart: where its value comes from, and what is done to it. */
export function splitTerm<O extends object>(
  term: Term<O>,
  place: TermPlace,
): { source: TermSource<O>; options: Options } {
  if (!hasOptions(term)) return { source: term, options: {} };
  const { value, ...options } = term;
  for (const name of Object.keys(options)) {
    if (place.takes.includes(name as keyof TermOptions)) continue;
    const known = OPTION_NAMES.includes(name);
    const takes = ["value", ...place.takes].join(", ");
    throw badTerm(
      place.name,
      `${known ? `${name} means nothing here` : `it has no option "${name}"`}; it takes ${takes}`,
    );
  }
  if (value === undefined)
    throw badTerm(place.name, "it has no value. Pass { value: ... }, an expression or a function");
  checkOptions(options, place.name);
  return { source: value, options };
}

function checkOptions({ noise, clip, scale, weight, history, delay = 0 }: Options, place: string): void {
  const finite = (x: unknown): boolean => typeof x === "number" && isHeld(x);
  if (clip !== undefined) checkRange(clip, `${place}: clip`);
  if (weight !== undefined && !finite(weight)) throw badTerm(place, `weight is ${show(weight)}; it is a finite number`);
  if (scale !== undefined && !(Array.isArray(scale) ? scale.every(finite) : finite(scale)))
    throw badTerm(place, `scale is ${show(scale)}; it is a finite number, or one for each value`);
  if (history !== undefined && !(Number.isInteger(history) && history >= 1 && history <= 1000))
    throw badTerm(place, `history is ${show(history)}; it is a whole number from 1 to 1000`);
  const [least, most] = rangeOf(delay);
  const steps = (x: unknown) => Number.isInteger(x) && (x as number) >= 0 && (x as number) <= MOST_DELAY;
  if (!steps(least) || !steps(most) || least > most || (Array.isArray(delay) && delay.length !== 2))
    throw badTerm(place, `delay is ${show(delay)}; it is control steps, 0 to ${MOST_DELAY}, or [least, most] of them`);
  if (typeof noise === "object") checkRange(noise.uniform, `${place}: noise.uniform`);
  else if (noise !== undefined && !(finite(noise) && noise >= 0))
    throw badTerm(place, `noise is ${show(noise)}; it is a standard deviation, or { uniform: [low, high] }`);
}

/** @throws CorralError bad-term unless it is [low, high] with finite low <= high */
function checkRange(range: unknown, name: string): void {
  const ok =
    Array.isArray(range) &&
    range.length === 2 &&
    range.every((x) => typeof x === "number" && isHeld(x)) &&
    range[0] <= range[1];
  if (!ok)
    throw new CorralError("bad-term", `${name} is ${show(range)}; it is [low, high], finite, low <= high.`, {
      term: name,
    });
}

/** Runs what belongs to a part of a task: what it throws says in which. */
export function within<T>(place: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof CorralError))
      throw new CorralError("term-threw", `${place}: it throws ${String(error)}.`, { term: place }, { cause: error });
    if (!String(error.details.term).startsWith(place)) throw placed(place, error);
    throw error;
  }
}

function placed(place: string, error: CorralError): CorralError {
  const [inner, message] = [error.details.term, error.message.replace(/^\[[^\]]*\] /, "")];
  // the task is named once
  const text = message.replace(/^task [^,]*, /, "in ");
  const details = { ...error.details, term: place };
  return new CorralError(error.code, `${place}${inner === undefined ? ":" : ","} ${text}`, details, { cause: error });
}

/** The value of a term's source. */
export const sourceValue = <O extends object>(source: TermSource<O>, scene: Scene<O>, place: string): Value =>
  within(place, () => {
    const value = typeof source === "function" ? source(scene) : source;
    if (typeof value === "string") return evaluate({ text: value, name: place }, scene);
    if (Array.isArray(value)) return { kind: "float", items: value.map((x) => numberOf(x, place)), single: false };
    if (isTruth(value as Scalar)) return { kind: "bool", items: [value as Bool], single: true };
    return { kind: "float", items: [numberOf(value, place)], single: true };
  });

/** What the task's `values` are worth in a scene, by name. */
export function sharedValues<O extends object>(task: Task<O>): SharedValues<O> {
  const sources = new Map(Object.entries(task.values ?? {}));
  for (const name of sources.keys()) {
    const why = unfitName(name);
    if (why) throw badTerm(placeOf(task, "values", name), why);
  }
  const open: string[] = [];
  return {
    names: [...sources.keys()],
    read(name, scene) {
      const source = sources.get(name);
      if (source === undefined) return undefined;
      const place = placeOf(task, "values", name);
      if (open.includes(name)) throw badTerm(place, `it is made of itself: ${[...open, name].join(", then ")}`);
      open.push(name);
      try {
        const value = sourceValue(source, scene, place);
        // a list of one, such as a command of one number, is a number
        return { ...value, single: value.items.length === 1 };
      } finally {
        open.pop();
      }
    },
  };
}

function numberOf(x: unknown, place: string): Scalar {
  if (x instanceof TraceNode && x.type !== "bool") return toF32(x);
  if (typeof x === "number" && Number.isFinite(x)) return x;
  if (isTruth(x as Scalar)) return select(x as Bool, 1, 0, "f32");
  if (x === undefined) throw badTerm(place, "it gives undefined. Fields are read as d.qpos.at(0), d.xpos.vec3(body)");
  throw badTerm(
    place,
    `it gives ${x === null ? "null" : typeof x === "number" ? String(x) : typeof x}, which is no finite number`,
  );
}

/** The numbers of a value: of what is observed or reported, a condition is 1 or 0. */
function numbersOf(value: Value, { name, onlyNumbers }: TermPlace): readonly Scalar[] {
  if (value.kind === "float") return value.items.map(toF32);
  if (!onlyNumbers) return value.items.map((x) => decided(x, select(x, 1, 0, "f32")));
  const text = `it gives ${describeValue(value)}; it is a number. Choose one, as in x > 0 ? 1 : 0`;
  throw badTerm(name, text, "term-shape");
}

/** The numbers of a term: noise, clip, scale and weight applied. */
export function termNumbers<O extends object>(term: Term<O>, scene: Scene<O>, place: TermPlace): readonly Scalar[] {
  const { source, options } = splitTerm(term, place);
  let items = numbersOf(sourceValue(source, scene, place.name), place);
  const endless = items.find((x) => typeof x === "number" && !isHeld(x));
  if (endless !== undefined)
    throw badTerm(place.name, `it gives ${show(endless)}, which is infinite in float32; a term is finite`);
  const { noise, clip, scale, weight } = options;
  if (noise !== undefined && noise !== 0) items = noisy(items, noise, scene);
  if (clip) items = items.map((x) => clipped(x, clip[0], clip[1]));
  if (Array.isArray(scale) && scale.length !== items.length)
    throw badTerm(place.name, `scale has ${scale.length} numbers; the term has ${items.length}`);
  if (scale !== undefined)
    items = items.map((x, i) => mul(x, Array.isArray(scale) ? (scale as number[])[i] : (scale as number)));
  return weight === undefined ? items : items.map((x) => mul(x, weight));
}

function noisy(items: readonly Scalar[], noise: NonNullable<Options["noise"]>, scene: Scene): Scalar[] {
  if (typeof noise === "number") {
    return scene.noise.normals(items.length).map((n, i) => add(items[i], mul(n, noise)));
  }
  const [low, high] = noise.uniform;
  return scene.noise.uniforms(items.length).map((u, i) => add(items[i], add(low, mul(u, sub(high, low)))));
}

/** The one number of a term. */
export function termNumber<O extends object>(term: Term<O>, scene: Scene<O>, place: TermPlace): Scalar {
  const items = termNumbers(term, scene, place);
  if (items.length === 1) return items[0];
  throw badTerm(
    place.name,
    `it gives ${items.length} numbers; it is one. Join them with sum(...), mean(...) or length(...)`,
    "term-shape",
  );
}

/** The one condition of a term. */
export function termCondition<O extends object>(term: Term<O>, scene: Scene<O>, place: TermPlace): Bool {
  const value = sourceValue(splitTerm(term, place).source, scene, place.name);
  if (value.kind === "bool" && value.items.length === 1) return value.items[0];
  const remedy = value.kind === "bool" ? "Join them with any(...) or all(...)" : "Compare, as in x > 0";
  throw badTerm(place.name, `it gives ${describeValue(value)}; it is one condition. ${remedy}`, "term-shape");
}
