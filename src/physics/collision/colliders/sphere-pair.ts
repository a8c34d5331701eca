// two spheres: what most colliders come down to once the nearest points are known
import { add, div, lt, max, mul, select, sqrt, sub, type Scalar } from "../../../trace/scalar.ts";
import { addScaled3, dot3, scale3, select3, MINVAL, type Vec3 } from "../../../trace/vector.ts";
import { MINVAL2, type Candidate } from "./types.ts";

/**
 * Contact of a sphere of `radius1` at `center` with one of `radius2` at `center + offset`. The normal of spheres with
 * one centre is along `across`, the cross product of the geoms' z axes, or x where that vanishes.
 */
export function spherePair(center: Vec3, offset: Vec3, radius1: Scalar, radius2: Scalar, across: Vec3): Candidate {
  const distance2 = dot3(offset, offset);
  const coincident = lt(distance2, MINVAL2);
  const direction = select3(coincident, across, offset);
  const length2 = select(coincident, dot3(across, across), distance2);
  const length = sqrt(length2);
  const normal = select3(lt(length2, MINVAL2), [1, 0, 0], scale3(direction, div(1, max(length, MINVAL))));

  const dist = sub(select(coincident, 0, length), add(radius1, radius2));
  return { dist, pos: addScaled3(center, add(radius1, mul(dist, 0.5)), normal), normal, exists: true };
}
