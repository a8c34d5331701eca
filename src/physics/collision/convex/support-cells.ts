// which vertices of a hull may be farthest in a direction: lists by cell of directions, so that little is climbed
import { madeOnce } from "../../../core/made-once.ts";
import { abs, add, div, floor, max, min, mul, sub, toI32, type Int, type Scalar } from "../../../trace/scalar.ts";
import type { Vec3 } from "../../../trace/vector.ts";

/** A direction shorter than this is none. */
const TINY = 1e-30;
/** Cells reach over their edges by this, in units of the cube about them, which rounding cannot. */
const BEYOND = 1e-5;
/** A vertex that another is above by this part of the hull's size is not the farthest, whatever rounding says. */
const BELOW = 1e-5;
/** A cell with more vertices than this is taken apart once. */
const MOST_LISTED = 12;
/** A part with more than this lists none, and is climbed: in a hundred steps along edges as many vertices are looked at. */
const MOST_IN_PART = 120;
/** A cell lists what is left in any of so many pieces along each edge: fewer vertices than are left of the whole at once. */
const PIECES = 2;
/** Parts of a cell along each edge. */
const PARTS = 4;
/** A list is one number: where it begins, times this, and how many vertices it has. */
export const LIST = 128;

/** How many cells of directions lie along each edge of a cube: as many as leave a few vertices in most of them. */
const cellsAlong = (vertices: number): number =>
  vertices <= 8 ? 1 : Math.max(3, Math.min(8, Math.round(Math.sqrt(vertices / 3))));

/** A direction of any length as a place in a cube: of what is not finite any place. */
export interface Cell {
  readonly place: Vec3;
  /** Where it lies between 0 and `edge` along each axis. */
  readonly at: Vec3;
  readonly index: Int;
}

/** The cell of a direction, in a cube of `edge` cells along each edge. */
export function cellOf(d: Vec3, edge: Scalar): Cell {
  const longest = max(max(abs(d[0]), abs(d[1])), max(abs(d[2]), TINY));
  const half = mul(edge, 0.5);
  const scale = div(half, longest);
  const at = d.map((x) => add(mul(x, scale), half)) as unknown as Vec3;
  const place = at.map((x) => max(0, min(add(edge, -1), floor(x)))) as unknown as Vec3;
  return { place, at, index: toI32(add(mul(add(mul(place[0], edge), place[1]), edge), place[2])) };
}

/** The part of a cell that a direction is in. */
export function partOf({ place, at }: Cell): Int {
  const [i, j, k] = at.map((x, c) => max(0, min(PARTS - 1, floor(mul(sub(x, place[c]), PARTS)))));
  return toI32(add(mul(add(mul(i, PARTS), j), PARTS), k));
}

/** Lists of several hulls, one after the other. */
export interface CellLists {
  /** By hull: cells along each edge, and its first cell. */
  readonly edge: readonly number[];
  readonly firstCell: readonly number[];
  /** By cell its list; of a cell without one where the lists of its parts begin, of a part without one 0. */
  readonly list: readonly number[];
  /** Vertices, each an index into all hulls. */
  readonly vertex: readonly number[];
  /** Whether some cell has no list. */
  readonly hasLong: boolean;
}

/** Hulls as they lie one after the other. */
interface HullVertices {
  readonly vert: ArrayLike<number>;
  readonly vertadr: ArrayLike<number>;
  readonly vertnum: ArrayLike<number>;
}

/** The lists of hulls. */
export const cellLists = madeOnce((hulls: HullVertices): CellLists => {
  const [edges, firstCell, list, vertex]: number[][] = [[], [], [], []];
  const long: { readonly at: number; readonly parts: readonly (readonly number[])[]; readonly from: number }[] = [];
  /** A list, or 0 if it is too long. */
  const add = (vertices: readonly number[], from: number): number => {
    if (vertices.length > MOST_IN_PART) return 0;
    vertex.push(...vertices.map((v) => from + v));
    return (vertex.length - vertices.length) * LIST + vertices.length;
  };
  for (let h = 0; h < hulls.vertnum.length; h++) {
    const [from, count] = [hulls.vertadr[h], hulls.vertnum[h]];
    const edge = cellsAlong(count);
    edges.push(edge);
    firstCell.push(list.length);
    const points = Float64Array.from({ length: 3 * count }, (_, i) => hulls.vert[3 * from + i]);
    supportCells(points, edge).forEach((vertices, place) => {
      const isLong = vertices.length > MOST_LISTED;
      if (isLong) long.push({ at: list.length, parts: supportParts(points, edge, place, vertices), from });
      list.push(isLong ? 0 : add(vertices, from));
    });
  }
  for (const { at, parts, from } of long) {
    list[at] = list.length * LIST;
    for (const vertices of parts) list.push(add(vertices, from));
  }
  return { edge: edges, firstCell, list, vertex, hasLong: long.length > 0 };
});

/** A face of the cube. */
interface Face {
  readonly axis: number;
  readonly sign: number;
}

/**
 * By cell the vertices, ascending, among which the farthest of every direction of the cell is; none for a cell within the
 * cube. `points` are three numbers each.
 */
function supportCells(points: ArrayLike<number>, edge: number): number[][] {
  const all = Array.from({ length: points.length / 3 }, (_, v) => v);
  if (edge === 1) return [all];
  const cells = Array.from({ length: edge ** 3 }, () => new Set<number>());
  for (const axis of [0, 1, 2])
    for (const sign of [-1, 1])
      takeApart(
        { points, edge: PIECES * edge },
        { axis, sign },
        [0, 0],
        [PIECES * edge, PIECES * edge],
        all,
        (fine, left) => {
          const place = fine.map((x) => Math.floor(x / PIECES));
          for (const v of left) cells[(place[0] * edge + place[1]) * edge + place[2]].add(v);
        },
      );
  return cells.map((cell) => [...cell].sort((a, b) => a - b));
}

/** The same by part of a cell, of the vertices of that cell. */
function supportParts(points: ArrayLike<number>, edge: number, cell: number, vertices: readonly number[]): number[][] {
  const place = [Math.floor(cell / edge ** 2), Math.floor(cell / edge) % edge, cell % edge];
  const parts = Array.from({ length: PARTS ** 3 }, () => new Set<number>());
  for (const axis of [0, 1, 2])
    for (const sign of [-1, 1]) {
      if (place[axis] !== (sign < 0 ? 0 : edge - 1)) continue;
      const along = PARTS * PIECES;
      const from = [1, 2].map((i) => along * place[(axis + i) % 3]);
      const to = from.map((x) => x + along);
      takeApart({ points, edge: along * edge }, { axis, sign }, from, to, vertices, (fine, left) => {
        const [i, j, k] = fine.map((x) => Math.floor(x / PIECES) % PARTS);
        for (const v of left) parts[(i * PARTS + j) * PARTS + k].add(v);
      });
    }
  return parts.map((part) => [...part].sort((a, b) => a - b));
}

interface Cube {
  readonly points: ArrayLike<number>;
  readonly edge: number;
}

/**
 * Takes what lies between two corners of a face apart into cells, and calls `take` with each cell's place and vertices: one
 * that is below another at all corners of a part is so in all of its directions.
 */
function takeApart(
  { points, edge }: Cube,
  { axis, sign }: Face,
  first: readonly number[],
  last: readonly number[],
  all: readonly number[],
  take: (place: readonly number[], vertices: readonly number[]) => void,
): void {
  const [j, k] = [(axis + 1) % 3, (axis + 2) % 3];
  let size = 0;
  for (const v of all) size = Math.max(size, Math.hypot(points[3 * v], points[3 * v + 1], points[3 * v + 2]));
  // how far each is along four corners and the middle of a part; plain loops into lists of all parts, of which a robot has a million
  const [h0, h1, h2, h3, h4] = Array.from({ length: 5 }, () => new Float64Array(all.length));
  const bounds = new Float64Array(4 * 5);
  const visit = (from: readonly number[], to: readonly number[], among: readonly number[]): void => {
    const [[u0, v0], [u1, v1]] = [from, to].map((ends, end) =>
      ends.map((i) => (2 * i) / edge - 1 + (2 * end - 1) * BEYOND),
    );
    const [u, v] = [(u0 + u1) / 2, (v0 + v1) / 2];
    let [b0, b1, b2, b3, b4] = [0, 0, 0, 0, 0];
    for (let i = 0; i < among.length; i++) {
      const x = 3 * among[i];
      const [p, q, r] = [sign * points[x + axis], points[x + j], points[x + k]];
      h0[i] = p + u0 * q + v0 * r;
      h1[i] = p + u0 * q + v1 * r;
      h2[i] = p + u1 * q + v0 * r;
      h3[i] = p + u1 * q + v1 * r;
      h4[i] = p + u * q + v * r;
      if (h0[i] > h0[b0]) b0 = i;
      if (h1[i] > h1[b1]) b1 = i;
      if (h2[i] > h2[b2]) b2 = i;
      if (h3[i] > h3[b3]) b3 = i;
      if (h4[i] > h4[b4]) b4 = i;
    }
    let highest = 0;
    for (const best of new Set([b0, b1, b2, b3, b4]))
      for (const h of [h0, h1, h2, h3]) bounds[highest++] = h[best] - BELOW * size;
    const left: number[] = [];
    for (let i = 0; i < among.length; i++) {
      let b = 0;
      while (
        b < highest &&
        !(h0[i] < bounds[b] && h1[i] < bounds[b + 1] && h2[i] < bounds[b + 2] && h3[i] < bounds[b + 3])
      )
        b += 4;
      if (b === highest) left.push(among[i]);
    }
    if (to[0] - from[0] === 1 && to[1] - from[1] === 1) {
      const place = [0, 0, 0];
      place[axis] = sign < 0 ? 0 : edge - 1;
      [place[j], place[k]] = from;
      return take(place, left);
    }
    const [us, vs] = [0, 1].map((e) => halvesOf(from[e], to[e]));
    for (const [uFrom, uTo] of us) for (const [vFrom, vTo] of vs) visit([uFrom, vFrom], [uTo, vTo], left);
  };
  visit(first, last, all);
}

function halvesOf(from: number, to: number): number[][] {
  const middle = (from + to) >> 1;
  return middle > from
    ? [
        [from, middle],
        [middle, to],
      ]
    : [[from, to]];
}
