// the two kernels of an environment. `step`: load, physics steps, judge (finite, observe, reward, terminate, truncate),
// autoreset, store, one invocation a world and one run a control step. `reset`: new episodes where the host asks, or
// marks for a run of `step` that follows.
import { markStage, param, stage, when } from "../../trace/control.ts";
import { trace, type Trace, type TraceForm } from "../../trace/graph.ts";
import {
  add,
  and,
  band,
  bor,
  clamp,
  eq,
  ge,
  lt,
  ne,
  not,
  or,
  select,
  sum,
  toF32,
  toI32,
  uadd,
} from "../../trace/scalar.ts";
import type { Bool, Int, Scalar } from "../../trace/scalar.ts";
import { RecordIO } from "../../batch/kernel/record-io.ts";
import { badBit, badFieldBit, Status } from "../../physics/status.ts";
import { isUndecided } from "../task/undecided.ts";
import type { EnvSpec } from "./env-spec.ts";
import { EnvWorld, flat, type Layouts } from "./env-world.ts";
import { Ask, Ended, EPISODE } from "./layout.ts";
import { defersResets } from "./start-fields.ts";
import { badTask } from "../task/shape.ts";
import { badTerms, tripBits } from "./trips.ts";

export type { Autoreset, EnvSpec } from "./env-spec.ts";

const bit = (cond: Bool, value: number): Int => select(cond, value, 0, "u32");
const number01 = (cond: Bool): Scalar => select(cond, 1, 0, "f32");
const any = (conditions: readonly Bool[]): Bool => conditions.reduce<Bool>(or, false);

/** The action as it was given. */
export function givenAction<O extends object>(e: EnvWorld<O>): Int[] {
  const { action: space } = e.spec;
  const io = e.io("action");
  if (space.kind === "box") return io.load("action").slice(0, space.size);
  return io.load("action", "u32").slice(0, space.size).map(toI32);
}

/** Loads the action; one out of a discrete space sets BAD_CTRL (the host refuses those, a kernel may write them). */
export function loadAction<O extends object>(e: EnvWorld<O>): void {
  const { action: space, task } = e.spec;
  const numbers = givenAction(e);
  if (space.kind === "box") {
    // what acts may hide it: a bound, a table
    e.w.flag(badBit(numbers, Status.BAD_CTRL));
  } else {
    const [low, counts] = space.kind === "discrete" ? [space.start, [space.n]] : [0, space.nvec];
    const outside = numbers.map((a, i) => or(lt(a, low), ge(a, low + counts[i])));
    e.w.flag(bit(any(outside), Status.BAD_CTRL));
  }
  e.begin(numbers);
  const action = e.actions.next(e.scene().action, e.length.get());
  const ctrl = task.control(e.scene({ action })) ?? action;
  const { nu } = e.spec.model;
  if (ctrl.length !== nu) throw badTask(task.id, `it makes ${ctrl.length} controls; the model has ${nu} actuators`);
  if (nu > 0) e.w.setCtrl(ctrl);
  e.actuators.take(e.w.d, e.length.get());
}

/** What the task makes of the state after the step: terms of the reward, infos, conditions. */
function taskTerms<O extends object>(e: EnvWorld<O>) {
  const { task } = e.spec;
  const scene = e.scene();
  const taskInfos = Object.values(task.info(scene)).map(toF32);
  const terms = Object.values(task.reward(scene)).map(toF32);
  const infos = [...taskInfos, ...(e.w.needed ? [toF32(e.w.needed.get())] : [])];
  const terminations = Object.values(task.terminated(scene));
  const truncated = Object.values(task.truncated(scene));
  const truncations = [...truncated, ge(e.length.get(), param("max_episode_steps", "u32"))];
  const undecided = [...terminations, ...truncated].map(isUndecided);
  return { scene, terms, taskInfos, infos, terminations, truncations, undecided };
}

/** The status of the step, and what of its numbers is void. A world that `waits` for its reset has not stepped. */
function judge<O extends object>(
  e: EnvWorld<O>,
  { scene, terms, taskInfos, undecided }: ReturnType<typeof taskTerms<O>>,
  seen: readonly Scalar[],
  waits: Bool,
  restarts: Bool,
) {
  const { w, spec } = e;
  const total = sum(terms);
  w.flag(badBit([...terms, total], Status.BAD_REWARD));
  w.flag(badBit(seen, Status.BAD_OBS));
  w.flag(badBit(taskInfos, Status.BAD_INFO));
  w.flag(bit(any(undecided), Status.BAD_CONDITION));
  const trips = tripBits(spec.trips, scene);
  w.flag(trips.bits);
  // of a world that waits for its reset only the observation is judged: its start, or its last one
  const judged = select(waits, band(w.status.get(), Status.BAD_OBS), w.status.get(), "u32");
  const isVoid = holds(judged, spec.voids);
  const isReported = restarts === false ? not(waits) : or(not(waits), isStateFinite(e));
  const status = select(isReported, judged, 0, "u32");
  const usable = (x: Scalar, instead = 0) => select(isVoid, instead, x);
  const obs = seen.map((x) => usable(x, spec.finite.observation));
  return { total, status, usable, obs, seen, undecided: [...undecided, ...trips.undecided] };
}

/** Reward, end of the episode, autoreset: stores observation and result. */
function conclude<O extends object>(
  e: EnvWorld<O>,
  task: ReturnType<typeof taskTerms<O>>,
  { total, status, usable, obs, seen, undecided }: ReturnType<typeof judge>,
  waits: Bool,
  endedBefore: Int,
  asked: Bool,
): void {
  const { spec } = e;
  const { autoreset } = spec;
  const stepped = not(waits);
  const counted = (x: Scalar) => select(waits, 0, x);
  const [low, high] = spec.rewardClip ?? [];
  const bounded = low === undefined || high === undefined ? total : clamp(total, low, high);
  const reward = counted(usable(bounded, spec.finite.reward));

  const terminated = and(stepped, or(any(task.terminations), holds(status, spec.voids | spec.ends)));
  const truncated = and(stepped, any(task.truncations));
  const endedNow = bor(bit(terminated, Ended.terminated), bit(truncated, Ended.truncated));
  // with autoreset disabled a world that waits stays as it ended
  const ended = autoreset === "disabled" ? select(waits, endedBefore, endedNow) : endedNow;
  const terms = task.terms.map((x) => counted(usable(x)));
  e.return.set(add(e.return.get(), reward));
  e.sums.forEach((sum, i) => sum.set(add(sum.get(), terms[i])));
  const resets = autoreset === "next-step" ? waits : autoreset === "same-step" ? ne(ended, 0) : false;
  const causes = [...task.terminations, ...task.truncations].map((c, i) => select(and(stepped, c), 2 ** i, 0, "f32"));
  const head = {
    reward,
    terminated: number01(holds(ended, Ended.terminated)),
    truncated: number01(holds(ended, Ended.truncated)),
    reset: number01(resets),
    status,
    episode_length: e.length.get(),
    episode_return: e.return.get(),
    ended_by: sum(causes),
    bad_terms: badTerms(
      spec.shape,
      task.terms.map(counted),
      seen,
      task.taskInfos.map(counted),
      undecided.map((cond) => and(stepped, cond)),
    ),
  };
  const numbers = {
    terms,
    sums: e.sums.map((sum) => sum.get()),
    infos: task.infos.map((x) => counted(usable(x))),
  };

  if (autoreset === "same-step") {
    when(resets, () => {
      e.io("final_obs").store("final_obs", obs);
      e.startEpisode(true);
    });
    const start = judgeStart(e, flat(spec.task.observe(e.scene({ observes: true }))));
    e.io("obs").store("obs", start.obs);
    head.status = bor(status, start.status);
    head.bad_terms = select(ne(status, 0), head.bad_terms, start.badTerms, "f32");
  } else {
    if (autoreset === "disabled") e.ended.set(ended);
    else e.ended.set(select(waits, 0, ended));
    e.io("obs").store("obs", obs);
  }
  e.storeResult(head, numbers, asked);
}

/** One control step of each world. */
export function traceStep<O extends object>(spec: EnvSpec<O>, arenas: Layouts, form: TraceForm): Trace {
  const { autoreset, params, exact } = spec;
  const body = () => {
    const e = new EnvWorld(spec, arenas);
    const { w } = e;
    stage("load episode", () => e.loadEpisode());
    w.load();
    const endedBefore = e.ended.get();
    // a reset that the host asked for comes here as one that is due; worlds that it leaves out keep everything
    const defers = defersResets(spec);
    const marked = (bits: number): Bool => defers && holds(endedBefore, bits);
    const [asked, idle] = [marked(Ended.asked), marked(Ended.idle)];
    e.forgets = marked(Ended.seeded);
    // a world whose episode is over waits for its reset
    const waits: Bool = autoreset === "same-step" ? false : ne(endedBefore, 0);
    loadAction(e);
    stage("events", () => e.disturb(not(waits)));
    // what evaluates a step evaluates a start too: the code is there once
    const restarts = autoreset === "next-step" ? and(waits, not(idle)) : false;
    const merged = restarts !== false && e.evaluatesStart;
    if (merged) when(restarts, () => e.placeStart());
    const count = select(waits, merged ? 1 : 0, param("nstep", "i32"), "i32");
    e.step(select(idle, 0, count, "i32"), merged ? not(restarts) : true);
    if (merged) when(restarts, () => e.clearAfterStep());
    e.length.set(select(waits, e.length.get(), uadd(e.length.get(), 1)));

    stage("task", () => afterPhysics(e, waits, restarts, { endedBefore, merged, asked, idle }));
    when(not(idle), () => e.store());
    when(idle, () => {
      e.ended.set(band(endedBefore, Ended.terminated | Ended.truncated));
      e.storeEpisode();
    });
  };
  return trace(body, { ...form, exact, params });
}

/** What the task makes of the step: terms, memories, the observation, a verdict, and a new episode where one `restarts`. */
export function afterPhysics<O extends object>(
  e: EnvWorld<O>,
  waits: Bool,
  restarts: Bool,
  ended: { readonly endedBefore: Int; readonly merged: boolean; readonly asked?: Bool; readonly idle?: Bool },
): void {
  const { endedBefore, merged, asked = false, idle = false } = ended;
  e.catchUp();
  const task = taskTerms(e);
  e.carry(task.scene, not(waits));
  when(restarts, () => (merged ? e.remember() : e.startEpisode(false)));
  const seen = flat(e.spec.task.observe(e.scene({ observes: true })));
  // numbers that are not finite are void: they never leave the kernel; --bisect looks here for those that were judged
  markStage("judge");
  const verdict = judge(e, task, seen, waits, restarts);
  when(not(idle), () => conclude(e, task, verdict, waits, endedBefore, asked));
}

/** A start whose state is not finite is reported by the step that follows it, since that is recorded. */
const isStateFinite = <O extends object>({ w: { d } }: EnvWorld<O>): Bool =>
  eq(bor(badFieldBit(d.qpos, 1), badFieldBit(d.qvel, 1)), 0);

/** What a start shows: void if it is not finite, with the bit and the parts that say so. */
function judgeStart<O extends object>(e: EnvWorld<O>, seen: readonly Scalar[]) {
  const { shape, finite, voids } = e.spec;
  const bad = badBit(seen, Status.BAD_OBS);
  const isVoid = holds(bad, voids);
  const terms = badTerms(
    shape,
    shape.terms.map(() => 0),
    seen,
  );
  const obs = seen.map((x) => select(isVoid, finite.observation, x));
  return { status: select(isStateFinite(e), bad, 0, "u32"), obs, badTerms: terms };
}

const holds = (word: Int, bits: number): Bool => (bits === 0 ? false : ne(band(word, bits), 0));

/** Marks worlds for `step`, which starts their episodes. */
function markResets(arenas: Layouts): void {
  const [ask, low, high] = new RecordIO(arenas.request).load("request", "u32");
  const state = new RecordIO(arenas.state);
  const words = [...state.load("episode", "u32")];
  const asked = ne(band(ask, Ask.reset), 0);
  const seeded = and(asked, ne(band(ask, Ask.seed), 0));
  const change = (name: keyof typeof EPISODE, cond: Bool, value: Int) =>
    (words[EPISODE[name]] = select(cond, value, words[EPISODE[name]], "u32"));
  change("seedLow", seeded, low);
  change("seedHigh", seeded, high);
  // the first episode of a seed is number 0
  change("number", seeded, 0xffffffff);
  change("ended", true, bor(words[EPISODE.ended], select(asked, Ended.asked, Ended.idle, "u32")));
  change("ended", seeded, bor(words[EPISODE.ended], Ended.seeded));
  state.store("episode", words, "u32");
}

/** A new episode of each world that the host asks for; other worlds keep everything. */
export function traceReset<O extends object>(spec: EnvSpec<O>, arenas: Layouts, form: TraceForm): Trace {
  const { task, params, exact } = spec;
  if (defersResets(spec)) return trace(() => markResets(arenas), { ...form, exact, params });
  const body = () => {
    const [ask, low, high] = new RecordIO(arenas.request).load("request", "u32");
    when(ne(band(ask, Ask.reset), 0), () => {
      const e = new EnvWorld(spec, arenas);
      e.loadEpisode();
      const seeded = ne(band(ask, Ask.seed), 0);
      const [oldLow, oldHigh] = e.seed;
      // the first episode of a seed is number 0
      e.number.set(select(seeded, 0xffffffff, e.number.get(), "u32"));
      e.forgets = seeded;
      e.startEpisode(false, [select(seeded, low, oldLow), select(seeded, high, oldHigh)]);
      const start = judgeStart(e, flat(task.observe(e.scene({ fresh: true, observes: true }))));
      e.io("obs").store("obs", start.obs);
      const zeros = (names: readonly string[]) => names.map(() => 0);
      const { terms, infos } = spec.shape;
      e.storeResult(
        { reset: 1, status: start.status, bad_terms: start.badTerms },
        { terms: zeros(terms), sums: zeros(terms), infos: zeros(infos) },
        true,
      );
      e.store();
    });
  };
  return trace(body, { ...form, exact, params });
}
