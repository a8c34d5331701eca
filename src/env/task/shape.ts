// names and sizes of a task, found by tracing its functions once
import { CorralError } from "../../core/errors.ts";
import { show } from "../../core/show.ts";
import { loop, param } from "../../trace/control.ts";
import { trace } from "../../trace/graph.ts";
import { toI32, toU32, type Scalar } from "../../trace/scalar.ts";
import { fieldSize, fieldsOf, type FieldName } from "../../model/fields.ts";
import type { ModelChange } from "../../model/model-data.ts";
import type { Model } from "../../model/model.ts";
import { APPLIED, type AppliedForce } from "../../batch/kernel/record-io.ts";
import { worldData, modelView, type WorldData } from "../../physics/view.ts";
import { amountSources, drawnPlace, type ActuatorPlan } from "./actuators.ts";
import { Draws } from "./draws.ts";
import { groupsOf, type ObservationGroup } from "./observation-groups.ts";
import { drawnNumbers, drawScene } from "./draw-scene.ts";
import { randomPlan, sourcesOf, type RandomPlan } from "./randomise.ts";
import type { ControlPart } from "./action-options.ts";
import type { Space } from "../space/spaces.ts";
import type { AmountName, Disturbance, MemoryOptions, Named, Scene, Task, Update } from "./task.ts";
import { badTerm, describeReturn, isPlainObject, placeOf, within } from "./term-value.ts";
import type { TracedTask } from "./traced-task.ts";

export interface Part {
  readonly name: string;
  readonly size: number;
}

/** A value that a world keeps from step to step; see `Scene.memory`. */
export interface Memory extends Part {
  readonly update: Update<never>;
  readonly persists: boolean;
}

/** What a task returns, by name. */
export interface TaskShape {
  readonly observation: readonly Part[];
  readonly nobs: number;
  /** Where groups of observations lie in a row; none if they come in none. */
  readonly groups: Readonly<Record<string, ObservationGroup>>;
  readonly carried: readonly Part[];
  readonly memories: readonly Memory[];
  readonly terms: readonly string[];
  readonly infos: readonly string[];
  readonly resetInfos: readonly string[];
  /** What can end an episode: conditions that terminate, then those that truncate, the limit last. */
  readonly terminations: readonly string[];
  readonly truncations: readonly string[];
  /** Parameters of the task with their first values. */
  readonly params: readonly (Part & { readonly initial: readonly number[] })[];
  /** Numbers of the model that each world draws for itself. */
  readonly random: RandomPlan;
  /** What its actuators do beside the MJCF. */
  readonly actuators: ActuatorPlan;
  /** Forces that its events apply. */
  readonly forces: readonly AppliedForce[];
  /** Derived fields that the task reads, and those of them that it reads of a start state. */
  readonly outputs: readonly FieldName[];
  readonly startOutputs: readonly FieldName[];
}

/** Name of the limit of control steps among what can end an episode. */
export const LIMIT = "max_episode_steps";

const parts = (named: Named<readonly Scalar[]>): Part[] =>
  Object.entries(named).map(([name, values]) => ({ name, size: values.length }));

export const total = (list: readonly Part[]): number => list.reduce((n, p) => n + p.size, 0);

const derived = new Set<string>(fieldsOf("derived").map((f) => f.name));

/** The data, and notes of every derived field that is read, at all and within `starting`. */
function watchedData(model: Model) {
  const data = worldData(model, APPLIED);
  const seen = new Set<FieldName>();
  const atStart = new Set<FieldName>();
  let depth = 0;
  const d: WorldData = new Proxy(data, {
    get(target, name) {
      if (typeof name === "string" && derived.has(name)) {
        seen.add(name as FieldName);
        if (depth > 0) atStart.add(name as FieldName);
      }
      return target[name as FieldName];
    },
  });
  const starting = <T>(run: () => T): T => {
    depth++;
    const result = run();
    depth--;
    return result;
  };
  return { d, seen, atStart, starting };
}

interface ShapeSettings<O extends object> {
  readonly options: O;
  readonly action: Space;
  /** Controls that actions are for, if not all. */
  readonly part: ControlPart | undefined;
  readonly actuators: ActuatorPlan;
}

/**
 * Traces a task's functions into nothing.
 * @throws CorralError bad-task, bad-term, term-syntax, term-shape, unknown-name, and what the functions throw
 */
export function shapeOf<O extends object>(
  traced: TracedTask<O>,
  model: Model,
  { options, action, part, actuators }: ShapeSettings<O>,
): TaskShape {
  const { task } = traced;
  const params = paramParts(task);
  let shape: TaskShape | undefined;
  trace(() => {
    // in a runtime loop nothing is known, so that no value folds
    loop(1, (i) => {
      const { d, seen, atStart, starting } = watchedData(model);
      const word = toU32(i);
      const unknown = (size: number) => Array.from({ length: size }, () => param("dt"));
      const memories = new Map<string, Memory>();
      const base = {
        model,
        options,
        m: modelView(model),
        d,
        before: { qpos: d.qpos.all(), qvel: d.qvel.all() },
        action: action.kind === "box" ? unknown(action.size) : Array.from({ length: action.size }, () => toI32(i)),
        params: Object.fromEntries(params.map(({ name, size }) => [name, unknown(size)])),
        values: traced.values,
        actuators: (name: AmountName, actuator: number) =>
          drawnPlace(actuators, name, actuator) >= 0
            ? param("dt")
            : actuators.driven.find((one) => one.actuator === actuator)?.known[name],
        terrain: task.terrain,
        dt: param("dt"),
        world: word,
        episode: word,
        length: word,
        random: new Draws([word, word], word, word, 0),
        starting: () => new Draws([word, word], word, word, 0),
        noise: new Draws([word, word], word, word, 0),
        previous: (key: string, now: (s: Scene<O>) => readonly Scalar[]) => scene.memory(key, (s) => now(s)),
        memory: (key: string, update: Update<O>, { persists = false } = {}) => {
          const known = memories.get(key);
          if (known) return unknown(known.size);
          // a place in the order, since the update may ask for others
          memories.set(key, { name: key, size: 0, update, persists });
          const { length: size } = starting(() => update({ ...scene, fresh: true }, undefined));
          memories.set(key, { name: key, size, update, persists });
          return unknown(size);
        },
        updated: (key: string, update: Update<O>, options?: MemoryOptions) => scene.memory(key, update, options),
      };
      const fresh: Scene<O> = { ...base, carried: {}, fresh: true };
      let scene = fresh;
      // a fresh world carries nothing yet
      const first = starting(() => traced.carry(fresh));
      scene = { ...base, carried: first, fresh: false };
      const observation = starting(() => parts(traced.observe(scene)));
      const terms = Object.keys(traced.reward(scene));
      const random = randomPlan(task, model);
      for (const { distribution, place, groups } of random.drawn)
        for (const source of sourcesOf(distribution))
          drawnNumbers(source, drawScene(scene, scene.random), place, groups.length);
      for (const amount of actuators.drawn)
        for (const source of amountSources(amount))
          drawnNumbers(
            source,
            drawScene(scene, scene.random),
            amount.place,
            amount.shared ? 1 : amount.actuators.length,
          );
      const forces = forcesOf(traced, model, scene);
      checkControl(traced, model, part ? { ...scene, action: unknown(model.nu) } : scene);
      const infos = Object.keys(traced.info(scene));
      const resetInfos = starting(() => Object.keys(traced.resetInfo({ ...scene, fresh: true })));
      const terminations = Object.keys(traced.terminated(scene));
      const truncations = [...Object.keys(traced.truncated(scene)), LIMIT];
      // last: what only starts remember comes after what terms do
      traced.reset({ ...fresh, unbegun: true, d: worldData(model, APPLIED) });
      shape = {
        forces,
        random,
        actuators,
        observation,
        nobs: total(observation),
        groups: groupsOf(task.observe, observation),
        carried: parts(first),
        terms,
        infos,
        resetInfos,
        terminations,
        truncations,
        params,
        memories: [...memories.values()],
        outputs: [...new Set([...(task.outputs?.(options) ?? []), ...seen])],
        startOutputs: [...atStart],
      };
    });
  });
  check(task.id, shape!);
  return shape!;
}

/** Runs what comes before the physics of its step: it may read no derived field. */
function early<O extends object, T>(place: string, model: Model, scene: Scene<O>, run: (scene: Scene<O>) => T): T {
  const { d, seen } = watchedData(model);
  const result = run({ ...scene, d });
  const [first] = seen;
  if (first === undefined) return result;
  throw badTerm(
    place,
    `it reads ${first}, which the physics of the step makes later; read state, or before.${first}(...)`,
  );
}

function checkControl<O extends object>(traced: TracedTask<O>, model: Model, scene: Scene<O>): void {
  early(placeOf(traced.task, "control"), model, scene, (s) => traced.control(s));
}

/** Numbers of the model that are randomised per world, in the order of storage. */
export const ownNumbers = ({ random }: TaskShape): Omit<ModelChange, "value">[] => [
  ...random.entries.map(({ field, index }) => {
    const also = random.also(field, index);
    return { field, index, derived: false, ...(also.length > 0 && { also }) };
  }),
  ...random.derived.map(({ field, index }) => ({ field, index, derived: true })),
];

const DISTURBED: readonly string[] = ["qvel", ...APPLIED, "eq_active"];

/** The forces that events apply; their sizes are checked. */
function forcesOf<O extends object>({ task }: TracedTask<O>, model: Model, scene: Scene<O>): AppliedForce[] {
  const used = new Set<AppliedForce>();
  for (const [name, event] of Object.entries(task.events ?? {})) {
    const place = placeOf(task, "events", name);
    const given = within(place, () => early(place, model, scene, event));
    if (!isPlainObject(given))
      throw badTerm(place, `it returns ${describeReturn(given)}; return { ${DISTURBED.join(", ")} }, or some of them`);
    for (const [field, values] of Object.entries(given) as [keyof Disturbance, readonly Scalar[]][]) {
      if (!DISTURBED.includes(field)) throw badTerm(place, `it gives ${field}; it may give ${DISTURBED.join(", ")}`);
      const size = fieldSize(model, field);
      if (values.length !== size) throw badTerm(place, `it gives ${values.length} numbers of ${field}; give ${size}`);
      if (field === "qfrc_applied" || field === "xfrc_applied") used.add(field);
    }
  }
  return [...used];
}

function paramParts<O extends object>(task: Task<O>): TaskShape["params"] {
  return Object.entries(task.params ?? {}).map(([name, value]) => {
    const initial = typeof value === "number" ? [value] : Array.from(value);
    if (initial.length === 0 || !initial.every(Number.isFinite))
      throw badTask(task.id, `its parameter ${name} is ${show(value)}; give it a finite number, or several`);
    return { name, size: initial.length, initial };
  });
}

function check(id: string, shape: TaskShape): void {
  if (shape.nobs === 0) throw badTask(id, "its observation is empty; return at least one value");
  const blind = Object.entries(shape.groups).find(([, { size }]) => size === 0);
  if (blind) throw badTask(id, `its group of observations "${blind[0]}" is empty; give it a term, or leave it out`);
  const ends = [...shape.terminations, ...shape.truncations];
  const names = [...shape.terms, ...shape.infos];
  for (const list of [ends, names]) {
    const twice = list.find((name, i) => list.indexOf(name) !== i);
    if (twice !== undefined) throw badTask(id, `it names ${twice} twice; give each its own name`);
  }
  // they are bits of a float
  if (ends.length > 24) throw badTask(id, `it has ${ends.length} conditions that end an episode; join some to have 24`);
}

/** A task that cannot be. */
export const badTask = (id: string, text: string): CorralError =>
  new CorralError("bad-task", `task ${id}: ${text}.`, { id });
