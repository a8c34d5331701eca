// limits of joints that are given beside the MJCF: ranges, and speeds that MuJoCo has no limit for
import { CorralError } from "../core/errors.ts";
import { alternatives, fits } from "../core/names.ts";
import { inLine, show } from "../core/show.ts";
import { withChanges } from "./changes.ts";
import type { ModelChange } from "./model-data.ts";
import { mjtJoint } from "./enums.ts";
import { describe, type Model } from "./model.ts";

/** An end of a range: a number, or [low, high], between which each world draws its own with each episode. */
export type LimitEnd = number | readonly [number, number];

/** Limits of joints. */
export interface JointLimit {
  /** Lowest and highest position (m, rad; of a ball 0 and its largest angle), also of joints without any; false: none. */
  readonly range?: readonly [LimitEnd, LimitEnd] | false;
  /**
   * The most speed of a slide or hinge (m/s, rad/s), held by a soft constraint; false: none. [low, high]: each world draws
   * its own with each episode. With `terminate` nothing holds it, and an environment ends the episode; then it may be an
   * expression, such as "param.speed".
   */
  readonly velocity?: LimitEnd | { readonly limit: number | string; readonly terminate: true } | false;
}

/** Limits by the name of a joint, or by a pattern with * in it; of two that fit a joint the later counts. */
export type JointLimits = Readonly<Record<string, JointLimit>>;

/** What a joint is limited to after all patterns. */
interface Resolved {
  range?: readonly [LimitEnd, LimitEnd] | false;
  velocity?: JointLimit["velocity"];
}

/** An end of a range, or a speed, that each world draws. */
export interface DrawnEnd {
  readonly joint: number;
  readonly end: 0 | 1 | "speed";
  readonly between: readonly [number, number];
}

/** A model with limits, and what is left to do for environments. */
export interface Limited {
  readonly model: Model;
  readonly drawn: readonly DrawnEnd[];
  readonly terminate: readonly { readonly joint: number; readonly limit: number | string }[];
}

const bad = (pattern: string, text: string, details: Record<string, unknown> = {}): CorralError =>
  new CorralError("bad-limits", `limits["${inLine(pattern)}"]: ${text}.`, { pattern, ...details });

const isRange = (x: unknown): x is readonly [number, number] =>
  Array.isArray(x) && x.length === 2 && x.every((v) => Number.isFinite(v)) && x[0] <= x[1];

const isEnd = (x: unknown): x is LimitEnd => Number.isFinite(x) || isRange(x);

const middle = (end: LimitEnd): number => (typeof end === "number" ? end : (end[0] + end[1]) / 2);
const least = (end: LimitEnd): number => (typeof end === "number" ? end : end[0]);
const most = (end: LimitEnd): number => (typeof end === "number" ? end : end[1]);

/** Joints that a pattern means. Throws `unknown-name` with the nearest names. */
function jointsOf(model: Model, pattern: string): number[] {
  const names = model.names.joint;
  const isPattern = pattern.includes("*");
  const ids = names.flatMap((name, id) => {
    if (pattern === "*") return [id];
    return (isPattern ? name !== "" && fits(name, pattern) : name === pattern && name !== "") ? [id] : [];
  });
  if (ids.length > 0) return ids;
  const { hint, nearest } = alternatives(pattern.replaceAll("*", ""), names);
  throw new CorralError(
    "unknown-name",
    `limits: the model has no joint ${isPattern ? "that fits" : "named"} "${inLine(pattern)}"; ${hint}.`,
    {
      name: pattern,
      nearest,
    },
  );
}

function checkRange(model: Model, pattern: string, joint: number, range: JointLimit["range"]): void {
  if (range === undefined || range === false) return;
  const want = "low and high, low < high; an end is a number (m, rad) or [low, high] to draw it from";
  if (!Array.isArray(range) || range.length !== 2 || !range.every(isEnd))
    throw bad(pattern, `range is ${show(range)}; it is ${want}`);
  if (most(range[0]) >= least(range[1]))
    throw bad(pattern, `range is ${show(range)}; its ends may cross: it is ${want}`);
  if (model.jnt_type[joint] === mjtJoint.BALL && (range[0] !== 0 || least(range[1]) <= 0))
    throw bad(
      pattern,
      `range of ${describe(model, "joint", joint)}, a ball, is ${show(range)}; it is 0 and its largest angle`,
    );
}

function checkVelocity(pattern: string, velocity: NonNullable<JointLimit["velocity"]>): void {
  const isSpeed = (x: unknown) => typeof x === "number" && Number.isFinite(x) && x > 0;
  if (velocity === false || isSpeed(velocity) || (isRange(velocity) && velocity[0] > 0)) return;
  const { limit, terminate, ...unknown } = Object(velocity) as { limit?: unknown; terminate?: unknown };
  const fine = (isSpeed(limit) || typeof limit === "string") && terminate === true && Object.keys(unknown).length === 0;
  if (!fine)
    throw bad(
      pattern,
      `velocity is ${show(velocity)}; it is a speed above 0 (m/s, rad/s), [low, high] to draw it from, { limit, terminate: true } or false`,
    );
}

/** The limits of each joint, checked. */
function resolve(model: Model, limits: JointLimits): Map<number, Resolved> {
  const out = new Map<number, Resolved>();
  if (typeof limits !== "object" || limits === null || Array.isArray(limits))
    throw new CorralError("bad-limits", `limits is ${show(limits)}; it is an object of joints or patterns.`, {});
  for (const [pattern, limit] of Object.entries(limits)) {
    if (typeof limit !== "object" || limit === null)
      throw bad(pattern, `it is ${show(limit)}; give it range or velocity`);
    const { range, velocity, ...unknown } = limit;
    const [other] = Object.keys(unknown);
    if (other !== undefined) throw bad(pattern, `it has no "${other}"; it takes range and velocity`);
    const joints = jointsOf(model, pattern);
    const moves = (j: number) => model.jnt_type[j] === mjtJoint.SLIDE || model.jnt_type[j] === mjtJoint.HINGE;
    const [ranged, fast] = [joints.filter((j) => model.jnt_type[j] !== mjtJoint.FREE), joints.filter(moves)];
    // a pattern passes over joints that cannot have such a limit; a name does not
    if (range !== undefined && ranged.length === 0) throw bad(pattern, "a free joint has no range");
    if (velocity !== undefined && fast.length === 0)
      throw bad(pattern, "only slides and hinges have a limit of velocity");
    if (velocity !== undefined) checkVelocity(pattern, velocity);
    const add = (j: number, own: Resolved) => out.set(j, { ...out.get(j), ...own });
    for (const j of range === undefined ? [] : ranged) {
      checkRange(model, pattern, j, range);
      add(j, { range });
    }
    for (const j of velocity === undefined ? [] : fast) add(j, { velocity });
  }
  return out;
}

/**
 * The model with limits of joints beside the MJCF's. The given model stays as it is; MuJoCo beside it (`createOracle`,
 * `compare`, the monitor) has the ranges too, and no limit of speeds. Ranges of controls stay the MJCF's.
 * @throws CorralError bad-limits; unknown-name with the nearest names
 */
export function withLimits(model: Model, limits: JointLimits | undefined): Limited {
  const drawn: DrawnEnd[] = [];
  const terminate: { joint: number; limit: number | string }[] = [];
  if (limits === undefined) return { model, drawn, terminate };

  const changes: ModelChange[] = [];
  const speeds = new Map((model.speedLimits ?? []).map(({ dof, limit }) => [dof, limit]));
  const change = (field: string, index: number, value: number) => changes.push({ field, index, value, derived: false });
  for (const [joint, { range, velocity }] of [...resolve(model, limits)].sort(([a], [b]) => a - b)) {
    if (range !== undefined) change("jnt_limited", joint, range === false ? 0 : 1);
    if (range) {
      for (const end of [0, 1] as const) {
        const given = range[end];
        change("jnt_range", 2 * joint + end, middle(given));
        if (typeof given !== "number") drawn.push({ joint, end, between: given });
      }
    }
    if (velocity === undefined) continue;
    const dof = model.jnt_dofadr[joint];
    if (isEnd(velocity)) speeds.set(dof, middle(velocity));
    else speeds.delete(dof);
    if (isRange(velocity)) drawn.push({ joint, end: "speed", between: velocity });
    else if (typeof velocity === "object") terminate.push({ joint, limit: velocity.limit });
  }
  const speedLimits = [...speeds].sort(([a], [b]) => a - b).map(([dof, limit]) => ({ dof, limit }));
  const limited = withChanges(model, changes);
  return {
    model: speedLimits.length > 0 || model.speedLimits ? { ...limited, speedLimits } : limited,
    drawn,
    terminate,
  };
}
