// points whose convex hulls are meshes of tests
import type { Random } from "./mjcf-random.ts";
import { unit } from "./collider-poses.ts";

const text = (points: readonly (readonly number[])[]): string =>
  points
    .flat()
    .map((x) => x.toFixed(5))
    .join(" ");

/** Corners of a box of half sizes. */
export const boxPoints = (x: number, y = x, z = x): string =>
  text(Array.from({ length: 8 }, (_, i) => [i & 1 ? x : -x, i & 2 ? y : -y, i & 4 ? z : -z]));

/** Points on a sphere: all of them are corners of the hull. */
export const ballPoints = (r: Random, count: number, radius: number): string =>
  text(Array.from({ length: count }, () => unit(r, 3).map((x) => radius * x)));

/** A prism of a polygon that is not regular, so that no two of its areas are alike. */
export function prismPoints(r: Random, corners: number, radius: number, half: number): string {
  const angles = Array.from({ length: corners }, (_, i) => ((i + 0.3 * r.between(0, 1)) * 2 * Math.PI) / corners);
  return text([-half, half].flatMap((z) => angles.map((a) => [radius * Math.cos(a), radius * Math.sin(a), z])));
}
