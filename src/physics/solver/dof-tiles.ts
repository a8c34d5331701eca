// dofs in the order of their elimination, in tiles, for the Hessian of dof-hessian.ts
import { table } from "../../trace/control.ts";
import { band, eq, ne, toU32, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { bodyDofs } from "../constraint/body-dofs.ts";
import type { Model } from "../../model/model.ts";
import { loneBodies } from "./free-bodies.ts";

/** Dofs of a tile: registers hold nine sums and what they are multiplied with. */
export const TILE = 3;
/** Their places in it. */
export const PART = Array.from({ length: TILE }, (_, k) => k);
/** Tiles whose dofs are the bits of a word. */
export const WORD = 10;
/** Tiles, and trees, whose bits are one word. */
export const MOST_TILES = 32;

/** Tiles of a lower triangle, at indices that all worlds share. */
export interface TileList {
  readonly count: number;
  readonly bit: (tile: Int) => Int;
  /** The bits of all tiles before one. */
  readonly below: (tile: Int) => Int;
  /** Where the row of a tile begins in the list of tiles, diagonal and below. */
  readonly start: (tile: Int) => Int;
  /** Whether a word of bits has that of a tile. */
  has(bits: Int, tile: Int): Bool;
}

/** Tiles in which M has anything. */
export interface MassTiles {
  readonly count: number;
  /** By position; as a table, those that have no dof name dof 0. */
  readonly dofs: readonly number[];
  readonly dofOf: (position: Int) => Int;
  /** By their place in the list: row, column. */
  readonly ofMass: readonly (readonly [number, number])[];
}

/** Where dofs are, by tile or position: tables at indices that all worlds share. */
export interface DofTiles extends TileList, MassTiles {
  readonly isDof: (position: Int) => Bool;
  /** Of a dof in the word of its tile. */
  readonly dofBit: (position: Int) => Int;
  /** All of those of a tile. */
  readonly mask: (tile: Int) => Int;
  /** Tiles before one that are there in all states. */
  readonly least: (tile: Int) => Int;
  /** Tiles that each row touches. */
  readonly rowTouches: readonly (readonly number[])[];
  /** Of trees, bit by bit: those of a body, of a dof by its position, of each row; and the tiles that a tree has a dof in. */
  readonly treeOfBody: (body: Int) => Scalar;
  readonly treeOfDof: (position: Int) => Int;
  readonly treesOfRow: readonly number[];
  readonly tilesOfTree: (tree: Int) => Int;
  /** Rows by place in the list of tiles: from(at) to from(at + 1) of `row`. */
  readonly rowsAt: { readonly from: (at: Int) => Int; readonly row: (e: Int) => Int };
}

/** Leaves first, so that what moves neither against the other stays apart; bodies that float alone last, since all else touches them. */
function eliminationOrder(model: Model): number[] {
  const alone = new Set(loneBodies(model).map((body) => model.body_treeid[body]));
  const trees = Array.from({ length: model.ntree }, (_, t) => t);
  const order = [...trees.filter((t) => !alone.has(t)), ...trees.filter((t) => alone.has(t))];
  const dofs = Array.from({ length: model.nv }, (_, i) => i).toReversed();
  return order.flatMap((tree) => dofs.filter((dof) => model.dof_treeid[dof] === tree));
}

const place = (I: number, J: number): number => (I * (I + 1)) / 2 + J;
const ints = (name: string, values: readonly number[]): ((index: Int) => Int) =>
  table(
    name,
    values.map((bits) => bits | 0),
    "i32",
  );

export function tileList(count: number): TileList {
  const list = Array.from({ length: count }, (_, I) => I);
  const bit = ints(
    "tile_bit",
    list.map((I) => 1 << I),
  );
  return {
    count,
    bit,
    below: ints(
      "tiles_below",
      list.map((I) => (1 << I) - 1),
    ),
    start: tileStarts(count),
    has: (bits, tile) => ne(band(bits, toU32(bit(tile))), toU32(0)),
  };
}

/** Rows and columns of tiles in which some dof moves the other's body. */
export function massTiles(model: Model, tileOf: (dof: number) => number): [number, number][] {
  const tiles = new Map<number, [number, number]>();
  for (let dof = 0; dof < model.nv; dof++) {
    for (let i = dof; i >= 0; i = model.dof_parentid[i]) {
      const [I, J] = [tileOf(i), tileOf(dof)].toSorted((a, b) => b - a);
      tiles.set(place(I, J), [I, J]);
    }
  }
  return [...tiles.values()];
}

/** Where the row of a tile begins in the list of tiles, diagonal and below. */
export const tileStarts = (count: number): ((tile: Int) => Int) =>
  ints(
    "tile_start",
    Array.from({ length: count }, (_, I) => place(I, 0)),
  );

/** `rows`: the dofs of each row that couples several. */
export function dofTiles(model: Model, rows: readonly (readonly number[])[]): DofTiles {
  const order = eliminationOrder(model);
  const count = Math.ceil(model.nv / TILE);
  const positions = Array.from({ length: TILE * count }, (_, p) => p);
  const tileOf = new Map(order.map((dof, p) => [dof, Math.floor(p / TILE)]));
  const list = Array.from({ length: count }, (_, I) => I);

  const ofMass = massTiles(model, (dof) => tileOf.get(dof)!);
  const least = list.map(() => 0);
  const there = (I: number, J: number) => I > J && (least[I] = (least[I] | (1 << J)) >>> 0);
  for (const [I, J] of ofMass) there(I, J);
  const rowTouches = rows.map((dofs) => [...new Set(dofs.map((dof) => tileOf.get(dof)!))].toSorted((a, b) => a - b));
  const rowsOf = Array.from({ length: place(count, 0) }, (): number[] => []);
  rowTouches.forEach((touched, r) => {
    for (const I of touched) {
      for (const J of touched) {
        if (J > I) continue;
        there(I, J);
        rowsOf[place(I, J)].push(r);
      }
    }
  });
  let sum = 0;
  const from = [0, ...rowsOf.map((of) => (sum += of.length))];
  const treeBit = (tree: number) => (tree < 0 ? 0 : 1 << tree);
  const isDof = ints(
    "tile_is_dof",
    positions.map((p) => Number(p < order.length)),
  );
  const bitOf = (p: number) => (p < order.length ? 1 << (p % (TILE * WORD)) : 0);
  return {
    ...tileList(count),
    dofs: order,
    dofOf: ints(
      "tile_dof",
      positions.map((p) => order[p] ?? 0),
    ),
    isDof: (p) => eq(isDof(p), 1),
    dofBit: ints("tile_dof_bit", positions.map(bitOf)),
    mask: ints(
      "tile_mask",
      list.map((I) => [0, 1, 2].reduce((sum, r) => sum | bitOf(TILE * I + r), 0)),
    ),
    least: ints("tiles_least", least),
    ofMass,
    rowTouches,
    treeOfBody: ints("tree_of_body", Array.from(model.body_treeid, treeBit)),
    treeOfDof: ints(
      "tree_of_dof",
      positions.map((p) => treeBit(model.dof_treeid[order[p] ?? 0])),
    ),
    treesOfRow: rows.map((dofs) => dofs.reduce((bits, dof) => (bits | treeBit(model.dof_treeid[dof])) >>> 0, 0)),
    tilesOfTree: ints(
      "tiles_of_tree",
      Array.from({ length: model.ntree }, (_, tree) =>
        order.reduce((bits, dof) => (model.dof_treeid[dof] === tree ? bits | (1 << tileOf.get(dof)!) : bits), 0),
      ),
    ),
    rowsAt: { from: ints("tile_rows_from", from), row: ints("tile_rows", [...rowsOf.flat(), 0]) },
  };
}

/** For each word, the dofs that move a body. */
export function bodyWords(model: Model, tiles: DofTiles): ((body: Int) => Scalar)[] {
  const position = new Map(tiles.dofs.map((dof, p) => [dof, p]));
  const words = Math.ceil(tiles.count / WORD);
  return Array.from({ length: words }, (_, w) => {
    const of = Array.from({ length: model.nbody }, (__, body) =>
      bodyDofs(model, body)
        .map((dof) => position.get(dof)! - w * TILE * WORD)
        .filter((p) => p >= 0 && p < TILE * WORD)
        .reduce((bits, p) => bits | (1 << p), 0),
    );
    return table(`moved_by${w}`, of, "i32");
  });
}
