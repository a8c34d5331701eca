// two spheres: what most colliders come down to once the nearest points are known
import { add, div, lt, max, mul, select, sqrt, sub, type Scalar } from "../../../trace/scalar.ts";
import { current } from "../../../trace/graph.ts";
import { addScaled3, dot3, scale3, select3, MINVAL, type Vec3 } from "../../../trace/vector.ts";
import { MINVAL2, type Candidate } from "./types.ts";

/** Two points, one of which should lie on the other, are apart by this part of their coordinates in float32, squared: five roundings. */
const ROUNDING2 = 9e-14;

/** The two spheres of a contact, and what their places were computed from. */
interface SpherePair {
  readonly center: Vec3;
  /** From the first centre to the second. */
  readonly offset: Vec3;
  readonly radii: readonly [Scalar, Scalar];
  /** The cross product of the geoms' z axes. */
  readonly across: Vec3;
  /** Lengths that were added up to the centres, beside the coordinates of the first, squared. */
  readonly reach2?: Scalar;
}

/**
 * Contact of two spheres. The normal of those with one centre is along `across`, or x where that vanishes: links of a plane
 * mechanism that cross are pushed out of the plane, as in MuJoCo, not along what rounds (mjraw_SphereSphere).
 */
export function spherePair({ center, offset, radii: [radius1, radius2], across, reach2 = 0 }: SpherePair): Candidate {
  const distance2 = dot3(offset, offset);
  const noise2 = current().exact ? MINVAL2 : max(MINVAL2, mul(ROUNDING2, add(dot3(center, center), reach2)));
  const coincident = lt(distance2, noise2);
  const direction = select3(coincident, across, offset);
  const length2 = select(coincident, dot3(across, across), distance2);
  const length = sqrt(length2);
  const normal = select3(lt(length2, MINVAL2), [1, 0, 0], scale3(direction, div(1, max(length, MINVAL))));

  const dist = sub(select(coincident, 0, length), add(radius1, radius2));
  return { dist, pos: addScaled3(center, add(radius1, mul(dist, 0.5)), normal), normal, exists: true };
}
