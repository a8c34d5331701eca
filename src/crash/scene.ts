// the step of a recording in which a world broke
import { CorralError } from "../core/errors.ts";
import type { Bundle, TrippedWorld } from "../record/bundle.ts";
import type { Blame } from "./blame.ts";
import type { ReexecuteOptions } from "./reexecute.ts";
import { resultOf, timelineOf, type Moment } from "./timeline.ts";

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
  /** What was bad first; undefined where nothing was: an overflow, a condition of the user. */
  readonly blame: Blame | undefined;
  /** First physics step after which the device calls the world bad; 0 where none is. */
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
}

/**
 * The world of a bundle that is meant: by its id, which stays the same whatever its place in a batch; the first that
 * failed without one.
 * @throws CorralError unknown-world where the bundle holds no such world, or several
 */
export function trippedWorld(bundle: Bundle, id?: number): TrippedWorld {
  const { tripped } = bundle.about;
  const found = id === undefined ? tripped.slice(0, 1) : tripped.filter((t) => t.id === id);
  if (found.length === 1) return found[0];
  const held = tripped.map((t) => (t.id === t.world ? `${t.id}` : `${t.id} (place ${t.world})`)).join(", ");
  const many = found.length > 1 ? `${found.length} worlds` : "no world";
  throw new CorralError("unknown-world", `${bundle.path} holds ${many} of id ${id}; its ids are ${held}.`, { id });
}

/**
 * Finds the step in which a world of a bundle broke.
 * @throws CorralError unknown-world
 */
export async function crashScene(bundle: Bundle, options: ReexecuteOptions = {}, id?: number): Promise<CrashScene> {
  const tripped = trippedWorld(bundle, id);
  const row = bundle.recording.worlds.indexOf(tripped.world);
  const moments = await timelineOf(bundle, options);
  const failed = moments.findIndex((m) => resultOf(bundle, m, row, "status") !== 0 && m.step >= tripped.step);
  const at = failed >= 0 ? failed : moments.findIndex((m) => m.step === tripped.step);
  return { bundle, tripped, row, moments, at: at >= 0 ? at : moments.length - 1 };
}

/** The action of a step, in the numbers of its space. */
export function actionOf(bundle: Bundle, moment: Moment, row: number): Float64Array {
  const { actionSize, actionKind } = bundle.about.env;
  const stride = moment.actions.length / bundle.recording.worlds.length;
  const words = moment.actions.slice(row * stride, row * stride + actionSize);
  if (words instanceof Float64Array) return words;
  return Float64Array.from(actionKind === "box" ? new Float32Array(words.buffer) : new Int32Array(words.buffer));
}
