// plane against sphere
import { add, mul, sub, type Scalar } from "../../../trace/scalar.ts";
import { addScaled3, column, dot3, sub3, type Vec3 } from "../../../trace/vector.ts";
import type { Candidate, Collider, Shape } from "./types.ts";

/** A sphere above (or below) a plane; the geometry behind every round end that meets a plane. */
export function planeBall(plane: Shape, center: Vec3, radius: Scalar): Candidate {
  const normal = column(plane.mat, 2);
  const dist = sub(dot3(sub3(center, plane.pos), normal), radius);
  const pos = addScaled3(center, mul(add(mul(dist, 0.5), radius), -1), normal);
  return { dist, pos, normal, exists: true };
}

/** mjc_PlaneSphere */
export const planeSphere: Collider = (a, b) => [planeBall(a, b.pos, b.size[0])];
