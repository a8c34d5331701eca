// signed distances from a point to the surfaces of geoms, for tests
import { rotate } from "./collider-poses.ts";
import type { Pose } from "./collider-scene.ts";

/** Of a box: positive outside. */
function box(p: readonly number[], size: readonly number[]): number {
  const over = p.map((x, k) => Math.abs(x) - size[k]);
  return Math.hypot(...over.map((x) => Math.max(x, 0))) + Math.min(0, Math.max(...over));
}

/** The distance in metres of `point` from the surface of a geom; positive outside (mjtGeom's name in lower case). */
export function surfaceDistance(type: string, size: readonly number[], pose: Pose, point: readonly number[]): number {
  const [w, x, y, z] = pose.slice(3);
  const p = rotate([w, -x, -y, -z], point.map((v, k) => v - pose[k]).slice(0, 3));
  const radial = Math.hypot(p[0], p[1]);
  switch (type) {
    case "plane":
      return p[2];
    case "sphere":
      return Math.hypot(...p) - size[0];
    case "capsule":
      return Math.hypot(radial, Math.max(Math.abs(p[2]) - size[1], 0)) - size[0];
    // zero on the surface, of the right sign elsewhere
    case "ellipsoid":
      return (Math.hypot(...p.map((x, k) => x / size[k])) - 1) * Math.min(...size);
    case "cylinder":
      return box([radial, p[2]], size);
    default:
      return box(p, size);
  }
}
