// one world of an environment while its kernel is traced: its record, its scene, the start of its episodes
import { param, stage, variable, type Variable } from "../../trace/control.ts";
import type { Type } from "../../trace/operations.ts";
import { add, and, ne, select, sum, toF32, uadd, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { streams } from "../../core/rng.ts";
import { fieldSize, type FieldName } from "../../model/fields.ts";
import type { ArenaLayout } from "../../memory/layout.ts";
import { WorldKernel } from "../../batch/kernel/simulation-kernel.ts";
import { initialState, RecordIO, stateFields } from "../../batch/kernel/record-io.ts";
import type { Field } from "../../physics/view.ts";
import { ActionLine } from "./action-line.ts";
import { ActuatorLine } from "./actuator-line.ts";
import { Draws } from "../task/draws.ts";
import { EPISODE, PER_WORLD, RESULT, RESULT_WORDS } from "./layout.ts";
import { total, type Part } from "../task/shape.ts";
import type { EnvSpec } from "./env-spec.ts";
import { Memories } from "./memories.ts";
import type { Disturbance, Named, Scene } from "../task/task.ts";
import {
  AFTER_STEP,
  evaluateEarly,
  MOTION,
  needsEvaluation,
  needsMoreThanFrames,
  startFields,
} from "./start-fields.ts";
import { tripped } from "./trips.ts";
import { WorldModel } from "./world-model.ts";

/** What is stored of a call: the first words of a result, and the task's numbers after them. */
type Head = Partial<Record<keyof typeof RESULT, Scalar>>;
interface Numbers {
  readonly terms: readonly Scalar[];
  readonly sums: readonly Scalar[];
  readonly infos: readonly Scalar[];
}

export type Layouts = Readonly<Record<string, ArenaLayout>>;

const values = (variables: readonly Variable[]): Scalar[] => variables.map((v) => v.get());
export const flat = (named: Named<readonly Scalar[]>): Scalar[] => Object.values(named).flat().map(toF32);

/** `eq_active` is a boolean of MuJoCo's: what is not 0 is 1. */
const switched = (x: Scalar): Scalar => select(ne(x, 0), 1, 0, "f32");

/** Named runs of numbers, one after the other. */
function slices(parts: readonly Part[], numbers: readonly Scalar[]): Named<readonly Scalar[]> {
  let at = 0;
  return Object.fromEntries(parts.map(({ name, size }) => [name, numbers.slice(at, (at += size))]));
}

/** When a scene is: where an episode starts, whether its memories are made, or were made already. */
interface SceneKind {
  readonly fresh?: boolean;
  readonly starts?: boolean;
  readonly observes?: boolean;
  /** Of its random numbers. */
  readonly stream?: number;
  readonly action?: readonly Scalar[];
}

/** One world of an environment while its kernel is traced. */
export class EnvWorld<O extends object> {
  readonly spec: EnvSpec<O>;
  readonly w: WorldKernel;
  readonly arenas: Layouts;
  /** The state before the step and the action; of a new episode its start, and zeros. */
  readonly #before: { readonly qpos: Variable[]; readonly qvel: Variable[] };
  readonly #action: Variable[];
  /** Low and high word. */
  seed: readonly [Int, Int] = [0, 0];
  #world: Int = 0;
  readonly number = variable("episode", 0, "u32");
  readonly length = variable("length", 0, "u32");
  /** How the episode has ended (u32). */
  readonly ended = variable("ended", 0, "u32");
  readonly return = variable("return", 0);
  /** Sum of each term of the reward in this episode. */
  readonly sums: readonly Variable[];
  readonly actions: ActionLine;
  readonly actuators: ActuatorLine;
  /** The world's own (randomised) numbers of the model. */
  readonly #own: WorldModel;
  readonly #carried: readonly Variable[];
  readonly #memories: Memories;
  #params: Named<readonly Scalar[]> = {};
  /** Whether memories that persist are forgotten: a reset that brings a seed. */
  forgets: Bool = false;

  constructor(spec: EnvSpec<O>, arenas: Layouts) {
    const { model, nconmax, exact, params, shape, action } = spec;
    const { outputs, forces } = shape;
    this.spec = spec;
    this.arenas = arenas;
    this.#own = new WorldModel(shape.random, model);
    this.actuators = new ActuatorLine(shape.actuators, model, this.#own.perWorld);
    const { perWorld } = this.actuators;
    this.w = new WorldKernel({
      model,
      nconmax,
      exact,
      params,
      applied: false,
      forces,
      outputs,
      perWorld,
      state: arenas.state,
    });
    const variables = (name: string, count: number, type: Type = "f32") =>
      Array.from({ length: count }, (_, i) => variable(`${name}_${i}`, 0, type));
    this.sums = variables("sum", shape.terms.length);
    this.#carried = variables("carried", total(shape.carried));
    this.#memories = new Memories(spec.task.id, shape.memories);
    this.actions = new ActionLine(spec.actuation, action);
    this.#before = { qpos: variables("qpos_before", model.nq), qvel: variables("qvel_before", model.nv) };
    this.#action = variables("action", action.size, action.kind === "box" ? "f32" : "i32");
  }

  /** All that the field `task` keeps, in order. */
  get #kept(): Variable[] {
    const task = [...this.sums, ...this.#carried, ...this.#memories.kept];
    return [this.return, ...task, ...this.actions.kept, ...this.actuators.kept];
  }

  io(arena: string): RecordIO {
    return new RecordIO(this.arenas[arena]);
  }

  loadEpisode(): void {
    const words = this.w.state.load("episode", "u32");
    this.seed = [words[EPISODE.seedLow], words[EPISODE.seedHigh]];
    this.#world = words[EPISODE.world];
    this.number.set(words[EPISODE.number]);
    this.length.set(words[EPISODE.length]);
    this.ended.set(words[EPISODE.ended]);
    const kept = this.#kept;
    this.w.state.load("task").forEach((x, i) => kept[i].set(x));
    const own = this.#own.kept;
    if (own.length > 0) this.w.state.load(PER_WORLD).forEach((x, i) => own[i].set(x));
    this.#own.settle();
    const { params } = this.spec.shape;
    if (params.length > 0) this.#params = slices(params, this.io("task_params").load("task_params"));
  }

  /** The state is now the one before the step. */
  begin(action: readonly Scalar[]): void {
    const { qpos, qvel } = this.w.d;
    this.#before.qpos.forEach((v, i) => v.set(qpos.at(i)));
    this.#before.qvel.forEach((v, i) => v.set(qvel.at(i)));
    this.#action.forEach((v, i) => v.set(action[i] ?? 0));
  }

  /** The action and the state before a step whose physics was elsewhere. */
  resume(
    action: readonly Scalar[],
    before: { readonly qpos: readonly Scalar[]; readonly qvel: readonly Scalar[] },
  ): void {
    this.#action.forEach((v, i) => v.set(action[i] ?? 0));
    for (const name of ["qpos", "qvel"] as const) this.#before[name].forEach((v, i) => v.set(before[name][i]));
  }

  /** The state before the step. */
  get before(): { readonly qpos: readonly Scalar[]; readonly qvel: readonly Scalar[] } {
    return { qpos: values(this.#before.qpos), qvel: values(this.#before.qvel) };
  }

  store(): void {
    this.w.store();
    stage("bookkeeping", () => {
      this.storeEpisode();
      this.w.state.store("task", values(this.#kept));
      if (this.#own.kept.length > 0) this.w.state.store(PER_WORLD, values(this.#own.kept));
    });
  }

  storeEpisode(): void {
    const words = [...this.seed, this.#world, this.number.get(), this.length.get(), this.ended.get()];
    this.w.state.store("episode", words, "u32");
  }

  /** The world as the task sees it now; `starts`: while an episode starts, when memories are made. */
  scene({ fresh, starts, observes, stream = streams.user, action = values(this.#action) }: SceneKind = {}): Scene<O> {
    const { w, spec, seed } = this;
    const world = this.#world;
    const [episode, length] = [this.number.get(), this.length.get()];
    const made = new Map<string, readonly Scalar[]>();
    const scene: Scene<O> = {
      model: spec.model,
      options: spec.options,
      m: w.m,
      d: w.d,
      before: { qpos: values(this.#before.qpos), qvel: values(this.#before.qvel) },
      action,
      carried: slices(spec.shape.carried, values(this.#carried)),
      params: this.#params,
      terrain: spec.task.task.terrain,
      actuators: (name, actuator) => this.actuators.amount(name, actuator),
      values: spec.task.values,
      dt: param("dt"),
      world,
      episode,
      length,
      fresh: fresh === true || starts === true,
      random: new Draws(seed, world, episode, stream, length),
      starting: () => new Draws(seed, world, episode, streams.motion),
      noise: new Draws(seed, world, episode, streams.observationNoise, length),
      previous: (key, now) => scene.memory(key, (s) => now(s)),
      memory: (key, update) => (starts ? scene.updated(key, update) : this.#memories.read(key)),
      updated: (key, update) => {
        const memories = this.#memories;
        // observations come after the update
        if (observes) return memories.read(key);
        const held = () => (starts ? memories.persistent(key, this.forgets) : memories.read(key));
        const next = made.get(key) ?? update(scene, held());
        made.set(key, next);
        return next;
      },
    };
    return scene;
  }

  /** Applies what happens to the world in this step, if it makes one. */
  disturb(moves: Bool): void {
    const { w, spec } = this;
    const events = Object.values(spec.task.task.events ?? {});
    if (events.length === 0) return;
    const scene = this.scene({ stream: streams.event });
    const all = events.map((event) => event(scene));
    const total = (name: keyof Disturbance, i: number) => sum(all.map((given) => given[name]?.[i] ?? 0));
    for (const name of spec.shape.forces) for (let i = 0; i < w.d[name].length; i++) w.d[name].set(i, total(name, i));
    const active = all.findLast((given) => given.eq_active)?.eq_active;
    active?.forEach((x, e) => w.d.eq_active.set(e, select(moves, switched(x), w.d.eq_active.at(e), "f32")));
    for (let i = 0; i < spec.model.nv; i++)
      w.d.qvel.set(i, add(w.d.qvel.at(i), select(moves, total("qvel", i), 0, "f32")));
  }

  /** Stores what the task carries to the next step; where `cond` is false the old value stays. */
  carry(scene: Scene<O>, cond: Bool = true): void {
    const next = [...flat(this.spec.task.carry(scene)), ...this.#memories.after(scene)];
    const into = [...this.#carried, ...this.#memories.kept];
    next.forEach((x, i) => into[i].set(select(cond, x, into[i].get(), "f32")));
  }

  /**
   * Starts the world's next episode, derived fields and memories included. `stepped`: derived fields may hold the step's.
   */
  startEpisode(stepped: boolean, seed: readonly [Int, Int] = this.seed): void {
    this.placeStart(seed);
    stage("reset", () => this.#evaluateStart(stepped));
    this.remember();
  }

  /** Puts the world into the start state of its next episode. What depends on it is still to be evaluated. */
  placeStart(seed: readonly [Int, Int] = this.seed): void {
    const { w, spec } = this;
    const { model } = spec;
    this.seed = seed;
    this.number.set(uadd(this.number.get(), 1));
    this.length.set(0);
    this.ended.set(0);
    this.return.set(0);
    for (const sum of this.sums) sum.set(0);

    if (this.#own.kept.length > 0) {
      const random = new Draws(seed, this.#world, this.number.get(), streams.randomization);
      stage("randomise", () => this.#own.draw(random, w.m, this.scene({ fresh: true }) as Scene<never>));
    }
    if (spec.shape.actuators.drawn.length > 0) {
      const random = new Draws(seed, this.#world, this.number.get(), streams.actuators);
      stage("randomise", () => this.actuators.draw(random, this.scene({ fresh: true }) as Scene<never>));
    }
    stage("reset", () => {
      const random = new Draws(this.seed, this.#world, this.number.get(), streams.reset);
      const start = spec.task.reset({ ...this.scene({ fresh: true }), unbegun: true, random });
      const given: Partial<Record<FieldName, readonly Scalar[]>> = { ...initialState(model), ...start };
      const on = given.eq_active?.map(switched);
      for (const name of stateFields(model, false)) fill(w.d[name], name === "eq_active" ? on : given[name]);
      if (model.nu > 0) fill(w.d.ctrl, undefined);
      for (const name of spec.shape.forces) fill(w.d[name], undefined);
      this.actuators.bound(w.d);
      this.begin([]);
    });
  }

  /** The physics of a control step: `count` steps, or with `moves` false one evaluation of a start. */
  step(count: Int, moves: Bool): void {
    const { w, actuators } = this;
    w.step(count, moves, (i) => actuators.drive(w.m, w.d, i, moves));
    actuators.pass();
  }

  /** The start state was evaluated as a step is: what mj_forward leaves is zero after mj_resetData. */
  clearAfterStep(): void {
    for (const name of this.spec.shape.outputs) if (AFTER_STEP.has(name)) fill(this.w.d[name], undefined);
  }

  /** Makes places and velocities of bodies those of the state after the step, where the task wants it. */
  catchUp(): void {
    const { w, spec } = this;
    if (spec.task.task.derived !== "after") return;
    const made = spec.shape.outputs.filter((name) => fieldSize(spec.model, name) > 0 && MOTION.has(name));
    evaluateEarly(w.m, w.d, made);
  }

  /** Makes the memories of a new episode. */
  remember(): void {
    this.carry(this.scene({ starts: true }));
  }

  /** Whether what a task reads of a start state takes so much that the code of a step had better make it. */
  get evaluatesStart(): boolean {
    return startFields(this.spec).some(needsMoreThanFrames);
  }

  /** Derived fields of the start state, as mj_forward leaves them after mj_resetData. */
  #evaluateStart(stepped: boolean): void {
    const { w, spec } = this;
    const outputs = spec.shape.outputs.filter((name) => fieldSize(spec.model, name) > 0);
    const made = outputs.filter((name) => !AFTER_STEP.has(name));
    const whole = made.some((name) => needsEvaluation(w.m.model, name));
    if (whole) w.step(1, false);
    else evaluateEarly(w.m, w.d, made);
    // the evaluation above makes them too
    if (stepped || whole) this.clearAfterStep();
  }

  /**
   * Stores what the host or a learner reads of this call. `asked`: of a start that the host asked for, which is no
   * step, so that what tripped since the host last read stays.
   */
  storeResult(head: Head, numbers: Numbers, asked: Bool = false): void {
    const { status = 0, bad_terms: own = 0 } = head;
    const steps = select(asked, 0, 1, "f32");
    const now = { status: select(asked, 0, status, "u32"), badTerms: select(asked, 0, own, "f32"), steps };
    const words = tripped(this.io("result").load("result"), now);
    const bad_terms = select(and(asked, ne(status, 0)), own, words.bad_terms!, "f32");
    this.#storeWords({ ...head, ...words, bad_terms }, numbers);
  }

  #storeWords(all: Head, numbers: Numbers): void {
    const words: Scalar[] = Array(RESULT_WORDS).fill(0);
    for (const [name, value] of Object.entries(all)) words[RESULT[name as keyof typeof RESULT]] = toF32(value);
    const { terms, sums, infos } = numbers;
    const resetInfos = Object.values(this.spec.task.resetInfo(this.scene({ fresh: true })));
    this.io("result").store("result", [...words, ...terms, ...infos, ...sums, ...resetInfos].map(toF32));
  }
}

/** Sets all of a field, to zero if there are no values. */
function fill(field: Field, values: readonly Scalar[] | undefined): void {
  for (let i = 0; i < field.length; i++) field.set(i, values?.[i] ?? 0);
}
