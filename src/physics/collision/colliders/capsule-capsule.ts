// capsule against capsule
import {
  add,
  and,
  clamp,
  div,
  le,
  lt,
  max,
  mul,
  neg,
  or,
  select,
  square,
  sub,
  type Scalar,
} from "../../../trace/scalar.ts";
import { addScaled3, column, cross, dot3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { spherePair } from "./sphere-pair.ts";
import { parallelBelow, type Candidate, type Collider } from "./types.ts";

/** Positions along the axes of the first and the second capsule, m from their centres. */
type Points = readonly [Scalar, Scalar];

/**
 * The nearest points of the two segments; if they are parallel, the first two within the margin of: the ends of
 * the first segment and what is nearest to each, the ends of the second likewise (mjc_CapsuleCapsule).
 */
export const capsuleCapsule: Collider = (a, b, margin) => {
  const axis1 = column(a.mat, 2);
  const axis2 = column(b.mat, 2);
  const [radius1, half1] = a.size;
  const [radius2, half2] = b.size;
  const offset = sub3(b.pos, a.pos);
  const across = cross(axis1, axis2);
  const cosine = dot3(axis1, axis2);
  const sine2 = dot3(across, across);
  const limit = parallelBelow(mul(half1, half2));
  const parallel = lt(sine2, limit);

  // the point of one segment nearest to a point of the other
  const along1 = dot3(axis1, offset);
  const along2 = dot3(axis2, offset);
  const onFirst = (x2: Scalar) => clamp(add(along1, mul(cosine, x2)), neg(half1), half1);
  const onSecond = (x1: Scalar) => clamp(sub(mul(cosine, x1), along2), neg(half2), half2);

  // nearest points of the lines; the triple product keeps its digits if the lines are nearly parallel
  const free = div(dot3(across, cross(offset, axis2)), max(sine2, limit));
  const second = onSecond(clamp(free, neg(half1), half1));
  const crossing: Points = [onFirst(second), second];

  const ends: Points[] = [
    [half1, onSecond(half1)],
    [neg(half1), onSecond(neg(half1))],
    [onFirst(half2), half2],
    [onFirst(neg(half2)), neg(half2)],
  ];
  // parallel lines keep one distance: pairs differ by the gap along the axis
  const apart = addScaled3(offset, neg(along1), axis1);
  const room = sub(square(add(add(radius1, radius2), margin)), dot3(apart, apart));
  const [w0, w1, w2] = ends.map(([x1, x2]) => le(square(sub(add(along1, mul(cosine, x2)), x1)), room));

  const pick = (c: typeof w0, p: Points, q: Points): Points => [select(c, p[0], q[0]), select(c, p[1], q[1])];
  const [e0, e1, e2, e3] = ends;
  const first = pick(parallel, pick(w0, e0, pick(w1, e1, pick(w2, e2, e3))), crossing);
  const other = pick(and(w0, w1), e1, pick(and(or(w0, w1), w2), e2, e3));

  const reach2 = add(square(half1), square(half2));
  const contact = ([x1, x2]: Points): Candidate => {
    const from: Vec3 = addScaled3(a.pos, x1, axis1);
    const to = addScaled3(addScaled3(offset, x2, axis2), neg(x1), axis1);
    return spherePair({ center: from, offset: to, radii: [radius1, radius2], across, reach2 });
  };
  return [contact(first), { ...contact(other), exists: and(parallel, or(or(w0, w1), w2)) }];
};
