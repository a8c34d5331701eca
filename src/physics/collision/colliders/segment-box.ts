// which feature of a box is nearest to a capsule's segment
import {
  abs,
  add,
  and,
  clamp,
  div,
  gt,
  lt,
  max,
  min,
  mul,
  neg,
  not,
  or,
  select,
  square,
  sub,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import { add3, sub3, scale3, MINVAL, type Vec3 } from "../../../trace/vector.ts";
import { parallelBelow } from "./types.ts";

/** A segment in the box's frame: centre, unit direction, half-length. */
export interface Segment {
  center: Vec3;
  axis: Vec3;
  half: Scalar;
}

/** The feature of a box that is nearest to a segment. */
export interface Feature {
  /** Where on the segment, m from its centre. */
  along: Scalar;
  /** A face, the nearest point being an end of the segment; otherwise an edge or a corner. */
  isFace: Bool;
  /**
   * Which edge or corner: on each axis the side (-1 or 1), 0 on the axis of an edge. An edge counts as its corner where
   * the lines' nearest points lie beyond that corner, even if the segment's end is nearest to a point within the edge.
   */
  side: Vec3;
  /** False if all are farther than MuJoCo looks. */
  found: Bool;
}

interface Best {
  distance2: Scalar;
  along: Scalar;
  side: Vec3;
}

/** Whether a later feature wins; on ties the earlier one stays. */
const isCloser = (a: Best, b: Best): Bool => lt(a.distance2, sub(b.distance2, MINVAL));

/**
 * How much nearer (of the squared distance) an edge must be than a face. Ties are common: a capsule that lies flat on
 * a face is as near to the edge it crosses, and one that ends just inside a face hardly nearer to it than to the edge.
 * MuJoCo's 1e-15 m² does not cover the rounding of float32, which would take away the second contact.
 */
const NEARER_THAN_FACE = 1 - 4e-6;

const better = (c: Bool, a: Best, b: Best): Best => ({
  distance2: select(c, a.distance2, b.distance2),
  along: select(c, a.along, b.along),
  side: a.side.map((x, k) => select(c, x, b.side[k])) as unknown as Vec3,
});

/** Squared distance of a point that is outside at most one pair of faces; `none` elsewhere. */
function faceDistance2(point: Vec3, size: Vec3, none: Scalar): Scalar {
  const over = point.map((x, k) => sub(abs(x), size[k]));
  const [x, y, z] = over.map((o) => gt(o, 0));
  const several = or(and(x, or(y, z)), and(y, z));
  const most = max(max(over[0], over[1]), max(over[2], 0));
  return select(several, none, square(most));
}

/** The nearest of the four edges along one axis. */
function nearestEdge(axis: number, s: Segment, size: Vec3, none: Scalar): Best {
  const [k, l] = [0, 1, 2].filter((i) => i !== axis);
  const a = s.axis;
  const half = size[axis];
  const along = (t: Scalar) => add(s.center[axis], mul(a[axis], t));
  const within = (t: Scalar) => clamp(t, neg(half), half);

  // seen along the edges, the segment meets four points
  const across2 = add(square(a[k]), square(a[l]));
  const limit = parallelBelow(mul(half, s.half));
  const inverse = div(1, max(across2, limit));

  let best: (Best & { first: Scalar; last: Scalar }) | undefined;
  for (const [sideK, sideL] of [
    [-1, -1],
    [1, -1],
    [-1, 1],
    [1, 1],
  ]) {
    const dk = sub(mul(sideK, size[k]), s.center[k]);
    const dl = sub(mul(sideL, size[l]), s.center[l]);
    const to = add(mul(a[k], dk), mul(a[l], dl));

    // nearest points of the lines, then of the segments
    const first = along(mul(to, inverse));
    const t = clamp(add(to, mul(a[axis], sub(within(first), s.center[axis]))), neg(s.half), s.half);
    const last = along(t);
    const gap = sub(within(last), last);
    const distance2 = add(add(square(sub(dk, mul(a[k], t))), square(sub(dl, mul(a[l], t)))), square(gap));

    const side = [0, 0, 0];
    side[k] = sideK;
    side[l] = sideL;
    const candidate = { distance2, along: t, side: side as unknown as Vec3, first, last };
    if (!best) {
      best = candidate;
    } else {
      const closer = isCloser(candidate, best);
      best = {
        ...better(closer, candidate, best),
        first: select(closer, first, best.first),
        last: select(closer, last, best.last),
      };
    }
  }
  const { first, last, ...edge } = best!;

  // the end of the edge if the search was stopped, last or else first
  const stop = select(gt(abs(last), half), last, first);
  const side = [...edge.side];
  side[axis] = select(gt(stop, half), 1, select(lt(stop, neg(half)), -1, 0));
  return {
    ...edge,
    distance2: select(lt(across2, limit), none, edge.distance2),
    side: side as unknown as Vec3,
  };
}

/** The feature of a box of half-sizes `size` nearest to a segment; `none` bounds the squared distance. */
export function nearestFeature(s: Segment, size: Vec3, none: Scalar): Feature {
  const reach = scale3(s.axis, s.half);
  const atLow = faceDistance2(sub3(s.center, reach), size, none);
  const atHigh = faceDistance2(add3(s.center, reach), size, none);

  const face: Best = {
    distance2: min(atLow, atHigh),
    along: select(lt(atHigh, atLow), s.half, neg(s.half)),
    side: [0, 0, 0],
  };
  const edges = [0, 1, 2].map((axis) => nearestEdge(axis, s, size, none));
  const edge = edges.reduce((a, b) => better(isCloser(b, a), b, a));
  const isFace = not(lt(edge.distance2, mul(face.distance2, NEARER_THAN_FACE)));
  const { along, side, distance2 } = better(isFace, face, edge);
  return { along, isFace, side, found: lt(distance2, none) };
}
