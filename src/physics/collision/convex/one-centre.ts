// shapes whose centres are one place, where MuJoCo's search has no direction to begin with (gjk of mjc_ccd)
import { mjtGeom } from "../../../model/enums.ts";
import { and, lt, not, select, type Bool, type Scalar } from "../../../trace/scalar.ts";
import { lengthSquared, sub3 } from "../../../trace/vector.ts";
import { MINVAL2, type Shape } from "../colliders/types.ts";
import { isKind, isPolyhedron } from "./support.ts";
import type { ConvexOptions, ConvexShape } from "./types.ts";

/** Whether centres are nearer than a distance of that square (m²): then MuJoCo makes no contact, however deep shapes are. */
const within = (a: Shape, b: Shape, square: Scalar): Bool => lt(lengthSquared(sub3(b.pos, a.pos)), square);

/** Of shapes that are not both boxes or hulls. */
export const ofOneCentre = (a: Shape, b: Shape, { tolerance }: ConvexOptions): Bool => within(a, b, tolerance ** 2);

/** Of any shapes; prisms have their centres elsewhere. */
export function searchedFromOneCentre(a: ConvexShape, b: ConvexShape, { tolerance }: ConvexOptions): Bool {
  const flat = and(isPolyhedron(a), isPolyhedron(b));
  const square = select(flat, MINVAL2, tolerance ** 2);
  return and(not(isKind(a, mjtGeom.HFIELD)), within(a, b, square));
}
