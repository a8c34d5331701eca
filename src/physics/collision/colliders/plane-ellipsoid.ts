// plane against ellipsoid
import { div, max, mul, sqrt, sub } from "../../../trace/scalar.ts";
import {
  addScaled3,
  column,
  dot3,
  lengthSquared,
  mulMatTVec,
  mulMatVec,
  sub3,
  MINVAL,
  type Vec3,
} from "../../../trace/vector.ts";
import type { Collider } from "./types.ts";

/** The lowest point of the ellipsoid: where its surface is level with the plane (mjc_PlaneConvex). */
export const planeEllipsoid: Collider = (a, b) => {
  const normal = column(a.mat, 2);
  const scaled = mulMatTVec(b.mat, normal).map((x, k) => mul(x, b.size[k])) as unknown as Vec3;
  const height = sqrt(lengthSquared(scaled));
  const lowest = mulMatVec(b.mat, scaled.map((x, k) => mul(x, b.size[k])) as unknown as Vec3);
  const dist = sub(dot3(sub3(b.pos, a.pos), normal), height);
  const point = addScaled3(b.pos, div(-1, max(height, MINVAL)), lowest);
  return [{ dist, pos: addScaled3(point, mul(dist, -0.5), normal), normal, exists: true }];
};
