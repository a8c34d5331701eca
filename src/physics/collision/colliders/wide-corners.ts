// which corners of a polygon meet a plane: those of a large quadrilateral, chosen in float64 before anything is traced
import { madeOnce } from "../../../core/made-once.ts";
import type { Hulls } from "../../../model/hulls.ts";
import { quadrilateralArea } from "../quadrilateral-area.ts";

/** Corners beside the first that meet a plane. */
export const OTHERS = 3;

/**
 * Of the corners of a polygon, counted from `start`, three that make a large quadrilateral with it: the last goes on round as long
 * as the area grows, and the two before it follow. Areas of polygons from files tie to float32's last place.
 */
function widest(points: Float64Array, start: number): [number, number, number] {
  const count = points.length / 3;
  const place: [number, number, number] = [1, 2, 3];
  const at = (i: number) => 3 * ((start + i) % count);
  const area = () => quadrilateralArea(points, at(0), at(place[0]), at(place[1]), at(place[2]));
  let most = area();
  const advance = (which: number, then: () => void): void => {
    for (;;) {
      const before = place[which];
      place[which] = (before + 1) % count;
      const larger = area();
      if (!(larger > most)) {
        place[which] = before;
        return;
      }
      most = larger;
      then();
    }
  };
  advance(2, () => {
    advance(1, () => {});
    advance(0, () => {});
  });
  return place;
}

/**
 * For each polygon of more than four corners where its numbers begin in `corners`, else 0; there are `OTHERS` for each corner as
 * the first, each a vertex.
 */
export const wideCorners = madeOnce((hulls: Hulls): { first: Int32Array; corners: Int32Array } => {
  const corners: number[] = [];
  const first = Int32Array.from(hulls.polyvertnum, (count, p) => {
    if (count <= OTHERS + 1) return 0;
    const begin = corners.length;
    const at = hulls.polyvertadr[p];
    const points = new Float64Array(3 * count);
    for (let i = 0; i < 3 * count; i++) points[i] = hulls.vert[3 * hulls.polyvert[at + Math.floor(i / 3)] + (i % 3)];
    for (let start = 0; start < count; start++)
      corners.push(...widest(points, start).map((i) => hulls.polyvert[at + ((start + i) % count)]));
    return begin;
  });
  return { first, corners: Int32Array.from(corners) };
});
