// which four corners of a hull's polygon are kept where all of it lies on a face: chosen in float64 before anything is traced
import type { Hulls } from "../../../model/hulls.ts";

/** Corners of a polygon beyond which the search is left to the kernel: it takes time with their square. */
const MOST_CORNERS = 64;
/** Bits of each of the four numbers. */
export const KEPT_BITS = 8;

type Point = readonly number[];

const minus = (p: Point, q: Point): Point => p.map((x, k) => x - q[k]);
const crossed = ([x, y, z]: Point, [u, v, w]: Point): number => Math.hypot(y * w - z * v, z * u - x * w, x * v - y * u);

/** The search of `largestQuadrilateral` among corners in their order. */
function kept(corners: readonly Point[]): number[] {
  const n = corners.length;
  const next = (i: number) => (i + 1) % n;
  const area = (at: readonly number[]) => {
    const [a, b, c, d] = at.map((i) => corners[i]);
    const diagonal = minus(c, a);
    return crossed(minus(b, a), diagonal) + crossed(diagonal, minus(d, a));
  };
  let at = [0, 1, 2, 3];
  let [best, most, moves] = [at, area(at), 3];
  for (let turn = 0; turn < 12 * n && at[0] < n; turn++) {
    const trial = at.map((i, k) => (k === moves ? next(i) : i));
    const size = area(trial);
    if (size > most) {
      most = size;
      best = at = trial;
      if (moves === 3) moves = 2;
    } else if (moves !== 3) moves = moves === 2 ? 1 : 3;
    else {
      const [first, ...others] = at;
      at = [first + 1, ...others];
      if (others[0] !== first) continue;
      // the others keep out of each other's way
      for (let k = 1; k < 4; k++) {
        if (k > 1 && at[k] !== at[k - 1]) break;
        at[k] = next(at[k]);
      }
    }
  }
  return best;
}

/**
 * For each polygon where its numbers begin in `corners`, -1: it has none. There is a number for each corner that may come first
 * in the order of faces (`Faces.corner`), then one for each in the polygon's own: four places counted from there, `KEPT_BITS` each.
 */
export function keptCorners(hulls: Hulls): { first: Int32Array; corners: Int32Array } {
  const corners: number[] = [];
  const first = Int32Array.from(hulls.polyvertnum, (count, p) => {
    if (count <= 4 || count > MOST_CORNERS) return -1;
    const begin = corners.length;
    const own = Array.from({ length: count }, (_, k) => {
      const v = hulls.polyvert[hulls.polyvertadr[p] + k];
      return Array.from(hulls.vert.subarray(3 * v, 3 * v + 3));
    });
    for (const points of [own.toReversed(), own])
      for (let start = 0; start < count; start++) {
        const four = kept([...points.slice(start), ...points.slice(0, start)]);
        corners.push(four.reduce((word, i, k) => word | (i << (KEPT_BITS * k)), 0));
      }
    return begin;
  });
  return { first, corners: Int32Array.from(corners) };
}
