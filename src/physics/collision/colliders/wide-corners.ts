// which corners of a polygon meet a plane: those of a large quadrilateral, chosen in float64 before anything is traced
import type { Hulls } from "../../../model/hulls.ts";

/** Corners beside the first that meet a plane. */
export const OTHERS = 3;

/** Twice the area of a quadrilateral. */
function area(a: readonly number[], b: readonly number[], c: readonly number[], d: readonly number[]): number {
  const diagonal = c.map((x, k) => x - a[k]);
  const twice = (p: readonly number[]) => {
    const [x, y, z] = p.map((v, k) => v - a[k]);
    const [u, v, w] = diagonal;
    return Math.sqrt((y * w - z * v) ** 2 + (z * u - x * w) ** 2 + (x * v - y * u) ** 2);
  };
  return twice(b) + twice(d);
}

/**
 * Of `count` corners, counted from the first, three that make a large quadrilateral with it: the last goes round as long as the
 * area grows, the two before it follow. Areas of polygons from files tie to float32's last place.
 */
function widest(count: number, vertex: (i: number) => readonly number[]): [number, number, number] {
  const place: [number, number, number] = [1, 2, 3];
  const origin = vertex(0);
  const of = (at: readonly number[]) => area(origin, ...(at.map(vertex) as [number[], number[], number[]]));
  let most = of(place);
  const advance = (which: number, then: () => void): void => {
    for (let turn = 0; turn < 2 * count; turn++) {
      const moved = place.map((i, k) => (k === which ? (i + 1) % count : i));
      const larger = of(moved);
      if (!(larger > most)) return;
      most = larger;
      place[which] = moved[which];
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
export function wideCorners(hulls: Hulls): { first: Int32Array; corners: Int32Array } {
  const corners: number[] = [];
  const first = Int32Array.from(hulls.polyvertnum, (count, p) => {
    if (count <= OTHERS + 1) return 0;
    const begin = corners.length;
    const at = hulls.polyvertadr[p];
    for (let start = 0; start < count; start++) {
      const corner = (i: number) => hulls.polyvert[at + ((start + i) % count)];
      const vertex = (i: number) => Array.from(hulls.vert.subarray(3 * corner(i), 3 * corner(i) + 3));
      corners.push(...widest(count, vertex).map(corner));
    }
    return begin;
  });
  return { first, corners: Int32Array.from(corners) };
}
