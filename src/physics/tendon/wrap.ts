// the shortest way of a tendon around a sphere or a cylinder (mju_wrap)
import { breakIf, flag, increase, loop, variable, when } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  abs,
  add,
  and,
  clamp,
  div,
  ge,
  gt,
  isNode,
  le,
  lt,
  max,
  min,
  mul,
  neg,
  not,
  or,
  select,
  sqrt,
  square,
  sub,
  type Bool,
  type Scalar,
} from "../../trace/scalar.ts";
import { asin, atan2, sincos } from "../../trace/math.ts";
import {
  add3,
  addScaled3,
  cross,
  dot3,
  mulMatTVec,
  mulMatVec,
  norm3,
  normalize3,
  scale3,
  select3,
  sub3,
  MINVAL,
  type Mat3,
  type Vec3,
} from "../../trace/vector.ts";

type Vec2 = readonly [Scalar, Scalar];
const dot2 = (a: Vec2, b: Vec2): Scalar => add(mul(a[0], b[0]), mul(a[1], b[1]));
const cross2 = (a: Vec2, b: Vec2): Scalar => sub(mul(a[0], b[1]), mul(a[1], b[0]));
const sub2 = (a: Vec2, b: Vec2): Vec2 => [sub(a[0], b[0]), sub(a[1], b[1])];
const add2 = (a: Vec2, b: Vec2): Vec2 => [add(a[0], b[0]), add(a[1], b[1])];
const scale2 = (a: Vec2, s: Scalar): Vec2 => [mul(a[0], s), mul(a[1], s)];
const norm2 = (a: Vec2): Scalar => sqrt(dot2(a, a));
const select2 = (c: Bool, a: Vec2, b: Vec2): Vec2 => [select(c, a[0], b[0]), select(c, a[1], b[1])];
/** a at unit length, the x axis where it vanishes (mju_normalize). */
const unit2 = (a: Vec2): Vec2 => {
  const length = norm2(a);
  return select2(lt(length, MINVAL), [1, 0], scale2(a, div(1, max(length, MINVAL))));
};
const angleBetween = (a: Vec2, b: Vec2): Scalar => atan2(abs(cross2(a, b)), dot2(a, b));
const any = (...conditions: Bool[]): Bool => conditions.reduce(or, false);

/** Where a tendon touches a circle around the origin, and the length of the arc between. */
interface Arc {
  readonly wraps: Bool;
  readonly from: Vec2;
  readonly to: Vec2;
  readonly length: Scalar;
}

/** Around the outside, on the side of `side` if that is given. */
function wrapCircle(d0: Vec2, d1: Vec2, side: Vec2 | undefined, radius: number): Arc {
  const [squared0, squared1, radius2] = [dot2(d0, d0), dot2(d1, d1), radius * radius];
  const along = sub2(d1, d0);
  const length2 = dot2(along, along);
  const a = clamp(div(neg(dot2(along, d0)), max(length2, MINVAL)), 0, 1);
  const nearest = add2(d0, scale2(along, a));
  const inside = or(lt(squared0, radius2), lt(squared1, radius2));
  const [tangent0, tangent1] = [squared0, squared1].map((squared) => sqrt(max(sub(squared, radius2), 0)));

  const solution = (sign: 1 | -1) => {
    const touch = (d: Vec2, squared: Scalar, tangent: Scalar, s: number): Vec2 => {
      const root = mul(s * radius, tangent);
      const inverse = div(1, max(squared, MINVAL));
      return [
        mul(add(mul(d[0], radius2), mul(d[1], root)), inverse),
        mul(sub(mul(d[1], radius2), mul(d[0], root)), inverse),
      ];
    };
    const [from, to] = [touch(d0, squared0, tangent0, sign), touch(d1, squared1, tangent1, -sign)];
    const gap = sub2(from, to);
    // tangents meet r tan(angle / 2) before where they touch: of those of a grazing line float32 does not tell an intersection
    const turn = cross2(to, from);
    const reach = mul(min(tangent0, tangent1), add(radius2, dot2(from, to)));
    const crosses = and(lt(mul(sign, turn), 0), le(mul(radius, abs(turn)), reach));
    const goodness = side ? dot2(unit2(add2(from, to)), side) : neg(dot2(gap, gap));
    return { from, to, turn, crosses, goodness: select(crosses, -10000, goodness) };
  };
  const [left, right] = [solution(1), solution(-1)];
  // where tangents cross the line is clear, whatever rounding says of its distance
  const clear = any(gt(dot2(nearest, nearest), radius2), left.crosses, right.crosses);
  const misses = side ? and(clear, ge(dot2(side, nearest), 0)) : clear;
  const first = gt(left.goodness, right.goodness);
  const [from, to] = [select2(first, left.from, right.from), select2(first, left.to, right.to)];

  // the arc runs one way round: beyond half a turn where the points lie the other way
  const turn = select(first, left.turn, right.turn);
  const flips = or(and(gt(turn, 0), not(first)), and(lt(turn, 0), first));
  const angle = angleBetween(from, to);
  const arc = select(flips, sub(2 * Math.PI, angle), angle);
  const crosses = or(and(first, left.crosses), and(not(first), right.crosses));
  const wraps = not(any(inside, radius < MINVAL, lt(length2, MINVAL), misses, crosses));
  return { wraps, from, to, length: mul(radius, arc) };
}

/** Through the inside: the point of the circle if the tendon is shortest, by Newton's method as MuJoCo does it. */
function wrapInside(d0: Vec2, d1: Vec2, radius: number): Arc {
  const [length0, length1] = [norm2(d0), norm2(d1)];
  const along = sub2(d1, d0);
  const length2 = dot2(along, along);
  const a = div(neg(dot2(along, d0)), max(length2, MINVAL));
  const near = norm2(add2(d0, scale2(along, a)));
  const meets = and(gt(length2, MINVAL), and(and(gt(a, 0), lt(a, 1)), le(near, radius)));
  const inside = or(le(length0, radius), le(length1, radius));

  const [A, B] = [length0, length1].map((x) => div(radius, max(x, MINVAL)));
  const cosine = div(sub(add(square(length0), square(length1)), length2), max(mul(2, mul(length0, length1)), MINVAL));
  const opposite = lt(cosine, -1 + MINVAL);
  const G = angleBetween(d0, d1);
  const exact = current().exact;

  // asin(A z) + asin(B z) - 2 asin(z) + G = 0, from the right
  const value = (z: Scalar) => add(sub(add(asin(mul(A, z)), asin(mul(B, z))), mul(2, asin(z))), G);
  const z = variable("wrap_z", 1 - 1e-7);
  const f = variable("wrap_f", 0);
  const failed = flag("wrap_failed", false);
  const tolerance = 1e-6;
  const misses = any(inside, radius < MINVAL, meets, opposite);
  f.set(value(z.get()));
  failed.set(any(misses, gt(cosine, 1 - MINVAL), gt(f.get(), 0)));
  const iterations = variable("wrap_iterations", 0, "i32");
  loop(20, () => {
    breakIf(or(failed.get(), le(abs(f.get()), tolerance)));
    const slope = (k: Scalar) => div(k, max(sqrt(max(sub(1, square(mul(k, z.get()))), 0)), MINVAL));
    const rate = sub(add(slope(A), slope(B)), mul(2, slope(1)));
    const next = sub(z.get(), div(f.get(), select(gt(rate, -MINVAL), -1, rate)));
    const wrong = or(gt(rate, -MINVAL), gt(next, z.get()));
    // rounding in float32 ends the search where there is any; in float64 it does not occur
    if (exact) failed.set(wrong);
    breakIf(wrong);
    z.set(next);
    f.set(value(next));
    if (exact) failed.set(gt(f.get(), tolerance));
    increase(iterations, 1);
  });
  if (exact) failed.set(or(failed.get(), ge(iterations.get(), 20)));

  const average = scale2(unit2(scale2(add2(d0, d1), 0.5)), radius);
  const counter = gt(cross2(d0, d1), 0);
  const base = unit2(select2(counter, d0, d1));
  const turn = sub(asin(z.get()), asin(mul(select(counter, A, B), z.get())));
  const [s, c] = sincos(turn);
  const found: Vec2 = scale2([sub(mul(c, base[0]), mul(s, base[1])), add(mul(s, base[0]), mul(c, base[1]))], radius);
  const point = select2(failed.get(), average, found);
  return { wraps: not(misses), from: point, to: point, length: 0 };
}

/** The way around a geom: whether there is one, where it touches (global) and its length in between. */
export interface Wrap {
  readonly wraps: Bool;
  readonly from: Vec3;
  readonly to: Vec3;
  readonly length: Scalar;
}

/** A sphere or cylinder that tendons wrap around. */
export interface WrapGeom {
  readonly isSphere: boolean;
  readonly pos: Vec3;
  readonly mat: Mat3;
  readonly radius: number;
}

/** The axes of the plane in which a tendon wraps, in the geom's frame: that of both points and a sphere's centre. */
function wrapPlane(geom: WrapGeom, p0: Vec3, p1: Vec3): [Vec3, Vec3] {
  if (!geom.isSphere) {
    return [
      [1, 0, 0],
      [0, 1, 0],
    ];
  }
  const first = normalize3(p0).unit;
  const { unit, length } = normalize3(cross(p0, p1));
  // points in line with the centre leave the plane open
  const [x, y, z] = first.map(abs);
  const byY = and(gt(y, x), gt(y, z));
  const byZ = and(gt(z, x), gt(z, y));
  const other: Vec3 = [select(or(byY, byZ), 1, 0), select(byY, 0, 1), select(byZ, 0, 1)];
  const normal = select3(lt(length, MINVAL), normalize3(cross(first, other)).unit, unit);
  return [first, normalize3(cross(normal, first)).unit];
}

/** The shortest way from one point to another around a geom; `side` is a point on the side it must take. */
export function wrap(geom: WrapGeom, x0: Vec3, x1: Vec3, side: { pos: Vec3; distance?: number } | undefined): Wrap {
  const local = (x: Vec3) => mulMatTVec(geom.mat, sub3(x, geom.pos));
  const [p0, p1] = [local(x0), local(x1)];
  const [u, v] = wrapPlane(geom, p0, p1);
  const flat = (p: Vec3): Vec2 => [dot3(p, u), dot3(p, v)];
  const [d0, d1] = [flat(p0), flat(p1)];
  const arc = wrapArc(geom, d0, d1, side, local, flat);
  const near = or(lt(norm3(p0), MINVAL), lt(norm3(p1), MINVAL));

  const lift = (p: Vec2): Vec3 => addScaled3(scale3(u, p[0]), p[1], v);
  let [from, to] = [lift(arc.from), lift(arc.to)];
  let { length } = arc;
  if (!geom.isSphere) {
    // along the axis it climbs evenly
    const [start, end] = [norm2(sub2(d0, arc.from)), norm2(sub2(d1, arc.to))];
    const rise = div(sub(p1[2], p0[2]), max(add(add(start, length), end), MINVAL));
    const [low, high] = [add(p0[2], mul(rise, start)), add(p0[2], mul(rise, add(start, length)))];
    from = [from[0], from[1], low];
    to = [to[0], to[1], high];
    length = sqrt(add(square(length), square(sub(high, low))));
  }
  const global = (p: Vec3) => add3(geom.pos, mulMatVec(geom.mat, p));
  return { wraps: and(arc.wraps, not(near)), from: global(from), to: global(to), length };
}

/** Through the inside if the side point is nearer to the centre than the radius, else around the outside. */
function wrapArc(
  geom: WrapGeom,
  d0: Vec2,
  d1: Vec2,
  side: { pos: Vec3; distance?: number } | undefined,
  local: (x: Vec3) => Vec3,
  flat: (p: Vec3) => Vec2,
): Arc {
  const { radius } = geom;
  if (!side) return wrapCircle(d0, d1, undefined, radius);
  const point = local(side.pos);
  const outward = scale2(unit2(flat(point)), radius);
  // a side point that never leaves its place decides when the kernel is traced
  const isInside: Bool = lt(side.distance ?? norm3(point), radius);
  if (!isNode(isInside)) return isInside ? wrapInside(d0, d1, radius) : wrapCircle(d0, d1, outward, radius);
  const out = ["from_x", "from_y", "to_x", "to_y", "length"].map((name) => variable(`wrap_${name}`, 0));
  const wraps = flag("wraps", false);
  const keep = (arc: Arc) => {
    [...arc.from, ...arc.to, arc.length].forEach((x, k) => out[k].set(x));
    wraps.set(arc.wraps);
  };
  when(
    isInside,
    () => keep(wrapInside(d0, d1, radius)),
    () => keep(wrapCircle(d0, d1, outward, radius)),
  );
  const [fx, fy, tx, ty, length] = out.map((x) => x.get());
  return { wraps: wraps.get(), from: [fx, fy], to: [tx, ty], length };
}
