// sphere against box
import {
  abs,
  add,
  and,
  clamp,
  div,
  gt,
  le,
  max,
  min,
  mul,
  neg,
  not,
  select,
  sqrt,
  sub,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  addScaled3,
  dot3,
  mulMatTVec,
  mulMatVec,
  select3,
  scale3,
  sub3,
  MINVAL,
  type Vec3,
} from "../../../trace/vector.ts";
import { MINVAL2, type Candidate, type Collider, type Shape } from "./types.ts";

/** How deep a point lies below the faces of a box, by axis. */
export const depthsBelow = (local: Vec3, size: Vec3): Vec3 =>
  local.map((x, k) => sub(size[k], abs(x))) as unknown as Vec3;

/**
 * A sphere at `center` (global) and `local` (the same point in the box's frame) against a box. `depths`: those of the
 * point, if they are known better than the point is.
 */
export function ballBox(
  center: Vec3,
  local: Vec3,
  radius: Scalar,
  box: Shape,
  depths = depthsBelow(local, box.size),
): Candidate {
  const { size } = box;
  const nearest = local.map((x, k) => clamp(x, neg(size[k]), size[k])) as unknown as Vec3;
  const toBox = sub3(nearest, local);
  const distance2 = dot3(toBox, toBox);
  const inside = le(distance2, MINVAL2);
  const distance = sqrt(distance2);

  // inside, the way out is through the nearest face, the first of those equally near
  const [dx, dy, dz] = depths;
  const byX = le(dx, min(dy, dz));
  const byY = and(not(byX), le(dy, dz));
  const byZ = not(le(min(dx, dy), dz));
  const inward = (axis: number) => select(gt(local[axis], 0), -1, 1);
  const face: Vec3 = [select(byX, inward(0), 0), select(byY, inward(1), 0), select(byZ, inward(2), 0)];

  const outside = scale3(toBox, div(1, max(distance, MINVAL)));
  const normal = mulMatVec(box.mat, select3(inside, face, outside));
  const dist = sub(select(inside, neg(min(dx, min(dy, dz))), distance), radius);
  return { dist, pos: addScaled3(center, add(radius, mul(dist, 0.5)), normal), normal, exists: true };
}

/** mjc_SphereBox */
export const sphereBox: Collider = (a, b) => [ballBox(a.pos, mulMatTVec(b.mat, sub3(a.pos, b.pos)), a.size[0], b)];
