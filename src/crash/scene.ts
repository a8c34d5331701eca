// the step of a recording in which a world broke
import { CorralError } from "../core/errors.ts";
import { Status } from "../physics/status.ts";
import type { Bundle, TrippedWorld } from "../record/bundle.ts";
import type { Blame } from "./blame.ts";
import { Deadline } from "./deadline.ts";
import { Interpreter } from "./interpreter.ts";
import { numbersOf } from "../record/words.ts";
import { Reexecution, type ReexecuteOptions } from "./reexecute.ts";
import { executed, type ReplayReport } from "./replay.ts";
import { resultOf, type Moment } from "./timeline.ts";

/** Where a world broke. */
export interface CrashFindings {
  readonly world: number;
  readonly id: number;
  /** Control step of the batch and of the world's episode, counted from 1. */
  readonly step: number;
  readonly episodeStep: number;
  readonly status: readonly string[];
  /** Terms of the reward and parts of the observation that were not finite. */
  readonly terms: readonly string[];
  /** What was bad first; undefined if nothing was: an overflow, a condition of the user. */
  readonly blame: Blame | undefined;
  /** First physics step after which the device calls the world bad; 0 if none is. */
  readonly devicePhysicsStep: number;
  /** The device alone fails: in the step on the CPU, in float32, every number is as it should be. */
  readonly deviceOnly: boolean;
  /** Whether the CPU, which looks into the step, sees the world break in the same physics step as the device. */
  readonly agrees: boolean;
  /** Largest |qpos| and |qvel| before each of the last control steps. */
  readonly history: readonly { readonly step: number; readonly qpos: number; readonly qvel: number }[];
}

/** Everything about the step in which a world of a bundle broke. */
export interface CrashScene {
  readonly bundle: Bundle;
  readonly tripped: TrippedWorld;
  /** Row of the world in the recording. */
  readonly row: number;
  readonly moments: readonly Moment[];
  /** Place of the step in which it broke, in `moments`. */
  readonly at: number;
  readonly devicePhysicsStep: number;
  /** When to give it up. */
  readonly deadline: Deadline;
  /** Looks into steps of it. */
  readonly interpreter: Interpreter;
}

/** Bits of the status word that the physics sets. */
export const PHYSICAL = Status.BAD_QPOS | Status.BAD_QVEL | Status.BAD_QACC | Status.CONTACT_OVERFLOW;

/**
 * The world of a bundle that is meant: by its id, which stays the same whatever its place in a batch; the first that
 * failed without one.
 * @throws CorralError unknown-world if the bundle holds no such world, or several
 */
export function trippedWorld(bundle: Bundle, id?: number): TrippedWorld {
  const { tripped } = bundle.about;
  const found = id === undefined ? tripped.slice(0, 1) : tripped.filter((t) => t.id === id);
  if (found.length === 1) return found[0];
  const held = tripped.map((t) => (t.id === t.world ? `${t.id}` : `${t.id} (place ${t.world})`)).join(", ");
  const many = found.length > 1 ? `${found.length} worlds` : "no world";
  throw new CorralError("unknown-world", `${bundle.path} holds ${many} of id ${id}; its ids are ${held}.`, { id });
}

/** A bundle that was executed again, once: whether every bit is the same, and where a world broke. */
export interface Examined {
  readonly report: ReplayReport;
  readonly scene: CrashScene;
}

/**
 * Executes a bundle again and finds the step in which a world broke.
 * @throws CorralError unknown-world, replay-endless
 */
export async function examine(bundle: Bundle, options: ReexecuteOptions = {}, id?: number): Promise<Examined> {
  const tripped = trippedWorld(bundle, id);
  const deadline = new Deadline(bundle, options.seconds);
  await using run = await Reexecution.create(bundle, options, deadline);
  const moments: Moment[] = [];
  const report = await executed(run, (moment) => moments.push(moment));
  const row = bundle.recording.worlds.indexOf(tripped.world);
  const failed = moments.findIndex((m) => resultOf(bundle, m, row, "status") !== 0 && m.step >= tripped.step);
  const named = failed >= 0 ? failed : moments.findIndex((m) => m.step === tripped.step);
  const at = named >= 0 ? named : moments.length - 1;
  const devicePhysicsStep = await physicsStepOf(run, moments[at], row);
  const interpreter = new Interpreter(bundle, deadline);
  return { report, scene: { bundle, tripped, row, moments, at, devicePhysicsStep, deadline, interpreter } };
}

/** Where a world of a bundle broke, without the replay's report. */
export const crashScene = async (...of: Parameters<typeof examine>): Promise<CrashScene> =>
  (await examine(...of)).scene;

/** The first physics step after which the device itself finds a world bad; 0 if it finds none. */
async function physicsStepOf(run: Reexecution, moment: Moment, row: number): Promise<number> {
  const { nstep = run.bundle.about.env.frameSkip } = moment.params;
  for (let k = 1; k <= nstep; k++) {
    await run.put(moment.before, { ...moment.params, nstep: k });
    await run.step({ start: 0, steps: 1, cut: false, params: {}, states: {}, actions: moment.actions }, 0);
    const results = numbersOf(run.layout("result"), await run.read("result"));
    if (resultOf(run.bundle, { ...moment, results }, row, "status") & PHYSICAL) return k;
  }
  return 0;
}

/** The action of a step, in the numbers of its space. */
export function actionOf(bundle: Bundle, moment: Moment, row: number): Float64Array {
  const { actionSize, actionKind } = bundle.about.env;
  const stride = moment.actions.length / bundle.recording.worlds.length;
  const words = moment.actions.slice(row * stride, row * stride + actionSize);
  if (words instanceof Float64Array) return words;
  return Float64Array.from(actionKind === "box" ? new Float32Array(words.buffer) : new Int32Array(words.buffer));
}
