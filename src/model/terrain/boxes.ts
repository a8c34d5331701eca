// ground as boxes: cells of one height put together to as few rectangles as a pass over the rows finds
import type { GroundBox } from "./slabs.ts";
import { bad, spanOf, type Terrain } from "./terrain.ts";

/** The most boxes of a terrain: each of a robot's geoms meets all of them in the broad phase. */
const MOST_BOXES = 4096;
/** Solid ground below the lowest cell (m). */
const BASE = 1;

const tooMany = (what: string) =>
  bad(
    `the ground is ${what}, and at most ${MOST_BOXES}. Take larger cells, fewer rows or columns, or kinds with level parts (flat, squares, slope-up, stairs-up, stairs-down, stepping-stones, gaps, boxes); as: "field" takes any`,
  );

/** Rectangles of cells of one height: first column and row, columns and rows, height. */
function rectangles({ ncol, nrow, heights, inclined }: Terrain): (readonly [number, number, number, number, number])[] {
  const done = new Uint8Array(ncol * nrow);
  for (const index of inclined?.cells.keys() ?? []) done[index] = 1;
  const found: (readonly [number, number, number, number, number])[] = [];
  for (let at = 0; at < done.length; at++) {
    if (done[at]) continue;
    const [row, column, height] = [Math.floor(at / ncol), at % ncol, heights[at]];
    const isFree = (i: number) => !done[i] && heights[i] === height;
    let wide = 1;
    while (column + wide < ncol && isFree(at + wide)) wide++;
    let deep = 1;
    const rowIsFree = (from: number) => {
      for (let c = 0; c < wide; c++) if (!isFree(from + c)) return false;
      return true;
    };
    while (row + deep < nrow && rowIsFree(at + deep * ncol)) deep++;
    for (let r = 0; r < deep; r++) done.fill(1, at + r * ncol, at + r * ncol + wide);
    found.push([column, row, wide, deep, height]);
    if (found.length > MOST_BOXES) throw tooMany(`more than ${MOST_BOXES} boxes by its row ${row} of ${nrow} cells`);
  }
  return found;
}

const known = new WeakMap<Int32Array, readonly GroundBox[]>();

/**
 * The boxes of a terrain that was made with `as: "boxes"`, whose tops are its cells. They lie side by side, and reach down
 * to one depth.
 * @throws CorralError bad-terrain if there are more than 4,096
 */
export function groundBoxes(t: Terrain): readonly GroundBox[] {
  let boxes = known.get(t.heights);
  if (!boxes) {
    const bottom = spanOf(t)[0] - BASE;
    const level = rectangles(t).map(([column, row, wide, deep, height]): GroundBox => {
      const along = (from: number, count: number, all: number) => (from + (count - all) / 2) * t.cell;
      const top = height * t.unit;
      return {
        pos: [along(column, wide, t.ncol), along(row, deep, t.nrow), (top + bottom) / 2],
        half: [(wide * t.cell) / 2, (deep * t.cell) / 2, (top - bottom) / 2],
      };
    });
    boxes = [...level, ...(t.inclined?.boxes ?? [])];
    if (boxes.length > MOST_BOXES) throw tooMany(`${boxes.length} boxes`);
    known.set(t.heights, boxes);
  }
  return boxes;
}
