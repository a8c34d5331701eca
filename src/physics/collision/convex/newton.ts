// one step of Newton's method for the direction of least overlap of curved shapes
import {
  add,
  and,
  clamp,
  div,
  gt,
  max,
  min,
  mul,
  neg,
  or,
  select,
  sqrt,
  square,
  sub,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  add3,
  addScaled3,
  column,
  cross,
  dot3,
  mulMatTVec,
  neg3,
  scale3,
  select3,
  sub3,
  type Mat3,
  type Vec3,
} from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { across, direction, unit } from "./directions.ts";
import { curvature, type Core } from "./support.ts";

/** A line on one of two shapes, along which another may touch it anywhere: a capsule's, or a generator of a cylinder. */
export interface Line {
  /** Whether there is one that the other shape rolls on. */
  readonly exists: Bool;
  /** Its unit direction. */
  readonly axis: Vec3;
  /** The direction across it that is nearest to a unit one. */
  across(n: Vec3): Vec3;
  /** Points at an overlap across it: that on the line is moved to where the other faces it. */
  facing(a: Vec3, b: Vec3): readonly [a: Vec3, b: Vec3];
}

/** The line of a capsule with a curved shape, or of a cylinder with an ellipsoid. */
export function lineOf(a: Core, b: Core, rot: Mat3, offset: Vec3): Line {
  const { CAPSULE, ELLIPSOID, CYLINDER } = mjtGeom;
  const of = (c: Core, other: Core) =>
    or(and(c.is(CAPSULE), other.is(ELLIPSOID, CYLINDER)), and(c.is(CYLINDER), other.is(ELLIPSOID)));
  const first = of(a, b);
  const axis = select3(first, [0, 0, 1], column(rot, 2));
  const half = select(first, a.half[2], b.half[2]);
  return {
    exists: or(first, of(b, a)),
    axis,
    across: (n) => direction(addScaled3(n, neg(dot3(n, axis)), axis)),
    facing(onA, onB) {
      const [mine, other] = [select3(first, onA, onB), select3(first, onB, onA)];
      const center = select3(first, [0, 0, 0], offset);
      const along = (p: Vec3) => dot3(sub3(p, center), axis);
      const moved = addScaled3(mine, sub(clamp(along(other), neg(half), half), along(mine)), axis);
      return [select3(first, moved, onA), select3(first, onB, moved)];
    },
  };
}

export interface NewtonStep {
  readonly to: Vec3;
  /** Before it is shortened, rad. */
  readonly length: Scalar;
  /** Whether the overlap has a minimum there, by its second derivative. */
  readonly descends: Bool;
}

/**
 * The step from the unit direction `n` on the sphere: `h` is the overlap there, `slope` its derivative. Where `rolls` it
 * stays across the line.
 */
export function newtonStep(
  { a, b, rot, line }: { a: Core; b: Core; rot: Mat3; line: Line },
  rolls: Bool,
  n: Vec3,
  h: Scalar,
  slope: Vec3,
): NewtonStep {
  const u = select3(rolls, cross(line.axis, n), across(n));
  const v = cross(n, u);
  const local = (x: Vec3) => mulMatTVec(rot, x);
  const onFirst = curvature(a, n, u, v);
  const onSecond = curvature(b, neg3(local(n)), local(u), local(v));
  const [uu, uv, vv] = [0, 1, 2].map((k) => add(onFirst[k], onSecond[k]));
  const [p11, p22] = [sub(uu, h), sub(vv, h)];
  const det = sub(mul(p11, p22), square(uv));
  const [gu, gv] = [dot3(slope, u), dot3(slope, v)];
  const inverse = div(-1, max(det, 1e-20));
  const du = select(rolls, div(neg(gu), max(p11, 1e-20)), mul(sub(mul(p22, gu), mul(uv, gv)), inverse));
  const dv = select(rolls, 0, mul(sub(mul(p11, gv), mul(uv, gu)), inverse));
  const step = sqrt(add(square(du), square(dv)));
  const short = min(1, div(0.3, max(step, 1e-20)));
  const convex = and(gt(p11, 0), or(rolls, gt(det, 1e-20)));
  return {
    to: unit(add3(n, add3(scale3(u, mul(du, short)), scale3(v, mul(dv, short))))),
    length: step,
    descends: convex,
  };
}
