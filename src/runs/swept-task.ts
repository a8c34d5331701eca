// a task whose worlds differ by what a sweep varies: numbers of the model, pushes, parameters, the delay of actions
import { CorralError } from "../core/errors.ts";
import { alternatives } from "../core/names.ts";
import { inLine, listed, show } from "../core/show.ts";
import { push } from "../env/task/terms/starts.ts";
import type { Disturbance, Randomisation, RandomField, Scene, Task } from "../env/task/task.ts";
import { mjtJoint } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { mul } from "../trace/scalar.ts";

/**
 * What a sweep varies, and its values: a factor (`mass`, `friction`, ...), `push`, `delay`, `param.NAME`, or an entry of what
 * the task draws, `randomise.NAME`.
 */
export interface SweepAxis {
  readonly name: string;
  readonly values: readonly number[];
}

const STRENGTH = "strength";
const FRICTION = "friction";

/** Factors of numbers of the model, the same for all objects of a world. */
const FACTORS: Readonly<Record<string, Omit<Randomisation, "set" | "scale" | "add" | "shared">>> = {
  mass: { field: ["body_mass", "body_inertia"] },
  [FRICTION]: { field: "geom_friction", element: 0 },
  damping: { field: "dof_damping" },
  armature: { field: "dof_armature" },
  [STRENGTH]: { field: ["actuator_gainprm", "actuator_biasprm"] },
  gravity: { field: "gravity" },
};

/** Numbers that act with those of a factor and that no world draws: a sweep would leave them as they are. */
const UNSCALED: Readonly<Record<string, readonly (keyof Model & `${string}_${string}`)[]>> = {
  damping: ["dof_dampingpoly", "actuator_damping", "actuator_dampingpoly"],
  armature: ["actuator_armature"],
};

/** The axis of which each value takes kernels of its own: control steps that actions wait. */
export const DELAY = "delay";
const PUSH = "push";
const RANDOMISE = "randomise.";

type Event = (scene: Scene<object>) => Disturbance;

const bad = (text: string, details: Record<string, unknown> = {}): CorralError =>
  new CorralError("bad-sweep", `${text}.`, details);

/** What a sweep makes of a task: the task, options of its batch, and the parameter of each axis but `delay`. */
export interface SweptTask {
  readonly task: Task<object>;
  readonly options: { readonly randomise: Readonly<Record<string, Randomisation>> };
  readonly params: ReadonlyMap<string, string>;
}

/**
 * A task that reads what is varied from parameters of its worlds. `given` is what the batch randomises beside the task.
 * @throws CorralError bad-sweep
 */
export function sweptTask(
  task: Task<object>,
  model: Model,
  axes: readonly SweepAxis[],
  given: Readonly<Record<string, Randomisation>> = {},
): SweptTask {
  const params: Record<string, number | readonly number[]> = { ...task.params };
  const randomise: Record<string, Randomisation> = { ...given };
  const drawn: Readonly<Record<string, Randomisation>> = { ...task.randomise, ...given };
  const events: Record<string, Event> = { ...task.events };
  const names = new Map<string, string>();
  for (const [k, axis] of axes.entries()) {
    const { name, values } = axis;
    assertAxis(axis);
    if (names.has(name)) throw bad(`${inLine(name)} is swept twice; give all its values at once`, { name });
    if (name === DELAY) {
      checkDelays(values);
      names.set(name, name);
      continue;
    }
    if (name.startsWith("param.")) {
      names.set(name, ownParam(task, name.slice("param.".length)));
      continue;
    }
    // names of entries may be no names of expressions
    const param = `sweep_${k}`;
    names.set(name, param);
    params[param] = values[0];
    const distribution = { value: `param.${param}`, within: [Math.min(...values), Math.max(...values)] } as const;
    if (name.startsWith(RANDOMISE) && Object.hasOwn(drawn, name.slice(RANDOMISE.length))) {
      const entry = name.slice(RANDOMISE.length);
      const { set: _set, scale, add, ...others } = drawn[entry];
      const how = scale === undefined ? (add === undefined ? "set" : "add") : "scale";
      randomise[entry] = { ...others, [how]: distribution };
    } else if (Object.hasOwn(FACTORS, name)) {
      assertUndrawn(name, drawn);
      // a motor that pushes the other way is no weaker one
      if (name === STRENGTH && values.some((x) => x < 0))
        throw bad(`strength is ${show(values)}; it is a factor of what actuators push with, at least 0`, { name });
      const factor = { scale: distribution, shared: true };
      randomise[`sweep ${name}`] = { ...FACTORS[name], ...fieldsIn(model, name), ...factor };
      // contacts of explicit pairs have friction of their own, along two tangents
      if (name === FRICTION && model.npair > 0)
        randomise[`sweep ${name} of pairs`] = { field: "pair_friction", element: [0, 1], ...factor };
    } else if (name === PUSH) {
      if (values.some((x) => x < 0))
        throw bad(`push is ${show(values)}; it is the most velocity, at least 0`, { name });
      events[PUSH] = pushOf(param);
    } else {
      const entries = Object.keys(drawn).map((entry) => `${RANDOMISE}${entry}`);
      const known = [...entries, ...Object.keys(FACTORS), PUSH, DELAY, ...paramsOf(task)];
      const { hint, nearest } = alternatives(name, known);
      throw bad(`${task.id} has nothing called "${inLine(name)}" to sweep; ${hint}`, { name, nearest });
    }
  }
  return { task: { ...task, params, events }, options: { randomise }, params: names };
}

/** @throws CorralError bad-sweep for what is no axis */
export function assertAxis(axis: SweepAxis): void {
  const { name, values } = Object(axis) as Partial<SweepAxis>;
  if (typeof name !== "string" || name === "") throw bad(`an axis is called ${show(name)}; pass its name`);
  if (!Array.isArray(values) || values.length === 0 || !values.every(Number.isFinite))
    throw bad(`values of ${inLine(name)} are ${show(values)}; pass finite numbers`, { name });
}

function checkDelays(values: readonly number[]): void {
  if (values.every((x) => Number.isInteger(x) && x >= 0)) return;
  throw bad(`delay is ${show(values)}; it is whole control steps that actions wait`, { name: DELAY });
}

const paramsOf = (task: Task<object>): string[] => Object.keys(task.params ?? {}).map((name) => `param.${name}`);

function ownParam(task: Task<object>, name: string): string {
  const value = Object.hasOwn(task.params ?? {}, name) ? task.params![name] : undefined;
  if (typeof value === "number") return name;
  if (value !== undefined) throw bad(`param.${inLine(name)} of ${task.id} is no single number`, { name });
  const { hint, nearest } = alternatives(`param.${name}`, paramsOf(task));
  throw bad(`${task.id} has no parameter "${inLine(name)}"; ${hint}`, { name, nearest });
}

/** The fields that say anything in a model: motors have no bias. */
function fieldsIn(model: Model, name: string): Pick<Randomisation, "field"> {
  const { field } = FACTORS[name];
  if (field === "gravity") return { field };
  const all = typeof field === "string" ? [field] : field;
  const isSaid = (one: string) => Array.from(model[one as "body_mass"]).some((x) => x !== 0);
  const beside = (UNSCALED[name] ?? []).filter(isSaid);
  if (beside.length > 0)
    throw bad(
      `${name} is a factor of ${listed([...all])}, and this model has ${listed([...beside])} too, which no world draws; scale ${all[0]} alone in randomise of the task and sweep that`,
      { name },
    );
  const said = all.filter(isSaid);
  if (said.length > 0) return { field: typeof field === "string" ? field : said };
  throw bad(`${name} is a factor of ${listed([...all])}, which this model has none of that is not 0; leave it out`, {
    name,
  });
}

/** What a task draws itself is swept under its own name: both would move the same numbers. */
function assertUndrawn(name: string, drawn: Readonly<Record<string, Randomisation>>): void {
  const fieldsOf = ({ field }: Pick<Randomisation, "field">) => (typeof field === "string" ? [field] : [...field]);
  const own = new Set<RandomField>(fieldsOf(FACTORS[name]));
  if (name === FRICTION) own.add("pair_friction");
  const others = Object.keys(drawn).filter((other) => fieldsOf(drawn[other]).some((field) => own.has(field)));
  if (others.length === 0) return;
  const fields = listed([...own].filter((field) => others.some((other) => fieldsOf(drawn[other]).includes(field))));
  throw bad(
    `the task draws ${fields} itself, in ${listed(others)}; sweep ${RANDOMISE}${others[0]} in place of ${name}`,
    {
      name,
      others,
    },
  );
}

/** Every two to four seconds the floating base gets a velocity along the ground, of at most this much (m/s) each way. */
const pushOf =
  (param: string): Event =>
  (s: Scene) => {
    const base = s.model.jnt_type.indexOf(mjtJoint.FREE);
    if (base < 0) throw bad(`push is for models that float; this one has no free joint`);
    const { qvel } = push(base, { every: [2, 4], velocity: [1, 1, 0, 0, 0, 0] })(s);
    return { qvel: qvel!.map((v) => mul(v, s.params[param][0])) };
  };
