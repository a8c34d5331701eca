// which four corners of a hull's polygon are kept where all of it lies on a face: chosen in float64 before anything is traced
import { madeOnce } from "../../../core/made-once.ts";
import type { Hulls } from "../../../model/hulls.ts";
import { quadrilateralArea } from "../quadrilateral-area.ts";

/** Corners of a polygon beyond which the search is left to the kernel: it takes time with their square. */
const MOST_CORNERS = 64;
/** Bits of each of the four numbers. */
export const KEPT_BITS = 8;

/** The search of `largestQuadrilateral` among corners [3 * corners] in their order, from `start` on. */
function kept(points: Float64Array, start: number): readonly number[] {
  const n = points.length / 3;
  const next = (i: number) => (i + 1 === n ? 0 : i + 1);
  const place = (i: number) => 3 * (start + i < n ? start + i : start + i - n);
  // one list that is changed in place: large hulls take a million turns
  const at = [0, 1, 2, 3];
  const area = () => quadrilateralArea(points, place(at[0]), place(at[1]), place(at[2]), place(at[3]));
  let [best, most, moves]: [readonly number[], number, number] = [[...at], area(), 3];
  for (let turn = 0; turn < 12 * n && at[0] < n; turn++) {
    const before = at[moves];
    at[moves] = next(before);
    const size = area();
    if (size > most) {
      most = size;
      best = [...at];
      if (moves === 3) moves = 2;
      continue;
    }
    at[moves] = before;
    if (moves !== 3) moves = moves === 2 ? 1 : 3;
    else if (at[1] !== at[0]++) continue;
    else {
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
export const keptCorners = madeOnce((hulls: Hulls): { first: Int32Array; corners: Int32Array } => {
  const corners: number[] = [];
  const first = Int32Array.from(hulls.polyvertnum, (count, p) => {
    if (count <= 4 || count > MOST_CORNERS) return -1;
    const begin = corners.length;
    const own = [...hulls.polyvert.subarray(hulls.polyvertadr[p], hulls.polyvertadr[p] + count)];
    for (const order of [own.toReversed(), own]) {
      const points = Float64Array.from(order.flatMap((v) => [...hulls.vert.subarray(3 * v, 3 * v + 3)]));
      for (let start = 0; start < count; start++) {
        const four = kept(points, start);
        corners.push(four.reduce((word, i, k) => word | (i << (KEPT_BITS * k)), 0));
      }
    }
    return begin;
  });
  return { first, corners: Int32Array.from(corners) };
});
