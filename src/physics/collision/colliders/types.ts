// what a collider takes and gives, and the tolerances that all of them share
import { div, isNode, max, mul, type Bool, type Scalar } from "../../../trace/scalar.ts";
import { MINVAL, type Mat3, type Vec3 } from "../../../trace/vector.ts";

/** A geom: geom_xpos (m), geom_xmat (row-major, z is the axis of planes and capsules), geom_size (m, as in MJCF). */
export interface Shape {
  pos: Vec3;
  mat: Mat3;
  size: Vec3;
  /** Whether no joint turns it, and its z axis if so with the rounding of MuJoCo's float64; unknown is no. */
  steady?(): { is: Bool; axis: Vec3 };
}

/** One slot of a collider. It is a contact where `exists` and `dist < margin`; slots are in MuJoCo's order. */
export interface Candidate {
  /** Signed distance between the surfaces, m; negative in penetration. */
  dist: Scalar;
  /** Midway between the surfaces, global, m. */
  pos: Vec3;
  /** Unit, from the first geom to the second. */
  normal: Vec3;
  /** Direction the first tangent of the contact frame leans to, where MuJoCo sets one. */
  tangent?: Vec3;
  /** False where the slot stays empty for another reason than the margin. */
  exists: Bool;
}

/**
 * Contacts of two geoms (an mjc_* function), the lower mjtGeom first. `margin` is the distance up to which MuJoCo
 * looks for contacts (margin + gap); the caller still compares `dist` with it.
 */
export type Collider = (a: Shape, b: Shape, margin: Scalar) => Candidate[];

/**
 * Squared sine below which two directions count as parallel whatever their lengths: the noise of directions in
 * float32. MuJoCo's own bound (float64) is mjMINVAL on the determinant of the two half-length vectors, below this for
 * half-lengths that multiply to more than 0.07 m².
 */
const PARALLEL = 2e-13;

/** The squared sine below which segments with half-lengths of product `scale` are parallel. */
export function parallelBelow(scale: Scalar): Scalar {
  if (!isNode(scale)) return Math.max(MINVAL / (scale * scale), PARALLEL);
  return max(div(MINVAL, mul(scale, scale)), PARALLEL);
}

/** mjMINVAL squared, for tests on squared lengths. */
export const MINVAL2 = MINVAL * MINVAL;
