// directions that the search looks along
import {
  abs,
  div,
  eq,
  ge,
  gt,
  idiv,
  lt,
  max,
  mul,
  or,
  select,
  sub,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  cross,
  dot3,
  mulMatVec,
  neg3,
  norm3,
  scale3,
  select3,
  sub3,
  type Mat3,
  type Vec3,
} from "../../../trace/vector.ts";

/** How far two points are apart across a unit direction. */
export const lateral = (a: Vec3, b: Vec3, n: Vec3): Scalar => {
  const gap = sub3(a, b);
  return norm3(sub3(gap, scale3(n, dot3(gap, n))));
};
export const unit = (v: Vec3): Vec3 => scale3(v, div(1, max(norm3(v), 1e-30)));
/** The same, x where there is none. */
export const direction = (v: Vec3): Vec3 => select3(gt(norm3(v), 1e-12), unit(v), [1, 0, 0]);
/** Some unit direction across a unit one. */
export const across = (n: Vec3): Vec3 => unit(cross(n, select3(lt(abs(n[0]), 0.6), [1, 0, 0], [0, 1, 0])));

/** Directions to look along first: there and back along the axes of both shapes, and from one centre to the other. */
export function axisOf(k: Int, rot: Mat3, offset: Vec3): Vec3 {
  const i = select(ge(k, 6), sub(k, 6), k, "i32");
  const odd = eq(sub(i, mul(2, idiv(i, 2))), 1);
  const sign = select(odd, -1, 1);
  const [first, third] = [lt(i, 2), ge(i, 4)];
  const axis: Vec3 = [select(first, sign, 0), select(or(first, third), 0, sign), select(third, sign, 0)];
  return select3(eq(k, 12), direction(offset), select3(ge(k, 6), mulMatVec(rot, axis), axis));
}

/** Four directions across a unit one, from k = -1 on. */
export function aside(along: Vec3, k: Int): Vec3 {
  const first = across(along);
  const turned = select3(lt(k, 1), first, cross(along, first));
  return select3(or(eq(k, 0), eq(k, 2)), neg3(turned), turned);
}
