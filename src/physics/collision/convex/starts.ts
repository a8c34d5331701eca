// where a climb over a hull begins: the support vertex of a direction near the one that is asked for
import { abs, add, max, min, mul, div, floor, toI32, type Int } from "../../../trace/scalar.ts";
import type { Vec3 } from "../../../trace/vector.ts";

/** Directions lie in cells of a cube, so many along each edge. */
const EDGE = 6;
export const START_CELLS = EDGE ** 3;
/** A direction shorter than this is none. */
const TINY = 1e-30;

/** The cell of a direction of any length. */
export function startCell(d: Vec3): Int {
  const longest = max(max(abs(d[0]), abs(d[1])), max(abs(d[2]), TINY));
  const scale = div(EDGE / 2, longest);
  // of what is not finite any cell
  const [i, j, k] = d.map((x) => toI32(max(0, min(EDGE - 1, floor(add(mul(x, scale), EDGE / 2))))));
  return add(mul(add(mul(i, EDGE), j), EDGE), k);
}

/** The support vertex (an index into the hull) at the centre of each cell; `points` are three numbers each. */
export function climbStarts(points: ArrayLike<number>): number[] {
  return Array.from({ length: START_CELLS }, (_, cell) => {
    const d = [Math.floor(cell / EDGE ** 2), Math.floor(cell / EDGE) % EDGE, cell % EDGE].map(
      (i) => (2 * i + 1) / EDGE - 1,
    );
    // nothing asks for a cell within the cube
    if (Math.max(...d.map(Math.abs)) < 1 - 1.5 / EDGE) return 0;
    let [best, most] = [0, -Infinity];
    for (let v = 0; 3 * v < points.length; v++) {
      const height = d[0] * points[3 * v] + d[1] * points[3 * v + 1] + d[2] * points[3 * v + 2];
      if (height > most) [best, most] = [v, height];
    }
    return best;
  });
}
