// spatial algebra in MuJoCo's coordinates: (rotation, translation), inertias as ten numbers about the centre of mass
import { add, dotn, mul, sub, type Scalar } from "./scalar.ts";
import { add3, cross, scale3, sub3, type Mat3, type Vec3 } from "./vector.ts";

/** A motion or force: three rotational, three translational components. */
export type Spatial = readonly [Scalar, Scalar, Scalar, Scalar, Scalar, Scalar];
/** Ixx Iyy Izz Ixy Ixz Iyz, mass times offset (3), mass: `cinert` and `crb`. */
export type SpatialInertia = readonly [Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar];

export const ZERO6: Spatial = [0, 0, 0, 0, 0, 0];
export const rotational = (s: Spatial): Vec3 => [s[0], s[1], s[2]];
export const translational = (s: Spatial): Vec3 => [s[3], s[4], s[5]];
export const spatial = (r: Vec3, t: Vec3): Spatial => [...r, ...t];
export const add6 = (a: Spatial, b: Spatial): Spatial => a.map((x, i) => add(x, b[i])) as never;
export const sub6 = (a: Spatial, b: Spatial): Spatial => a.map((x, i) => sub(x, b[i])) as never;
export const scale6 = (a: Spatial, s: Scalar): Spatial => a.map((x) => mul(x, s)) as never;
export const dot6 = (a: Spatial, b: Spatial): Scalar => dotn(a, b);

/**
 * Inertia about a point at `-offset` from the body's centre of mass, in global orientation (mju_inertCom).
 * `inertia`: principal moments, kg m²; `mat`: orientation of the principal axes.
 */
export function inertCom(inertia: Vec3, mat: Mat3, offset: Vec3, mass: Scalar): SpatialInertia {
  // mat diag(inertia) matᵀ, upper triangle
  const element = (i: number, j: number): Scalar => {
    let s: Scalar = 0;
    for (let k = 0; k < 3; k++) s = add(s, mul(mul(mat[3 * i + k], inertia[k]), mat[3 * j + k]));
    return s;
  };
  const [x, y, z] = offset;
  const xx = mul(x, x);
  const yy = mul(y, y);
  const zz = mul(z, z);
  return [
    add(element(0, 0), mul(mass, add(yy, zz))),
    add(element(1, 1), mul(mass, add(xx, zz))),
    add(element(2, 2), mul(mass, add(xx, yy))),
    sub(element(0, 1), mul(mass, mul(x, y))),
    sub(element(0, 2), mul(mass, mul(x, z))),
    sub(element(1, 2), mul(mass, mul(y, z))),
    mul(mass, x),
    mul(mass, y),
    mul(mass, z),
    mass,
  ];
}

/** Of two bodies about one point. */
export const addInertia = (a: SpatialInertia, b: SpatialInertia): SpatialInertia =>
  a.map((x, k) => add(x, b[k])) as unknown as SpatialInertia;

/** Spatial momentum of an inertia that moves with `v` (mju_mulInertVec). */
export function mulInertVec(i: SpatialInertia, v: Spatial): Spatial {
  const [w, u] = [rotational(v), translational(v)];
  const h: Vec3 = [i[6], i[7], i[8]];
  const rotated: Vec3 = [dotn([i[0], i[3], i[4]], w), dotn([i[3], i[1], i[5]], w), dotn([i[4], i[5], i[2]], w)];
  return spatial(add3(rotated, cross(h, u)), sub3(scale3(u, i[9]), cross(h, w)));
}

/** Motion cross motion (mju_crossMotion). */
export function crossMotion(a: Spatial, b: Spatial): Spatial {
  const w = rotational(a);
  return spatial(cross(w, rotational(b)), add3(cross(w, translational(b)), cross(translational(a), rotational(b))));
}

/** Motion cross force (mju_crossForce). */
export function crossForce(v: Spatial, f: Spatial): Spatial {
  const w = rotational(v);
  return spatial(add3(cross(w, rotational(f)), cross(translational(v), translational(f))), cross(w, translational(f)));
}

/** The motion axis of a rotation about `axis`, with `offset` from the axis to the reference point (mju_dofCom). */
export const dofCom = (axis: Vec3, offset: Vec3): Spatial => spatial(axis, cross(axis, offset));
/** The motion axis of a translation along `axis`. */
export const dofSlide = (axis: Vec3): Spatial => spatial([0, 0, 0], axis);

/**
 * A spatial motion about `oldPoint` expressed at `newPoint`, rotated into `frame` where given (mju_transformSpatial
 * for motions).
 */
export function motionAt(v: Spatial, newPoint: Vec3, oldPoint: Vec3): Spatial {
  const d: Vec3 = sub3(newPoint, oldPoint);
  // velocity at the new point: u + w x d
  return spatial(rotational(v), add3(translational(v), cross(rotational(v), d)));
}

/** A spatial force about `oldPoint` expressed at `newPoint`. */
export function forceAt(f: Spatial, newPoint: Vec3, oldPoint: Vec3): Spatial {
  const d: Vec3 = sub3(newPoint, oldPoint);
  return spatial(sub3(rotational(f), cross(d, translational(f))), translational(f));
}
