// a task as its kernels read it: every term a function over traced scalars
import type { Model } from "../../model/model.ts";
import { TraceNode } from "../../trace/nodes.ts";
import {
  add,
  div,
  floor,
  ge,
  isFinite32,
  min,
  mul,
  select,
  sqrt,
  sub,
  type Bool,
  type Scalar,
} from "../../trace/scalar.ts";
import { clipped } from "./finite.ts";
import type { Named, Scene, SharedValues, Start, Task, Term, TermOptions, Terms } from "./task.ts";
import { rowOf } from "./observation-groups.ts";
import type { ObservationOptions } from "./options.ts";
import {
  badTerm,
  describeReturn,
  isPlainObject,
  placeOf,
  rangeOf,
  sharedValues,
  sourceValue,
  splitTerm,
  termCondition,
  termNumber,
  termNumbers,
  termsIn,
  within,
} from "./term-value.ts";

/** The functions of a task, with expressions and options of terms resolved. */
export interface TracedTask<O extends object = object> {
  readonly id: string;
  readonly task: Task<O>;
  /** What terms share. */
  readonly values: SharedValues<O>;
  control(scene: Scene<O>): readonly Scalar[] | undefined;
  carry(scene: Scene<O>): Named<readonly Scalar[]>;
  observe(scene: Scene<O>): Named<readonly Scalar[]>;
  reward(scene: Scene<O>): Named<Scalar>;
  terminated(scene: Scene<O>): Named<Bool>;
  truncated(scene: Scene<O>): Named<Bool>;
  info(scene: Scene<O>): Named<Scalar>;
  resetInfo(scene: Scene<O>): Named<Scalar>;
  reset(scene: Scene<O>): Start & Required<Pick<Start, "qpos" | "qvel">>;
}

const OBSERVATION: readonly (keyof TermOptions)[] = ["noise", "clip", "scale", "history", "delay"];
const REWARD: readonly (keyof TermOptions)[] = ["clip", "scale", "weight"];
const INFO: readonly (keyof TermOptions)[] = ["clip", "scale"];
/** Added to variances, so that what does not vary stays finite. */
const VARIANCE_FLOOR = 1e-8;

/** Resolves a task. Nothing is evaluated before its functions are called in a trace. */
export function tracedTask<O extends object>(
  task: Task<O>,
  model: Model,
  observation: ObservationOptions = {},
): TracedTask<O> {
  const numbers =
    (group: string, terms: Terms<O> | undefined, takes: readonly (keyof TermOptions)[], onlyNumbers = false) =>
    (scene: Scene<O>) =>
      each(terms, scene, placeOf(task, group), (term, name) =>
        termNumber(term, scene, { name: placeOf(task, group, name), takes, onlyNumbers }),
      );
  const conditions = (group: string, terms: Terms<O> | undefined) => (scene: Scene<O>) =>
    each(terms, scene, placeOf(task, group), (term, name) =>
      termCondition(term, scene, { name: placeOf(task, group, name), takes: [] }),
    );
  const row = { ...task, observe: rowOf(task) };
  return {
    id: task.id,
    task,
    values: sharedValues(task),
    control: (scene) => {
      if (task.control === undefined) return undefined;
      const value = sourceValue(task.control, scene, placeOf(task, "control"));
      if (value.kind === "float") return value.items;
      throw badTerm(placeOf(task, "control"), "it gives truth values; controls are numbers", "term-shape");
    },
    carry: (scene) => within(placeOf(task, "carry"), () => task.carry?.(scene) ?? {}),
    observe: (scene) =>
      each(row.observe, scene, placeOf(task, "observe"), (_, name) =>
        new ObservationTerm(row, name, observation).values(scene),
      ),
    reward: numbers("reward", task.reward, REWARD, true),
    terminated: conditions("terminated", task.terminated),
    truncated: conditions("truncated", task.truncated),
    info: numbers("info", task.info, INFO),
    resetInfo: numbers("resetInfo", task.resetInfo, INFO),
    reset: (scene) => {
      const place = placeOf(task, "reset");
      const start = task.reset ? within(place, () => task.reset!(scene)) : {};
      checkStart(start, model, place);
      return {
        ...start,
        qpos: start.qpos ?? scene.m.qpos0.run(0, model.nq),
        qvel: start.qvel ?? Array<Scalar>(model.nv).fill(0),
      };
    },
  };
}

/** @throws CorralError bad-term for other fields than those of a start, other sizes, and what is no finite number */
function checkStart(start: unknown, { nq, nv, na, nmocap, neq }: Model, place: string): void {
  const sizes: Readonly<Record<string, number>> = {
    qpos: nq,
    qvel: nv,
    act: na,
    mocap_pos: 3 * nmocap,
    mocap_quat: 4 * nmocap,
    eq_active: neq,
  };
  if (!isPlainObject(start))
    throw badTerm(
      place,
      `it returns ${describeReturn(start)}; return { qpos, qvel, act }, or what of them is not zero`,
    );
  for (const [name, given] of Object.entries(start)) {
    if (given === undefined) continue;
    const size = sizes[name];
    if (size === undefined) throw badTerm(place, `it returns ${name}; a start has ${Object.keys(sizes).join(", ")}`);
    const values: readonly unknown[] =
      Array.isArray(given) || ArrayBuffer.isView(given) ? Array.from(given as never) : [];
    if (values.length !== size) throw badTerm(place, `it returns ${values.length} values of ${name}; return ${size}`);
    const bad = values.findIndex((x) => !(x instanceof TraceNode) && !Number.isFinite(x));
    if (bad >= 0)
      throw badTerm(place, `it returns ${String(values[bad])} for ${name}[${bad}]; a start is finite numbers`);
  }
}

function each<O extends object, T>(
  terms: Terms<O> | undefined,
  scene: Scene<O>,
  place: string,
  make: (term: Term<O>, name: string) => T,
): Named<T> {
  return Object.fromEntries(
    Object.entries(termsIn(terms, scene, place)).map(([name, term]) => [name, make(term, name)]),
  );
}

/** What is observed in one row, of all groups. */
type RowTask<O extends object> = Pick<Task<O>, "id"> & { readonly observe: Terms<O> };

/** One term of an observation. What needs the steps before is kept in the world's memory. */
class ObservationTerm<O extends object> {
  readonly #task: RowTask<O>;
  readonly #name: string;
  readonly #place: { readonly name: string; readonly takes: readonly (keyof TermOptions)[] };
  readonly #all: ObservationOptions;

  constructor(task: RowTask<O>, name: string, all: ObservationOptions) {
    this.#task = task;
    this.#name = name;
    this.#place = { name: placeOf(task, "observe", name), takes: OBSERVATION };
    this.#all = all;
  }

  // found again in each trace: a memory may use nothing of another trace
  #term(scene: Scene<O>): Term<O> {
    return termsIn(this.#task.observe, scene, placeOf(this.#task, "observe"))[this.#name];
  }

  #plain(scene: Scene<O>): readonly Scalar[] {
    return termNumbers(this.#term(scene), scene, this.#place);
  }

  values(scene: Scene<O>): readonly Scalar[] {
    const { normalize = false } = this.#all;
    const { history = this.#all.history ?? 1, delay = 0 } = splitTerm(this.#term(scene), this.#place).options;
    const lags = rangeOf(delay);
    const length = history + lags[1];
    const key = `observe.${this.#name}`;
    if (length > 1 || normalize) {
      const kept = scene.memory(key, (s, before) => this.#next(s, before, length, normalize), { persists: normalize });
      // moments come first: 1 + 2 n numbers before length * n
      const values = normalize ? kept.slice(1 + (2 * (kept.length - 1)) / (2 + length)) : kept;
      return late(values, values.length / length, history, lags, (least, most) =>
        scene.memory(`${key}.delay`, (s, before) => before ?? [draw(s, least, most)]),
      );
    }

    // observations are made when the step has become the one before
    let looksBack = false;
    const watched: Scene<O> = {
      ...scene,
      previous: (name, now) => {
        looksBack = true;
        return scene.previous(name, now);
      },
    };
    const now = this.#clipped(this.#plain(watched));
    return looksBack ? scene.memory(key, (s) => this.#clipped(this.#plain(s))) : now;
  }

  #clipped(values: readonly Scalar[]): readonly Scalar[] {
    const { clip } = this.#all;
    return clip ? values.map((x) => clipped(x, clip[0], clip[1])) : values;
  }

  /** Moments if values are normalised, then the last values, newest first. */
  #next(scene: Scene<O>, before: readonly Scalar[] | undefined, history: number, normalize: boolean): Scalar[] {
    const values = this.#plain(scene);
    const n = values.length;
    const size = normalize ? 1 + 2 * n : 0;
    const moments = normalize ? welford(before?.slice(0, size) ?? Array<Scalar>(size).fill(0), values) : [];
    const now = this.#clipped(normalize ? standardized(values, moments) : values);
    const past =
      before && !scene.fresh
        ? before.slice(size, size + (history - 1) * n)
        : Array(history - 1)
            .fill(now)
            .flat();
    return [...moments, ...now, ...(past as Scalar[])];
  }
}

/** A whole number from `least` to `most`, each as often. */
const draw = (s: Scene, least: number, most: number): Scalar =>
  add(least, min(floor(mul(s.random.uniforms(1)[0], most - least + 1)), most - least));

/** `history` values of `n` numbers each, as many steps late as `lagOf` says; the newest come first. */
function late(
  values: readonly Scalar[],
  n: number,
  history: number,
  [least, most]: readonly [number, number],
  lagOf: (least: number, most: number) => readonly Scalar[],
): readonly Scalar[] {
  const from = (lag: number) => values.slice(lag * n, (lag + history) * n);
  if (least === most) return from(least);
  const [lag] = lagOf(least, most);
  return Array.from({ length: most - least }, (_, i) => least + 1 + i).reduce<readonly Scalar[]>(
    (now, next) => from(next).map((x, i) => select(ge(lag, next - 0.5), x, now[i], "f32")),
    from(least),
  );
}

/** Count, means and sums of squared deviations with one more value each (Welford). */
function welford(before: readonly Scalar[], values: readonly Scalar[]): Scalar[] {
  const n = values.length;
  const count = add(before[0], 1);
  const delta = values.map((x, i) => sub(x, before[1 + i]));
  // a value that is not finite must not spoil all those to come
  const sound = (next: Scalar, last: Scalar) => select(isFinite32(next), next, last, "f32");
  const means = values.map((_, i) => sound(add(before[1 + i], div(delta[i], count)), before[1 + i]));
  const squares = values.map((x, i) =>
    sound(add(before[1 + n + i], mul(delta[i], sub(x, means[i]))), before[1 + n + i]),
  );
  return [count, ...means, ...squares];
}

/** Values less their means, over their standard deviations. */
function standardized(values: readonly Scalar[], [count, ...moments]: readonly Scalar[]): Scalar[] {
  const n = values.length;
  const deviation = (i: number) => sqrt(add(div(moments[n + i], count), VARIANCE_FLOOR));
  return values.map((x, i) => div(sub(x, moments[i]), deviation(i)));
}
