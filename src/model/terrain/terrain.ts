// ground as one height field or as boxes: rows of rising difficulty, a column for each kind, square patches with level middles
import { CorralError } from "../../core/errors.ts";
import { alternatives } from "../../core/names.ts";
import { optionsOf } from "../../core/options.ts";
import { RandomStream, seedKey } from "../../core/rng.ts";
import { show } from "../../core/show.ts";
import { KINDS, type Graded, type Kind, type Relief, type TerrainKind } from "./kinds.ts";
import type { GroundBox } from "./slabs.ts";

/** A column of patches: a kind, or a kind with parameters of your own. */
export type TerrainColumn = TerrainKind | ({ readonly kind: TerrainKind } & { readonly [parameter: string]: unknown });

export interface TerrainOptions {
  /** The same seed gives the same ground, to the bit. Default 0. */
  readonly seed?: number;
  /** One column each. */
  readonly columns: readonly TerrainColumn[];
  /** Patches of a column, the easiest first. Default 6. */
  readonly rows?: number;
  /** Side of a patch, and of its level middle (m). Defaults 8 and 1.5. */
  readonly patch?: number;
  readonly middle?: number;
  /** Width of a cell (m). Default 0.1. */
  readonly cell?: number;
  /**
   * "field": one height field, linear between the corners of cells. "boxes": boxes, whose tops are level cells, with
   * upright sides. Default "field".
   */
  readonly as?: TerrainForm;
  /** Level ground around all patches (m). Default 4. */
  readonly border?: number;
}

/** What ground is made of. */
export type TerrainForm = "field" | "boxes";

/** Ground that is tilted: boxes about the terrain's centre, and of their cells how high the middle is and how it rises along x and y. */
export interface Inclined {
  readonly boxes: readonly GroundBox[];
  readonly cells: ReadonlyMap<number, readonly [height: number, dx: number, dy: number]>;
}

/** Ground. Lengths in metres. */
export interface Terrain {
  readonly as: TerrainForm;
  /** Points of a field, or cells of boxes, along x and along y, and how far they are apart. */
  readonly ncol: number;
  readonly nrow: number;
  readonly cell: number;
  /** Heights, row by row along y, in whole units. */
  readonly heights: Int32Array;
  /** Metres of a unit. */
  readonly unit: number;
  /** Of boxes: how they lie where cells are not boxes by themselves. */
  readonly inclined?: Inclined;
  /** Patches along x (difficulty) and along y (kinds), the side of one, and where they lie from the field's centre. */
  readonly rows: number;
  readonly columns: number;
  readonly patch: number;
}

/** Heights are multiples of a tenth of a millimetre, so that text holds them and rounding of sines does not show. */
export const UNIT = 1e-4;
/** Whole units of it are integers of 32 bits (m). */
const HIGHEST = 1e5;
export const MOST_POINTS = 2 ** 24;
const MOST_BLOCKS = 4096;
/** Slabs that are steeper reach out from under the ground beside them (rad). */
const STEEPEST_SLAB = 0.7;

export const bad = (text: string, options?: ErrorOptions): CorralError =>
  new CorralError("bad-terrain", `${text}.`, {}, options);

const isFinite = (x: unknown): x is number => typeof x === "number" && Number.isFinite(x);

export function wanted(what: string, x: unknown, least: number, whole = false): number {
  if (isFinite(x) && x >= least && (!whole || Number.isInteger(x))) return x;
  throw bad(`${what} of a terrain is ${show(x)}; it is a ${whole ? "whole " : ""}number of at least ${least}`);
}

/** A height in units. Throws `bad-terrain` for one that is too large to be kept. */
export function unitsOf(height: number): number {
  if (Math.abs(height) <= HIGHEST) return Math.round(height / UNIT);
  throw bad(`a height of a terrain is ${height} m; pass numbers that make it at most ${HIGHEST} m, up or down`);
}

export function onlyOptions(what: string, options: object, known: readonly string[]): void {
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other !== undefined) throw bad(`${what} has no option "${other}"; ${alternatives(other, known).hint}`);
}

/** A count of cells that a length is, which it must be. */
function cellsOf(what: string, length: number, cell: number): number {
  const count = Math.round(length / cell);
  if (Math.abs(count * cell - length) < 1e-6 * length || length === 0) return count;
  throw bad(`${what} of a terrain is ${length} m, which is no whole number of cells of ${cell} m`);
}

/** The numbers of a column's kind at a difficulty from 0 to 1. */
function gradedOf(
  column: TerrainColumn,
  place: string,
  as: TerrainForm,
  cell: number,
): { kind: TerrainKind; at: (d: number) => Record<string, number> } {
  const { kind, ...own } = typeof column === "string" ? { kind: column } : (column ?? {});
  if (typeof kind !== "string")
    throw bad(`${place} is ${show(column)}; it is a kind, or { kind, ... }: ${Object.keys(KINDS).join(", ")}`);
  if (!Object.hasOwn(KINDS, kind))
    throw bad(`${place} is of kind ${show(kind)}; ${alternatives(kind, Object.keys(KINDS)).hint}`);
  const { params, lengths } = KINDS[kind] as { params: Record<string, Graded>; lengths: readonly string[] };
  for (const [name, value] of Object.entries(own)) {
    if (!Object.hasOwn(params, name))
      throw bad(`${place}: ${kind} has no parameter "${name}"; ${alternatives(name, Object.keys(params)).hint}`);
    const ends = Array.isArray(value) && value.length === 2 ? value : [value];
    // of parts much smaller than cells more are drawn than can be counted
    const least = lengths.includes(name) ? cell / 10 : 0;
    if (!ends.every((x) => isFinite(x) && x >= least))
      throw bad(
        `${place}: ${name} is ${show(value)}; it is a number of at least ${least}, or two: for the easiest row and the hardest`,
      );
    const steepest = as === "boxes" ? STEEPEST_SLAB : 1.5;
    if (name === "angle" && !ends.every((x) => (x as number) < steepest))
      throw bad(`${place}: angle is ${show(value)}; it is below ${steepest} rad${as === "boxes" ? " of boxes" : ""}`);
    if (name === "count" && !ends.every((x) => (x as number) <= MOST_BLOCKS))
      throw bad(`${place}: count is ${show(value)}; a patch has at most ${MOST_BLOCKS} blocks`);
  }
  const all = { ...params, ...own } as Record<string, Graded>;
  const grade = (x: Graded, d: number) => (typeof x === "number" ? x : x[0] + (x[1] - x[0]) * d);
  return { kind, at: (d) => Object.fromEntries(Object.entries(all).map(([name, x]) => [name, grade(x, d)])) };
}

/**
 * Ground of many patches: `rows` along x, the easiest first, and a column along y for each kind. The middle of each patch
 * is level, so that robots can start there.
 * @throws CorralError bad-terrain, bad-seed
 */
export function makeTerrain(options: TerrainOptions): Terrain {
  const {
    seed = 0,
    columns,
    rows = 6,
    patch = 8,
    middle = 1.5,
    cell = 0.1,
    border = 4,
    as = "field",
  } = optionsOf(options, "options of a terrain");
  onlyOptions("a terrain", options, ["seed", "columns", "rows", "patch", "middle", "cell", "border", "as"]);
  if (!Array.isArray(columns) || columns.length === 0)
    throw bad(`columns of a terrain are ${show(columns)}; they are a list of kinds: ${Object.keys(KINDS).join(", ")}`);
  seedKey(seed);
  wanted("rows", rows, 1, true);
  wanted("cell", cell, 1e-3);
  wanted("border", border, 0);
  wanted("middle", middle, 0);
  wanted("patch", patch, 0);
  if (patch < middle + 2 * cell) {
    const of = `patch of a terrain is ${patch} m, its level middle ${middle} m, and cells ${cell} m`;
    const larger = `pass a patch of at least ${show(middle + 2 * cell)}`;
    throw bad(`${of}; a cell fits on each side: ${larger}, a shorter middle or smaller cells`);
  }
  if (as !== "field" && as !== "boxes") throw bad(`as of a terrain is ${show(as)}; it is "field" or "boxes"`);
  // a field has a point at each end of its cells, boxes are the cells themselves
  const last = as === "field" ? 1 : 0;
  const [side, edge] = [cellsOf("patch", patch, cell), cellsOf("border", border, cell)];
  const [ncol, nrow] = [rows, columns.length].map((count) => count * side + 2 * edge + last);
  if (ncol * nrow > MOST_POINTS)
    throw bad(`a terrain of ${ncol} x ${nrow} points is too large; it has at most ${MOST_POINTS}. Take larger cells`);

  const graded = columns.map((column, j) => gradedOf(column, `column ${j} of a terrain`, as, cell));
  const draw = (): Pick<Terrain, "heights" | "inclined"> => {
    const heights = new Int32Array(ncol * nrow);
    const boxes: GroundBox[] = [];
    const cells = new Map<number, readonly [number, number, number]>();
    // a hair outward, so that edges at the middles of cells are on one side all around
    const place = (line: number) => (last ? line * cell - patch / 2 : ((line + 0.5) * cell - patch / 2) * (1 + 1e-9));
    graded.forEach(({ kind, at }, j) => {
      for (let i = 0; i < rows; i++) {
        const random = new RandomStream(seed, i, j, 0);
        const here = { half: patch / 2, middle: middle / 2, random };
        const numbers = at(rows === 1 ? 1 : i / (rows - 1));
        const known: Pick<Kind, "relief" | "slabs"> = KINDS[kind];
        const slabs = as === "boxes" ? known.slabs?.(numbers, here) : undefined;
        const relief: Relief = slabs ? (x, y) => slabs.at(x, y)[0] : known.relief(numbers, here);
        const [x, y] = [(i - (rows - 1) / 2) * patch, (j - (columns.length - 1) / 2) * patch];
        for (const box of slabs?.boxes ?? []) boxes.push({ ...box, pos: [box.pos[0] + x, box.pos[1] + y, box.pos[2]] });
        for (let r = 0; r < side + last; r++)
          for (let c = 0; c < side + last; c++) {
            const index = (edge + j * side + r) * ncol + edge + i * side + c;
            heights[index] = unitsOf(relief(place(c), place(r)));
            if (slabs) cells.set(index, slabs.at(place(c), place(r)));
          }
      }
    });
    return boxes.length > 0 ? { heights, inclined: { boxes, cells } } : { heights };
  };
  let drawn: ReturnType<typeof draw> | undefined;
  return {
    as,
    ncol,
    nrow,
    cell,
    // when they are wanted: a task on terrain is made wherever all tasks are imported
    get heights() {
      return (drawn ??= draw()).heights;
    },
    get inclined() {
      return (drawn ??= draw()).inclined;
    },
    unit: UNIT,
    rows,
    columns: columns.length,
    patch,
  };
}

/** Where the centre of a patch lies from the centre of the field (m), and how high it is. */
export function patchAt(t: Terrain, row: number, column: number): readonly [x: number, y: number, height: number] {
  const x = (row - (t.rows - 1) / 2) * t.patch;
  const y = (column - (t.columns - 1) / 2) * t.patch;
  if (t.as === "boxes") {
    const [c, r] = [Math.floor(x / t.cell + t.ncol / 2), Math.floor(y / t.cell + t.nrow / 2)];
    return [x, y, t.heights[r * t.ncol + c] * t.unit];
  }
  // a point, or half way between two, or the middle of a cell: of the diagonal that parts its triangles
  const [u, v] = [x / t.cell + (t.ncol - 1) / 2, y / t.cell + (t.nrow - 1) / 2].map((line) => Math.round(2 * line) / 2);
  const at = (round: (line: number) => number) => t.heights[round(v) * t.ncol + round(u)];
  return [x, y, ((at(Math.floor) + at(Math.ceil)) / 2) * t.unit];
}

const spans = new WeakMap<Int32Array, readonly [low: number, high: number]>();

/** The least and the greatest height (m). */
export function spanOf({ heights, unit }: Terrain): readonly [low: number, high: number] {
  let span = spans.get(heights);
  if (!span) {
    let [low, high] = [Infinity, -Infinity];
    for (const h of heights) {
      if (h < low) low = h;
      if (h > high) high = h;
    }
    spans.set(heights, (span = [low, high]));
  }
  return [span[0] * unit, span[1] * unit];
}
