// conditions that end episodes, and costs of coming near them
import {
  abs,
  add,
  ge,
  gt,
  isFinite32,
  lt,
  max,
  mul,
  not,
  or,
  sub,
  sum,
  toF32,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import { mjtJoint } from "../../../model/enums.ts";
import { idOf } from "../../../model/model.ts";
import type { Scene } from "../task.ts";
import { inClosed } from "./basics.ts";
import { dofsOf, isNumber, jointList, needs, needsOptions, numbers, type Source } from "./source.ts";

const any = (conditions: readonly Bool[]): Bool => conditions.reduce<Bool>(or, false);

/** Whether any number of a value is outside of [low, high], of which either may be infinite. */
export const outside =
  (value: Source, low: number, high: number) =>
  (s: Scene): Bool => {
    needs(low <= high, "the range of outside", [low, high], "low and high, low <= high; either may be infinite");
    return any(numbers(value, s, "outside").map((x) => not(inClosed(x, [low, high]))));
  };

/** Slides and hinges with limits: position and range. */
function limitedJoints({ model, m, d }: Scene, joints: readonly string[] | undefined) {
  const ids =
    jointList(joints)?.map((name) => idOf(model, "joint", name)) ?? Array.from({ length: model.njnt }, (_, j) => j);
  const hasRange = (j: number) =>
    model.jnt_limited[j] > 0 && (model.jnt_type[j] === mjtJoint.SLIDE || model.jnt_type[j] === mjtJoint.HINGE);
  return ids.filter(hasRange).map((j) => ({
    q: d.qpos.at(model.jnt_qposadr[j]),
    low: m.jnt_range.at(2 * j),
    high: m.jnt_range.at(2 * j + 1),
  }));
}

export interface JointLimitOptions {
  /** Joints by name. Default: all that have a range. */
  readonly joints?: readonly string[];
  /** How far beyond its range a joint may be (m, rad). Default 0. */
  readonly margin?: number;
}

/** Whether a slide or hinge is beyond its range. MuJoCo's own limits are soft: they give way a little. */
export const jointLimits =
  (options: JointLimitOptions = {}) =>
  (s: Scene): Bool => {
    needsOptions("jointLimits", options, ["joints", "margin"]);
    const { joints, margin = 0 } = options;
    needs(isNumber(margin), "margin of jointLimits", margin, "a number (m, rad)");
    return any(
      limitedJoints(s, joints).map(({ q, low, high }) => or(lt(q, sub(low, margin)), gt(q, add(high, margin)))),
    );
  };

export interface SoftLimitOptions {
  readonly joints?: readonly string[];
  /** The part of each range that costs nothing. Default 0.9. */
  readonly free?: number;
}

/** How far joints are beyond the middle part of their ranges, summed (m, rad). */
export const jointLimitCost =
  (options: SoftLimitOptions = {}) =>
  (s: Scene): Scalar => {
    needsOptions("jointLimitCost", options, ["joints", "free"]);
    const { joints, free = 0.9 } = options;
    needs(isNumber(free) && free >= 0, "free of jointLimitCost", free, "a number of at least 0");
    return sum(
      limitedJoints(s, joints).map(({ q, low, high }) => {
        const [middle, reach] = [mul(add(low, high), 0.5), mul(sub(high, low), free / 2)];
        return max(sub(abs(sub(q, middle)), reach), 0);
      }),
    );
  };

/**
 * Whether a joint moves faster than `limit` (m/s, rad/s): all joints, or those named or given by id. The limit may be an expression, such
 * as "param.limit", which each world has of its own.
 */
export const velocityLimit =
  (limit: number | string, joints?: readonly (string | number)[]) =>
  (s: Scene): Bool => {
    const isGiven = typeof limit === "string" || (isNumber(limit) && limit >= 0);
    needs(isGiven, "limit of velocityLimit", limit, "a number of at least 0 (m/s, rad/s), or an expression");
    const [most] = numbers(limit, s, "limit");
    return any(dofsOf(s, joints).map((i) => gt(abs(s.d.qvel.at(i)), most)));
  };

/** Whether the episode has lasted so long (s). */
export const timeOut =
  (seconds: number) =>
  (s: Scene): Bool => {
    needs(isNumber(seconds) && seconds > 0, "timeOut", seconds, "a number of seconds, above 0");
    // half a step less: the sum of steps is not exact
    return ge(mul(add(toF32(s.length), 0.5), s.dt), seconds);
  };

/** Whether the state is not finite. Worlds whose numbers are not finite end by themselves; this is for those that ignore it. */
export const notFinite =
  () =>
  (s: Scene): Bool =>
    any([...s.d.qpos.all(), ...s.d.qvel.all()].map((x) => not(isFinite32(x))));
