// where a ray meets one geom (mju_rayGeom), in the geom's own frame
import { mjtGeom } from "../../model/enums.ts";
import { current } from "../../trace/graph.ts";
import {
  abs,
  add,
  and,
  clamp,
  div,
  ge,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  neg,
  not,
  or,
  select,
  sign,
  sqrt,
  square,
  sub,
  type Bool,
  type Scalar,
} from "../../trace/scalar.ts";
import { addScaled3, dot3, MINVAL, normalize3, scale3, select3, ZERO3, type Vec3 } from "../../trace/vector.ts";

/** The distance of a ray that meets nothing: beyond all others, and a normal float32. */
export const MISS = 1e30;
/** Beyond the ends of any geom (mjMAXVAL). */
const FAR = 1e10;

/** A ray p + x v, x >= 0, in the frame of a geom. */
export interface LocalRay {
  readonly p: Vec3;
  readonly v: Vec3;
}

/** Where a ray meets a geom: x >= 0, or `MISS`; the unit normal there, out of the geom, if it does. */
export interface Hit {
  readonly x: Scalar;
  readonly normal: Vec3;
}

/** The times in which the line of a ray is inside of something convex; empty if hi < lo. */
export interface Span {
  readonly lo: Scalar;
  readonly hi: Scalar;
}

/** Below this, the part of a unit vector along an axis is nothing: what rounding leaves of directions. */
const parallelBelow = (): number => (current().exact ? MINVAL : 3e-7);

/** Where the line is inside a ball, a circle or a scaled ellipsoid: |p + x v| <= radius. */
function insideRound(p: readonly Scalar[], v: readonly Scalar[], radius: Scalar): Span {
  const dot = (a: readonly Scalar[], b: readonly Scalar[]) => a.reduce<Scalar>((s, x, k) => add(s, mul(x, b[k])), 0);
  const a = dot(v, v);
  const along = lt(a, MINVAL);
  const inverse = div(1, max(a, MINVAL));
  const middle = mul(neg(dot(p, v)), inverse);
  // the foot of the centre on the line: its distance keeps digits that b² - a c would lose
  const foot = p.map((x, k) => add(x, mul(middle, v[k])));
  const room = sub(square(radius), select(along, dot(p, p), dot(foot, foot)));
  const half = sqrt(mul(max(room, 0), inverse));
  const misses = lt(room, 0);
  return {
    lo: select(misses, FAR, select(along, -FAR, sub(middle, half))),
    hi: select(misses, -FAR, select(along, FAR, add(middle, half))),
  };
}

/** Where the line is between -half and half along one axis. */
export function insideSlab(p: Scalar, v: Scalar, half: Scalar): Span {
  const along = le(abs(v), MINVAL);
  const inverse = div(1, select(along, 1, v));
  const [s, t] = [mul(sub(neg(half), p), inverse), mul(sub(half, p), inverse)];
  const misses = gt(abs(p), half);
  return {
    lo: select(along, select(misses, FAR, -FAR), min(s, t)),
    hi: select(along, select(misses, -FAR, FAR), max(s, t)),
  };
}

/** The end of a span that a ray meets: where it comes in, or goes out if it starts inside. */
function endOf({ lo, hi }: Span): { x: Scalar; enters: Bool } {
  const enters = ge(lo, 0);
  const hits = and(le(lo, hi), ge(hi, 0));
  return { x: select(hits, select(enters, lo, hi), MISS), enters };
}

/** The point at x; of a ray that misses, some point that float32 can square. */
const at = ({ p, v }: LocalRay, x: Scalar): Vec3 => addScaled3(p, min(x, FAR), v);
const unit = (v: Vec3): Vec3 => normalize3(v, ZERO3).unit;

function rayPlane({ p, v }: LocalRay, size: Vec3): Hit {
  const length = sqrt(dot3(v, v));
  // seen from the front alone
  const meets = lt(v[2], mul(-parallelBelow(), length));
  const x = div(neg(p[2]), select(meets, v[2], -1));
  const end = at({ p, v }, x);
  const within = (k: 0 | 1): Bool => or(le(size[k], 0), le(abs(end[k]), size[k]));
  const hits = and(and(meets, ge(x, 0)), and(within(0), within(1)));
  return { x: select(hits, x, MISS), normal: [0, 0, 1] };
}

function raySphere(ray: LocalRay, size: Vec3): Hit {
  const { x } = endOf(insideRound(ray.p, ray.v, size[0]));
  return { x, normal: unit(at(ray, x)) };
}

function rayCapsule(ray: LocalRay, size: Vec3): Hit {
  const { p, v } = ray;
  const [radius, half] = size;
  const side = insideRound([p[0], p[1]], [v[0], v[1]], radius);
  // the line passes the side, or else the cap beyond that end
  const through = (x: Scalar, end: "lo" | "hi"): Scalar => {
    const z = add(p[2], mul(x, v[2]));
    const cap = insideRound([p[0], p[1], sub(p[2], select(lt(z, 0), neg(half), half))], v, radius);
    return select(le(abs(z), half), x, cap[end]);
  };
  const passes = le(side.lo, side.hi);
  const lo = select(passes, through(side.lo, "lo"), FAR);
  const { x } = endOf({ lo, hi: select(passes, through(side.hi, "hi"), -FAR) });
  const end = at(ray, x);
  return { x, normal: unit([end[0], end[1], sub(end[2], clamp(end[2], neg(half), half))]) };
}

function rayEllipsoid(ray: LocalRay, size: Vec3): Hit {
  const scaled = (a: Vec3): Vec3 => a.map((c, k) => div(c, size[k])) as unknown as Vec3;
  const { x } = endOf(insideRound(scaled(ray.p), scaled(ray.v), 1));
  return { x, normal: unit(scaled(scaled(at(ray, x)))) };
}

function rayCylinder(ray: LocalRay, size: Vec3): Hit {
  const { p, v } = ray;
  const side = insideRound([p[0], p[1]], [v[0], v[1]], size[0]);
  const ends = insideSlab(p[2], v[2], size[1]);
  const { x, enters } = endOf({ lo: max(side.lo, ends.lo), hi: min(side.hi, ends.hi) });
  const end = at(ray, x);
  const flat = or(and(enters, le(side.lo, ends.lo)), and(not(enters), le(ends.hi, side.hi)));
  const cap: Vec3 = [0, 0, mul(sign(v[2]), select(enters, -1, 1))];
  return { x, normal: select3(flat, cap, unit([end[0], end[1], 0])) };
}

export function rayBox({ p, v }: LocalRay, size: Vec3): Hit {
  const slabs = [0, 1, 2].map((k) => insideSlab(p[k], v[k], size[k]));
  const { x, enters } = endOf({
    lo: slabs.map((s) => s.lo).reduce(max),
    hi: slabs.map((s) => s.hi).reduce(min),
  });
  // the face whose plane is met there, the first of several
  const onFace = slabs.map((s) => select(enters, s.lo, s.hi)).map((t) => le(abs(sub(t, x)), 0));
  const [first, second] = onFace;
  const axis = select3(first, [1, 0, 0], select3(second, [0, 1, 0], [0, 0, 1]));
  const outward = scale3([sign(v[0]), sign(v[1]), sign(v[2])], select(enters, -1, 1));
  return { x, normal: axis.map((a, k) => mul(a, outward[k])) as unknown as Vec3 };
}

const SHAPES: Readonly<Record<number, (ray: LocalRay, size: Vec3) => Hit>> = {
  [mjtGeom.PLANE]: rayPlane,
  [mjtGeom.SPHERE]: raySphere,
  [mjtGeom.CAPSULE]: rayCapsule,
  [mjtGeom.ELLIPSOID]: rayEllipsoid,
  [mjtGeom.CYLINDER]: rayCylinder,
  [mjtGeom.BOX]: rayBox,
};

/** Where a ray meets a primitive (mju_rayGeom). `size`: geom_size, m. */
export const rayShape = (type: number, ray: LocalRay, size: Vec3): Hit => SHAPES[type](ray, size);
