/**
 * The two kernels of an environment. `step`: load, physics steps, judge (finite, observe, reward, terminate, truncate),
 * autoreset, store, one invocation a world and one run a control step. `reset`: new episodes where the host asks.
 */
import { param, stage, variable, when, type Variable } from "../trace/control.ts";
import { trace, type Trace, type Type } from "../trace/graph.ts";
import { add, and, band, bor, ge, lt, ne, not, or, select, sum, toF32, toI32, uadd } from "../trace/scalar.ts";
import type { Bool, Int, Scalar } from "../trace/scalar.ts";
import { streams } from "../core/rng.ts";
import { fieldSize, type FieldName } from "../model/fields.ts";
import type { Model } from "../model/model.ts";
import type { ArenaLayout } from "../memory/layout.ts";
import { WorldKernel, type KernelSpec } from "../sim/kernel.ts";
import { mocapFrames } from "../sim/state.ts";
import { RecordIO, stateFields } from "../sim/state.ts";
import { badBit, Status } from "../sim/status.ts";
import type { Field } from "../sim/view.ts";
import { Draws } from "./draws.ts";
import { Ask, Ended, EPISODE, RESULT, RESULT_WORDS } from "./layout.ts";
import { badTask, total, type TaskShape } from "./shape.ts";
import type { Space } from "./spaces.ts";
import { evaluateEarly, needsEvaluation } from "./start-fields.ts";
import type { Named, Scene, Task } from "./task.ts";
import { badTerms, FIRST_TRIP, tripped, type Trip } from "./trips.ts";

/** What happens to worlds whose episode has ended. */
export type Autoreset = "next-step" | "same-step" | "disabled";

/** What an environment's kernels are specialised to. */
export interface EnvSpec<O extends object = object> {
  readonly task: Task<O>;
  readonly options: O;
  readonly model: Model;
  readonly shape: TaskShape;
  readonly action: Space;
  readonly autoreset: Autoreset;
  /** Bits of the status word that make a world's numbers void, and bits that only end its episode. */
  readonly voids: number;
  readonly ends: number;
  /** What stands in for the numbers of a void step. */
  readonly finite: { readonly observation: number; readonly reward: number };
  readonly nconmax: number;
  /** Conditions of the user that trip the recorder. */
  readonly trips: readonly Trip<O>[];
  readonly unroll: boolean;
  readonly exact: boolean;
  readonly params: KernelSpec["params"];
}

type Layouts = Readonly<Record<string, ArenaLayout>>;

/** Derived fields that are zero after a reset (mj_forward leaves them). */
const AFTER_STEP: ReadonlySet<FieldName> = new Set<FieldName>(["cacc", "cfrc_int", "cfrc_ext"]);

const bit = (cond: Bool, value: number): Int => select(cond, value, 0, "u32");
const number01 = (cond: Bool): Scalar => select(cond, 1, 0, "f32");
const values = (variables: readonly Variable[]): Scalar[] => variables.map((v) => v.get());
const any = (conditions: readonly Bool[]): Bool => conditions.reduce<Bool>(or, false);
const flat = (named: Named<readonly Scalar[]>): Scalar[] => Object.values(named).flat().map(toF32);

/** One world of an environment while its kernel is traced. */
class EnvWorld<O extends object> {
  readonly spec: EnvSpec<O>;
  readonly w: WorldKernel;
  readonly arenas: Layouts;
  /** The state before the step and the action; of a new episode its start, and zeros. */
  private readonly before: { readonly qpos: Variable[]; readonly qvel: Variable[] };
  private readonly action: Variable[];
  /** Low and high word. */
  seed: readonly [Int, Int] = [0, 0];
  private world: Int = 0;
  readonly number = variable("episode", 0, "u32");
  readonly length = variable("length", 0, "u32");
  /** How the episode has ended (u32). */
  readonly ended = variable("ended", 0, "u32");
  readonly return = variable("return", 0);
  private readonly carried: Variable[];

  constructor(spec: EnvSpec<O>, arenas: Layouts) {
    const { task, options, model, nconmax, unroll, exact, params } = spec;
    this.spec = spec;
    this.arenas = arenas;
    this.w = new WorldKernel({
      model,
      nconmax,
      unroll,
      exact,
      params,
      applied: false,
      outputs: task.outputs?.(options) ?? [],
      state: arenas.state,
    });
    const variables = (name: string, count: number, type: Type = "f32") =>
      Array.from({ length: count }, (_, i) => variable(`${name}_${i}`, 0, type));
    this.carried = variables("carried", total(spec.shape.carried));
    this.before = { qpos: variables("qpos_before", model.nq), qvel: variables("qvel_before", model.nv) };
    this.action = variables("action", spec.action.size, spec.action.kind === "box" ? "f32" : "i32");
  }

  io(arena: string): RecordIO {
    return new RecordIO(this.arenas[arena]);
  }

  loadEpisode(): void {
    const words = this.w.state.load("episode", "u32");
    this.seed = [words[EPISODE.seedLow], words[EPISODE.seedHigh]];
    this.world = words[EPISODE.world];
    this.number.set(words[EPISODE.number]);
    this.length.set(words[EPISODE.length]);
    this.ended.set(words[EPISODE.ended]);
    const [episodeReturn, ...carried] = this.w.state.load("task");
    this.return.set(episodeReturn);
    carried.forEach((x, i) => this.carried[i].set(x));
  }

  /** The state is now the one before the step. */
  begin(action: readonly Scalar[]): void {
    const { qpos, qvel } = this.w.d;
    this.before.qpos.forEach((v, i) => v.set(qpos.at(i)));
    this.before.qvel.forEach((v, i) => v.set(qvel.at(i)));
    this.action.forEach((v, i) => v.set(action[i] ?? 0));
  }

  store(): void {
    this.w.store();
    stage("bookkeeping", () => {
      const words = [...this.seed, this.world, this.number.get(), this.length.get(), this.ended.get()];
      this.w.state.store("episode", words, "u32");
      this.w.state.store("task", [this.return.get(), ...values(this.carried)]);
    });
  }

  /** The world as the task sees it now. */
  scene(fresh = false): Scene<O> {
    const { w, spec } = this;
    const carried: Record<string, Scalar[]> = {};
    let at = 0;
    for (const { name, size } of spec.shape.carried) {
      carried[name] = values(this.carried.slice(at, (at += size)));
    }
    return {
      model: spec.model,
      options: spec.options,
      m: w.m,
      d: w.d,
      before: { qpos: values(this.before.qpos), qvel: values(this.before.qvel) },
      action: values(this.action),
      carried,
      dt: param("dt"),
      world: this.world,
      episode: this.number.get(),
      length: this.length.get(),
      fresh,
    };
  }

  /** Keeps what the task carries to the next step; where `cond` does not hold, what it was. */
  carry(scene: Scene<O>, cond: Bool = true): void {
    const kept = flat(this.spec.task.carry?.(scene) ?? {});
    kept.forEach((x, i) => this.carried[i].set(select(cond, x, this.carried[i].get())));
  }

  /** Puts the world into the start state of its next episode. `stepped`: derived fields may hold the step's. */
  startEpisode(stepped: boolean, seed: readonly [Int, Int] = this.seed): void {
    const { w, spec } = this;
    const { model, task } = spec;
    this.seed = seed;
    this.number.set(uadd(this.number.get(), 1));
    this.length.set(0);
    this.ended.set(0);
    this.return.set(0);

    stage("reset", () => {
      const random = new Draws(this.seed, this.world, this.number.get(), streams.reset);
      const start = task.reset({ ...this.scene(true), random });
      const given: Partial<Record<FieldName, readonly Scalar[]>> = { ...start, ...mocapFrames(model) };
      for (const name of ["qpos", "qvel"] as const) {
        const count = start[name].length;
        if (count !== w.d[name].length)
          throw badTask(task.id, `reset returns ${count} values of ${name}; return ${w.d[name].length}`);
      }
      for (const name of stateFields(model, false)) fill(w.d[name], given[name]);
      if (model.nu > 0) fill(w.d.ctrl, undefined);
      this.begin([]);
      this.evaluateStart(stepped);
    });
    this.carry(this.scene(true));
  }

  /** Derived fields of the start state, as mj_forward leaves them after mj_resetData. */
  private evaluateStart(stepped: boolean): void {
    const { w, spec } = this;
    const outputs = (spec.task.outputs?.(spec.options) ?? []).filter((name) => fieldSize(spec.model, name) > 0);
    const made = outputs.filter((name) => !AFTER_STEP.has(name));
    const whole = made.some(needsEvaluation);
    if (whole) w.step(1, false);
    else evaluateEarly(w.m, w.d, made);
    // the evaluation above makes them too
    if (stepped || whole) {
      for (const name of outputs) if (AFTER_STEP.has(name)) fill(w.d[name], undefined);
    }
  }

  /** Stores what the host or a learner reads of this call. */
  storeResult(
    head: Partial<Record<keyof typeof RESULT, Scalar>>,
    terms: Scalar[],
    infos: Scalar[],
    resetInfos: Scalar[],
  ): void {
    const words: Scalar[] = Array(RESULT_WORDS).fill(0);
    const now = { status: head.status ?? 0, badTerms: head.bad_terms ?? 0, steps: "status" in head ? 1 : 0 };
    const all = { ...head, ...tripped(this.io("result").load("result"), now) };
    for (const [name, value] of Object.entries(all)) words[RESULT[name as keyof typeof RESULT]] = toF32(value);
    this.io("result").store("result", [...words, ...terms, ...infos, ...resetInfos].map(toF32));
  }

  resetInfos(): Scalar[] {
    return Object.values(this.spec.task.resetInfo?.(this.scene(true)) ?? {});
  }
}

/** Sets all of a field, to zero where there are no values. */
function fill(field: Field, values: readonly Scalar[] | undefined): void {
  for (let i = 0; i < field.length; i++) field.set(i, values?.[i] ?? 0);
}

/** Loads the action; one out of a discrete space sets BAD_CTRL (the host refuses those, a kernel may write them). */
function loadAction<O extends object>(e: EnvWorld<O>): void {
  const { action: space, task } = e.spec;
  const io = e.io("action");
  if (space.kind === "box") e.begin(io.load("action").slice(0, space.size));
  else {
    const numbers = io.load("action", "u32").slice(0, space.size).map(toI32);
    const [low, counts] = space.kind === "discrete" ? [space.start, [space.n]] : [0, space.nvec];
    const outside = numbers.map((a, i) => or(lt(a, low), ge(a, low + counts[i])));
    e.w.flag(bit(any(outside), Status.BAD_CTRL));
    e.begin(numbers);
  }
  const scene = e.scene();
  const ctrl = task.control?.(scene) ?? scene.action;
  const { nu } = e.spec.model;
  if (ctrl.length !== nu) throw badTask(task.id, `it makes ${ctrl.length} controls; the model has ${nu} actuators`);
  if (nu > 0) e.w.setCtrl(ctrl);
}

/** One control step of each world. */
export function traceStep<O extends object>(spec: EnvSpec<O>, arenas: Layouts): Trace {
  const { autoreset, task, params, unroll, exact } = spec;
  const body = () => {
    const e = new EnvWorld(spec, arenas);
    const { w } = e;
    stage("load episode", () => e.loadEpisode());
    w.load();
    const endedBefore = e.ended.get();
    // a world whose episode is over waits for its reset
    const waits: Bool = autoreset === "same-step" ? false : ne(endedBefore, 0);
    loadAction(e);
    w.step(select(waits, 0, param("nstep", "i32"), "i32"));
    e.length.set(select(waits, e.length.get(), uadd(e.length.get(), 1)));

    stage("task", () => {
      const scene = e.scene();
      const raw = {
        terms: Object.values(task.reward(scene)).map(toF32),
        infos: [...Object.values(task.info?.(scene) ?? {}), ...(w.needed ? [w.needed.get()] : [])].map(toF32),
      };
      const terminations = Object.values(task.terminated(scene));
      const truncations = [
        ...Object.values(task.truncated?.(scene) ?? {}),
        ge(e.length.get(), param("max_episode_steps", "u32")),
      ];
      e.carry(scene, autoreset === "disabled" ? not(waits) : true);
      if (autoreset === "next-step") when(waits, () => e.startEpisode(false));
      const seen = flat(task.observe(e.scene()));

      // numbers that are not finite are void: they never leave the kernel
      const total = sum(raw.terms);
      w.flag(badBit([...raw.terms, total], Status.BAD_REWARD));
      w.flag(badBit(seen, Status.BAD_OBS));
      for (const [i, trip] of spec.trips.entries()) w.flag(bit(trip.when(scene), FIRST_TRIP << i));
      const status = select(waits, 0, w.status.get(), "u32");
      const isVoid = holds(status, spec.voids);
      const usable = (x: Scalar, instead = 0) => select(isVoid, instead, x);
      const obs = seen.map((x) => usable(x, spec.finite.observation));
      const stepped = not(waits);
      const counted = (x: Scalar) => select(waits, 0, x);
      const reward = counted(usable(total, spec.finite.reward));

      const terminated = and(stepped, or(any(terminations), holds(status, spec.voids | spec.ends)));
      const truncated = and(stepped, any(truncations));
      const endedNow = bor(bit(terminated, Ended.terminated), bit(truncated, Ended.truncated));
      // with autoreset disabled a world that waits stays as it ended
      const ended = autoreset === "disabled" ? select(waits, endedBefore, endedNow) : endedNow;
      e.return.set(add(e.return.get(), reward));
      const resets = autoreset === "next-step" ? waits : autoreset === "same-step" ? ne(ended, 0) : false;
      const causes = [...terminations, ...truncations].map((c, i) => select(and(stepped, c), 2 ** i, 0, "f32"));
      const head = {
        reward,
        terminated: number01(holds(ended, Ended.terminated)),
        truncated: number01(holds(ended, Ended.truncated)),
        reset: number01(resets),
        status,
        episode_length: e.length.get(),
        episode_return: e.return.get(),
        ended_by: sum(causes),
        bad_terms: badTerms(spec.shape, raw.terms, seen),
      };
      const terms = raw.terms.map((x) => counted(usable(x)));
      const infos = raw.infos.map((x) => counted(usable(x)));

      if (autoreset === "same-step") {
        when(resets, () => {
          e.io("final_obs").store("final_obs", obs);
          e.startEpisode(true);
        });
        e.io("obs").store("obs", flat(task.observe(e.scene())));
      } else {
        if (autoreset === "disabled") e.ended.set(ended);
        else e.ended.set(select(waits, 0, ended));
        e.io("obs").store("obs", obs);
      }
      e.storeResult(head, terms, infos, e.resetInfos());
    });
    e.store();
  };
  return trace(body, { unroll, exact, params });
}

const holds = (word: Int, bits: number): Bool => (bits === 0 ? false : ne(band(word, bits), 0));

/** A new episode of each world that the host asks for; other worlds keep everything. */
export function traceReset<O extends object>(spec: EnvSpec<O>, arenas: Layouts): Trace {
  const { task, params, unroll, exact } = spec;
  const body = () => {
    const [ask, low, high] = new RecordIO(arenas.request).load("request", "u32");
    when(ne(band(ask, Ask.reset), 0), () => {
      const e = new EnvWorld(spec, arenas);
      e.loadEpisode();
      const seeded = ne(band(ask, Ask.seed), 0);
      const [oldLow, oldHigh] = e.seed;
      // the first episode of a seed is number 0
      e.number.set(select(seeded, 0xffffffff, e.number.get(), "u32"));
      e.startEpisode(false, [select(seeded, low, oldLow), select(seeded, high, oldHigh)]);
      e.io("obs").store("obs", flat(task.observe(e.scene(true))));
      e.storeResult(
        { reset: 1 },
        spec.shape.terms.map(() => 0),
        spec.shape.infos.map(() => 0),
        e.resetInfos(),
      );
      e.store();
    });
  };
  return trace(body, { unroll, exact, params });
}
