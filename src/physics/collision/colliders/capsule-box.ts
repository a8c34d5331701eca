// capsule against box
import {
  abs,
  add,
  and,
  div,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  ne,
  neg,
  not,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import { addScaled3, column, MINVAL, mulMatTVec, select3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { nearestFeature, type Feature, type Segment } from "./segment-box.ts";
import { ballBox, depthsBelow } from "./sphere-box.ts";
import type { Collider } from "./types.ts";

/**
 * Slope below which a segment counts as level with a face of the box: the noise of directions in float32; also the
 * height (m) from which it is clear of that face. Over the face it keeps its second contact whichever way it leans:
 * MuJoCo goes by the sign, right where the nearer of two features is known to 1e-15 m², but of some capsules that lie
 * exactly level it keeps one contact: so do those that nothing turns, whose signs are known. Walls that a level segment runs along do not stop it.
 */
const FLAT = 1e-6;

const same = (a: Bool, b: Bool): Bool => not(ne(a as Scalar, b as Scalar));
const any = (a: readonly Bool[]): Bool => a.reduce(or);

/**
 * The second contact of a capsule on a box: from the nearest point along the segment, in the direction that stays over
 * the box, to the segment's end or to where it leaves the box.
 */
function secondPoint(s: Segment, size: Vec3, nearest: Feature, isSteady: Bool): { exists: Bool; along: Scalar } {
  const { along, isFace, side } = nearest;
  const point = addScaled3(s.center, along, s.axis);
  const axes = [0, 1, 2];
  const up = s.axis.map((x) => gt(x, 0));
  const slope = s.axis.map(abs);
  const inFront = (k: number, x: Scalar) => select(up[k], x, neg(x));

  const isMid = side.map((x) => and(not(ne(x, 0)), not(isFace)));
  const isEdge = any(isMid);
  const isCorner = not(or(isFace, isEdge));

  // the axis it follows most, of an edge's the two across
  const steeper = axes.map((k) => gt(slope[k], slope[(k + 1) % 3]));
  const isMain = axes.map((k) => {
    const [next, previous] = [(k + 1) % 3, (k + 2) % 3];
    const beatsPrevious = or(isMid[previous], not(steeper[previous]));
    return and(not(isMid[k]), and(or(isMid[next], steeper[k]), beatsPrevious));
  });

  // the feature's side as the segment's direction sees it: 1 ahead, -1 behind, 0 along an edge
  const seen = axes.map((k) => inFront(k, side[k]));
  const main = select(isMain[0], seen[0], select(isMain[1], seen[1], seen[2]));
  const over = axes.map((k) => sub(abs(point[k]), size[k]));
  const isFlat = slope.map((x) => lt(x, FLAT));
  const isLevel = axes.map((k) => and(and(and(isFlat[k], not(isSteady)), ne(side[k], 0)), gt(over[k], FLAT)));
  const ahead = axes.map((k) => select(isLevel[k], neg(main), seen[k]));
  const balance = sum(ahead);

  // on a corner the segment may follow the edge or face of the axis that differs from the other two
  const odd = ahead.map((x) => lt(mul(x, balance), 0));
  const followsEdge = gt(square(select(odd[0], slope[0], select(odd[1], slope[1], slope[2]))), 0.5);

  const onCorner = select(followsEdge, balance, neg(balance));
  const onEdge = neg(main);
  const onFace = select(gt(along, 0), -1, 1);
  const direction = select(isFace, onFace, select(isCorner, onCorner, onEdge));

  // how far it goes: to the segment's end, or until it has crossed the box on one of these axes
  const left = sub(s.half, mul(direction, along));
  const follows = le(abs(select(gt(left, 0), balance, sum(seen))), 1);
  const outside = over.map((x) => gt(x, 0));
  const reach = axes.map((k) => {
    const fromPoint = or(isFace, isMid[k]);
    const toWall = sub(size[k], mul(direction, inFront(k, point[k])));
    const room = select(fromPoint, toWall, mul(2, size[k]));
    const stops = [
      and(isFace, and(not(outside[k]), gt(room, 0))),
      isMid[k],
      and(isMain[k], isEdge),
      and(isCorner, same(odd[k], followsEdge)),
    ];
    return select(and(any(stops), not(isFlat[k])), div(room, max(slope[k], FLAT)), left);
  });
  const walk = min(min(left, reach[0]), min(reach[1], reach[2]));
  return {
    exists: or(and(isFace, any(outside)), and(not(isFace), follows)),
    along: add(along, mul(direction, walk)),
  };
}

/**
 * Depths of the point of a segment nearest to an edge that it crosses inside the box. Across the edge they are as the
 * segment's slopes, the other way round: what decides between two faces is then not the rounding of positions.
 */
function depthsAtEdge(s: Segment, local: Vec3, size: Vec3, { isFace, side }: Feature): Vec3 {
  const depths = depthsBelow(local, size);
  const across = side.map((x) => ne(x, 0));
  const isEdge = and(not(isFace), ne(sum(across.map((x) => select(x, 1, 0))), 3));
  const over = (values: readonly Scalar[]) => values.map((x, k) => select(across[k], x, 0));
  const slopes = over(s.axis.map(abs));
  const total = sum(slopes);
  const scale = sqrt(div(sum(over(depths).map(square)), max(sum(slopes.map(square)), MINVAL)));
  return depths.map((x, k) => select(and(isEdge, across[k]), mul(scale, sub(total, slopes[k])), x)) as unknown as Vec3;
}

/**
 * The point of the capsule's segment nearest to the box, and a second one where the segment lies along a face or an
 * edge, each as a sphere against the box (mjc_CapsuleBox).
 */
export const capsuleBox: Collider = (a, b, margin) => {
  const [still, rests] = [a.steady?.(), b.steady?.()];
  const isSteady = still && rests ? and(still.is, rests.is) : false;
  const axis = still ? select3(isSteady, still.axis, column(a.mat, 2)) : column(a.mat, 2);
  const [radius, half] = a.size;
  const segment: Segment = {
    center: mulMatTVec(b.mat, sub3(a.pos, b.pos)),
    axis: mulMatTVec(b.mat, axis),
    half,
  };
  // MuJoCo's initial squared distance, a length in truth
  const none = add(margin, mul(2, sum([radius, half, ...b.size])));
  const nearest = nearestFeature(segment, b.size, none);
  const second = secondPoint(segment, b.size, nearest, isSteady);

  const localAt = (along: Scalar) => addScaled3(segment.center, along, segment.axis);
  const sphere = (along: Scalar, exists: Bool, depths?: Vec3) => ({
    ...ballBox(addScaled3(a.pos, along, axis), localAt(along), radius, b, depths),
    exists,
  });
  const depths = depthsAtEdge(segment, localAt(nearest.along), b.size, nearest);
  return [sphere(nearest.along, nearest.found, depths), sphere(second.along, and(nearest.found, second.exists))];
};
