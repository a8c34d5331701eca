import { abs, add, and, div, eq, gt, le, lt, max, min, mul, ne, neg, not, or, select, square, sub, sum, type Bool, type Scalar } from "../../trace/scalar.ts";
import { add3, addScaled3, column, mulMatTVec, scale3, sub3, MINVAL, type Vec3 } from "../../trace/vector.ts";
import { nearestFeature, type Feature, type Segment } from "./segment_box.ts";
import { ballBox } from "./sphere_box.ts";
import type { Collider } from "./types.ts";

type Walk = { exists: Bool; along: Scalar };

/**
 * The second contact of a capsule on a box: from the nearest point along the segment, in the direction that stays over
 * the box, to the segment's end or to where it leaves the box.
 */
function secondPoint(s: Segment, size: Vec3, nearest: Feature): Walk {
  const { along, isFace, side } = nearest;
  const point = addScaled3(s.center, along, s.axis);
  const up = s.axis.map((x) => gt(x, 0));
  const slope = s.axis.map(abs);
  const inverse = slope.map((x) => div(1, max(x, MINVAL)));

  // side of the feature as the segment's direction sees it: 1 ahead, -1 behind, 0 along an edge
  const ahead = side.map((x, k) => select(up[k], x, neg(x)));
  const balance = sum(ahead);
  const isMid = side.map((x) => and(eq(x, 0), not(isFace)));
  const isEdge = or(isMid[0], or(isMid[1], isMid[2]));

  // corner: the axis on which the segment differs from the other two; along it if that is the steepest
  const odd = ahead.map((x) => lt(mul(x, balance), 0));
  const oddSlope = select(odd[0], slope[0], select(odd[1], slope[1], slope[2]));
  const alongEdge = gt(square(oddSlope), 0.5);

  // edge: of the two axes across it the one the segment follows more
  const [x, y, z] = slope;
  const isMain = [
    select2(isMid[1], le(z, x) === true ? true : le(z, x), and(isMid[2], gt(x, y))),
    false,
    false,
  ];
  void isMain; void y; void min; void add; void ne; void add3; void scale3; void sub3; void sub;
  throw new Error("draft");
}
function select2(a: Bool, b: Bool, c: Bool): Bool { return or(and(a,b), and(not(a),c)); }
export const capsuleBox: Collider = () => { void mulMatTVec; void column; void ballBox; void nearestFeature; void secondPoint; return []; };
