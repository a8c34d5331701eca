// vectors, quaternions and matrices as tuples of scalars; quaternions are (w, x, y, z), matrices row-major
import { current } from "./graph.ts";
import {
  abs,
  add,
  div,
  dotn,
  gt,
  isNode,
  lt,
  max,
  mul,
  neg,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Scalar,
} from "./scalar.ts";

export type Vec3 = readonly [Scalar, Scalar, Scalar];
export type Quat = readonly [Scalar, Scalar, Scalar, Scalar];
export type Mat3 = readonly [Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar];

/** MuJoCo's mjMINVAL: the smallest divisor. */
export const MINVAL = 1e-15;

export const ZERO3: Vec3 = [0, 0, 0];
export const add3 = (a: Vec3, b: Vec3): Vec3 => [add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2])];
export const sub3 = (a: Vec3, b: Vec3): Vec3 => [sub(a[0], b[0]), sub(a[1], b[1]), sub(a[2], b[2])];
export const scale3 = (a: Vec3, s: Scalar): Vec3 => [mul(a[0], s), mul(a[1], s), mul(a[2], s)];
export const neg3 = (a: Vec3): Vec3 => [neg(a[0]), neg(a[1]), neg(a[2])];
export const dot3 = (a: Vec3, b: Vec3): Scalar => dotn(a, b);
export const cross = (a: Vec3, b: Vec3): Vec3 => [
  sub(mul(a[1], b[2]), mul(a[2], b[1])),
  sub(mul(a[2], b[0]), mul(a[0], b[2])),
  sub(mul(a[0], b[1]), mul(a[1], b[0])),
];
/** a + s b */
export const addScaled3 = (a: Vec3, s: Scalar, b: Vec3): Vec3 => add3(a, scale3(b, s));
export const norm3 = (a: Vec3): Scalar => sqrt(dot3(a, a));
export const select3 = (c: Bool, a: Vec3, b: Vec3): Vec3 => [
  select(c, a[0], b[0]),
  select(c, a[1], b[1]),
  select(c, a[2], b[2]),
];

/** a scaled to unit length, `fallback` if it is shorter than mjMINVAL; also its length (mju_normalize3). */
export function normalize3(a: Vec3, fallback: Vec3 = [1, 0, 0]): { unit: Vec3; length: Scalar } {
  const length = norm3(a);
  if (!isNode(length)) {
    return { unit: length < MINVAL ? fallback : scale3(a, 1 / length), length };
  }
  const short = lt(length, MINVAL);
  const inverse = div(1, max(length, MINVAL));
  return { unit: select3(short, fallback, scale3(a, inverse)), length };
}

export const mulQuat = (a: Quat, b: Quat): Quat => [
  sub(sub(sub(mul(a[0], b[0]), mul(a[1], b[1])), mul(a[2], b[2])), mul(a[3], b[3])),
  sub(add(add(mul(a[0], b[1]), mul(a[1], b[0])), mul(a[2], b[3])), mul(a[3], b[2])),
  add(add(sub(mul(a[0], b[2]), mul(a[1], b[3])), mul(a[2], b[0])), mul(a[3], b[1])),
  add(sub(add(mul(a[0], b[3]), mul(a[1], b[2])), mul(a[2], b[1])), mul(a[3], b[0])),
];

export const negQuat = (q: Quat): Quat => [q[0], neg(q[1]), neg(q[2]), neg(q[3])];

/** v rotated by q (mju_rotVecQuat). */
export function rotate(q: Quat, v: Vec3): Vec3 {
  const u: Vec3 = [q[1], q[2], q[3]];
  const t = add3(scale3(v, q[0]), cross(u, v));
  return add3(v, scale3(cross(u, t), 2));
}

/** q at unit length, the identity where it vanishes (mju_normalize4). */
export function normalizeQuat(q: Quat): Quat {
  const length = sqrt(dotn(q, q));
  if (!isNode(length)) {
    return length < MINVAL ? [1, 0, 0, 0] : (q.map((x) => mul(x, 1 / length)) as never);
  }
  const short = lt(length, MINVAL);
  const inverse = div(1, max(length, MINVAL));
  // float64 tells a quaternion that is one but for rounding, which MuJoCo leaves as it is
  const scale = current().exact ? select(gt(abs(sub(length, 1)), MINVAL), inverse, 1) : inverse;
  return q.map((x, i) => select(short, i === 0 ? 1 : 0, mul(x, scale))) as never;
}

/** The rotation matrix of q (mju_quat2Mat). */
export function quatToMat(q: Quat): Mat3 {
  const [w, x, y, z] = q;
  if (w === 1 && x === 0 && y === 0 && z === 0) return [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const two = (a: Scalar, b: Scalar) => mul(2, mul(a, b));
  const ww = square(w);
  const xx = square(x);
  const yy = square(y);
  const zz = square(z);
  return [
    sub(sub(add(ww, xx), yy), zz),
    sub(two(x, y), two(w, z)),
    add(two(x, z), two(w, y)),
    add(two(x, y), two(w, z)),
    sub(add(sub(ww, xx), yy), zz),
    sub(two(y, z), two(w, x)),
    sub(two(x, z), two(w, y)),
    add(two(y, z), two(w, x)),
    add(sub(sub(ww, xx), yy), zz),
  ];
}

export const row = (m: Mat3, i: number): Vec3 => [m[3 * i], m[3 * i + 1], m[3 * i + 2]];
export const column = (m: Mat3, i: number): Vec3 => [m[i], m[3 + i], m[6 + i]];
export const mulMatVec = (m: Mat3, v: Vec3): Vec3 => [dot3(row(m, 0), v), dot3(row(m, 1), v), dot3(row(m, 2), v)];
/** mᵀ v */
export const mulMatTVec = (m: Mat3, v: Vec3): Vec3 => [
  dot3(column(m, 0), v),
  dot3(column(m, 1), v),
  dot3(column(m, 2), v),
];
export const transpose = (m: Mat3): Mat3 => [m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]];
export function mulMat(a: Mat3, b: Mat3): Mat3 {
  const out: Scalar[] = [];
  for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) out.push(dot3(row(a, i), column(b, j)));
  return out as unknown as Mat3;
}

/** Euclidean length squared of any vector. */
export const lengthSquared = (a: readonly Scalar[]): Scalar => sum(a.map(square));
