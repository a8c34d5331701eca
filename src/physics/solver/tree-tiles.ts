// dofs of many small trees in tiles: each tree begins one, those that reach least first, for the Hessian of tree-hessian.ts
import { table } from "../../trace/control.ts";
import { eq, type Bool, type Int } from "../../trace/scalar.ts";
import type { Model } from "../../model/model.ts";
import { bodyDofs } from "../constraint/body-dofs.ts";
import { massTiles, TILE, tileStarts, WORD, type MassTiles } from "./dof-tiles.ts";

/** Tiles of a model; their lower triangle takes 1.2 MB a world. */
const MOST = 256;

export interface TreeTiles extends MassTiles {
  readonly start: (tile: Int) => Int;
  readonly isDof: (position: Int) => Bool;
  /** Most tiles of a tree. */
  readonly widest: number;
  readonly tileOf: (dof: number) => number;
  /** Of the tree of a body: its first tile, and its number. */
  readonly firstOf: (body: Int) => Int;
  readonly treeOf: (body: Int) => Int;
  /** The dofs that move a body, as bits by their places in its tree. */
  readonly movedBy: (body: Int) => Int;
}

/**
 * Trees by the size of their geoms, so that what may touch many is eliminated last; the dofs of each from its leaves, so that what
 * moves neither against the other stays apart. Undefined where a tree has more tiles than a word has bits for, or all have too many.
 */
export function treeTiles(model: Model): TreeTiles | undefined {
  const reach = new Float64Array(model.ntree);
  for (let g = 0; g < model.ngeom; g++) {
    const tree = model.body_treeid[model.geom_bodyid[g]];
    if (tree >= 0) reach[tree] += model.geom_rbound[g];
  }
  const ofTree = Array.from(reach, (): number[] => []);
  for (let dof = model.nv - 1; dof >= 0; dof--) ofTree[model.dof_treeid[dof]].push(dof);
  const order = [...reach.keys()].sort((a, b) => reach[a] - reach[b]);
  const first: number[] = [];
  const dofs: number[] = [];
  for (const tree of order) {
    first[tree] = dofs.length / TILE;
    dofs.push(...ofTree[tree]);
    while (dofs.length % TILE > 0) dofs.push(-1);
  }
  const count = dofs.length / TILE;
  const widest = Math.max(...ofTree.map((own) => Math.ceil(own.length / TILE)));
  if (count > MOST || widest > WORD) return undefined;

  const position = new Map(dofs.map((dof, p) => [dof, p]));
  const tileOf = (dof: number) => Math.floor(position.get(dof)! / TILE);
  const ofBody = (name: string, value: (body: number, tree: number) => number) =>
    table(
      name,
      Array.from(model.body_treeid, (tree, body) => value(body, tree)),
      "i32",
    );
  const isDof = table(
    "tree_is_dof",
    dofs.map((dof) => Number(dof >= 0)),
    "i32",
  );
  return {
    count,
    dofs,
    dofOf: table(
      "tree_dof",
      dofs.map((dof) => Math.max(dof, 0)),
      "i32",
    ),
    ofMass: massTiles(model, tileOf),
    start: tileStarts(count),
    isDof: (p) => eq(isDof(p), 1),
    widest,
    tileOf,
    firstOf: ofBody("tree_first", (_, tree) => first[tree] ?? 0),
    treeOf: ofBody("tree_of", (_, tree) => tree),
    movedBy: ofBody("tree_moved_by", (body, tree) =>
      bodyDofs(model, body).reduce((bits, dof) => bits | (1 << (position.get(dof)! - TILE * first[tree])), 0),
    ),
  };
}
