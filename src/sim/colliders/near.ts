// the cheap test that spares most pairs their collider
import { mjtGeom } from "../../model/enums.ts";
import { add, isNode, le, sqrt, square, type Bool, type Scalar } from "../../trace/scalar.ts";
import { column, dot3, lengthSquared, sub3, type Vec3 } from "../../trace/vector.ts";
import type { Shape } from "./types.ts";

/** geom_rbound of a primitive: the radius of the sphere about its centre that holds it; 0 for a plane. */
export function boundingRadius(type: number, size: Vec3): Scalar {
  switch (type) {
    case mjtGeom.SPHERE:
      return size[0];
    case mjtGeom.CAPSULE:
      return add(size[0], size[1]);
    case mjtGeom.CYLINDER:
      return sqrt(add(square(size[0]), square(size[1])));
    case mjtGeom.BOX:
      return sqrt(lengthSquared(size));
    default:
      return 0;
  }
}

/**
 * Whether two geoms may touch by their bounding spheres (mj_filterSphere, negated): never false where a collider
 * finds a contact within `margin`. A bound that is the number 0 marks a plane, which may only be the first geom.
 */
export function near(a: Shape, b: Shape, rbound1: Scalar, rbound2: Scalar, margin: Scalar): Bool {
  const offset = sub3(b.pos, a.pos);
  const plane = !isNode(rbound1) && rbound1 === 0;
  if (plane) return le(dot3(offset, column(a.mat, 2)), add(margin, rbound2));
  return le(dot3(offset, offset), square(add(add(rbound1, rbound2), margin)));
}
