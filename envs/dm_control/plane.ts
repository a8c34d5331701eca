// geometry in the plane of x and z, for starts in which nothing may touch
import { cos, sin } from "../../src/trace/math.ts";
import { add, clamp, div, gt, max, mul, square, sub, type Bool, type Scalar } from "../../src/trace/scalar.ts";

export type Point = readonly [x: Scalar, z: Scalar];

/** A point of a body that is turned by an angle about -y. */
export const turned = ([x, z]: Point, angle: Scalar): Point => [
  sub(mul(x, cos(angle)), mul(z, sin(angle))),
  add(mul(x, sin(angle)), mul(z, cos(angle))),
];
export const plus = (a: Point, b: Point): Point => [add(a[0], b[0]), add(a[1], b[1])];
const minus = (a: Point, b: Point): Point => [sub(a[0], b[0]), sub(a[1], b[1])];
const dot = (a: Point, b: Point): Scalar => add(mul(a[0], b[0]), mul(a[1], b[1]));

/** Whether a point is further than `far` from a segment. */
export function isBeyond(p: Point, a: Point, b: Point, far: number): Bool {
  const [dx, dz] = [sub(b[0], a[0]), sub(b[1], a[1])];
  const [px, pz] = [sub(p[0], a[0]), sub(p[1], a[1])];
  const along = clamp(div(add(mul(px, dx), mul(pz, dz)), add(square(dx), square(dz))), 0, 1);
  return gt(add(square(sub(px, mul(along, dx))), square(sub(pz, mul(along, dz)))), far * far);
}

/** A capsule: the ends of its axis, equal where it is a ball, and its radius (m). */
export interface Capsule {
  readonly ends: readonly [Point, Point];
  readonly radius: number;
}

/** Least lengths that are divided by (m²). */
const TINY = 1e-12;

/** Whether two capsules are apart: by the points of their axes that are next to each other (Ericson 2005, 5.1.9). */
export function areApart(a: Capsule, b: Capsule): Bool {
  const [u, v, w] = [minus(a.ends[1], a.ends[0]), minus(b.ends[1], b.ends[0]), minus(a.ends[0], b.ends[0])];
  const [uu, vv, uv, uw, vw] = [dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)];
  const crossed = max(sub(mul(uu, vv), square(uv)), TINY * TINY);
  const first = clamp(div(sub(mul(uv, vw), mul(uw, vv)), crossed), 0, 1);
  const t = clamp(div(add(mul(uv, first), vw), max(vv, TINY)), 0, 1);
  const s = clamp(div(sub(mul(uv, t), uw), max(uu, TINY)), 0, 1);
  const between: Point = [add(w[0], sub(mul(u[0], s), mul(v[0], t))), add(w[1], sub(mul(u[1], s), mul(v[1], t)))];
  return gt(dot(between, between), (a.radius + b.radius) ** 2);
}
