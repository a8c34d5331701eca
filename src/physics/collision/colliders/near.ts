// the cheap test that spares most pairs their collider
import { mjtGeom } from "../../../model/enums.ts";
import { add, le, max, sqrt, square, type Bool, type Scalar } from "../../../trace/scalar.ts";
import { column, dot3, lengthSquared, sub3, type Mat3, type Vec3 } from "../../../trace/vector.ts";

/** geom_rbound of a primitive: the radius of the sphere about its centre that holds it; 0 for a plane. */
export function boundingRadius(type: number, size: Vec3): Scalar {
  switch (type) {
    case mjtGeom.SPHERE:
      return size[0];
    case mjtGeom.CAPSULE:
      return add(size[0], size[1]);
    case mjtGeom.ELLIPSOID:
      return max(size[0], max(size[1], size[2]));
    case mjtGeom.CYLINDER:
      return sqrt(add(square(size[0]), square(size[1])));
    case mjtGeom.BOX:
      return sqrt(lengthSquared(size));
    default:
      return 0;
  }
}

/** What the bounding test reads of a geom: geom_xpos, geom_xmat, geom_rbound (m; 0 for a plane). */
export interface Bounds {
  pos: Vec3;
  mat: Mat3;
  rbound: Scalar;
}

/**
 * Whether two geoms may touch by their bounding spheres (mj_filterSphere, negated): never false if a collider
 * finds a contact within `margin`. Only the first geom may be a plane, and its bound must be the number 0.
 */
export function near(a: Bounds, b: Bounds, margin: Scalar): Bool {
  const offset = sub3(b.pos, a.pos);
  if (a.rbound === 0) return le(dot3(offset, column(a.mat, 2)), add(margin, b.rbound));
  return le(dot3(offset, offset), square(add(add(a.rbound, b.rbound), margin)));
}
