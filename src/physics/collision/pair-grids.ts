// pairs of geoms by rows and columns: every pair is a bit of one grid
import { mjtGeom } from "../../model/enums.ts";
import type { GeomPairs } from "../../model/pairs.ts";
import { inGroups, type GridOrder } from "./geom-clusters.ts";

/** Bits of a word. */
export const WORD = 32;

/** Pairs by their first geom in `rows`, and the other in `columns`: no two are of the same geoms. */
export interface Grid {
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  /** A bit of each two that are a pair, rows of whole words. */
  readonly masks: Int32Array;
  /** Visits all pairs in their order: `cell` counts the bits of masks. */
  each(visit: (cell: number, pair: number) => void): void;
  /** By cell the pair, -1 where two do not make one. */
  index(): Int32Array;
}

/** Where each of some geoms is among them first, by the geom. */
function placesOf(ids: readonly number[], ngeom: number): Int32Array {
  const places = new Int32Array(ngeom);
  for (let place = ids.length - 1; place >= 0; place--) places[ids[place]] = place;
  return places;
}

/** The pairs named by their indices. Rows of fixed geoms come first. */
function gridOf(pairs: GeomPairs, ngeom: number, members: Int32Array, planes: boolean, order: GridOrder): Grid {
  // places from 1 on; 0: not among them
  const place = new Int32Array(ngeom);
  if (!planes) order.fixed.forEach((g, i) => (place[g] = i + 1));
  const isOfCluster = new Uint8Array(ngeom);
  for (const g of order.clusters.flat()) isOfCluster[g] = 1;
  // a plane comes first, then what is fixed, last what is of a cluster; of others the lower geom, so that half of the words of a
  // row are empty
  const isFirst = (geom1: number, geom2: number): boolean => {
    if (planes || place[geom1] > 0) return true;
    if (place[geom2] > 0) return false;
    const later = isOfCluster[geom1] - isOfCluster[geom2];
    return later < 0 || (later === 0 && geom1 < geom2);
  };
  const [inRows, inColumns] = [new Uint8Array(ngeom), new Uint8Array(ngeom)];
  // millions of pairs: which end is in the rows is asked once, and a cell is found once
  const [rowGeoms, columnGeoms] = [new Int32Array(members.length), new Int32Array(members.length)];
  for (let i = 0; i < members.length; i++) {
    const geom1 = pairs.geom1[members[i]];
    const geom2 = pairs.geom2[members[i]];
    const is = isFirst(geom1, geom2);
    rowGeoms[i] = is ? geom1 : geom2;
    columnGeoms[i] = is ? geom2 : geom1;
    inRows[rowGeoms[i]] = inColumns[columnGeoms[i]] = 1;
  }
  const [firsts, seconds] = [inRows, inColumns].map((met) => Array.from(met.keys()).filter((g) => met[g] === 1));
  const columns = inGroups(seconds, order);
  const [others, fixed] = [false, true].map((is) => firsts.filter((g) => place[g] > 0 === is));
  const rows = [...fixed.sort((a, b) => place[a] - place[b]), ...others];
  const words = Math.ceil(columns.length / WORD);
  const [rowOf, columnOf] = [placesOf(rows, ngeom), placesOf(columns, ngeom)];
  const masks = new Int32Array(rows.length * words);
  const cells = rowGeoms;
  for (let i = 0; i < members.length; i++) {
    const cell = rowOf[rowGeoms[i]] * words * WORD + columnOf[columnGeoms[i]];
    cells[i] = cell;
    masks[cell >> 5] |= 1 << (cell & (WORD - 1));
  }
  const each = (visit: (cell: number, pair: number) => void): void => {
    for (let i = 0; i < members.length; i++) visit(cells[i], members[i]);
  };
  const index = () => {
    const pairAt = new Int32Array(rows.length * words * WORD).fill(-1);
    each((cell, pair) => (pairAt[cell] = pair));
    return pairAt;
  };
  return { rows, columns, masks, each, index };
}

/** Grids that hold every pair once: planes apart from others, and pairs that are named twice in grids of their own. */
export function gridsOf(ngeom: number, pairs: GeomPairs, order: GridOrder): { planes: boolean; grid: Grid }[] {
  const groups: ({ members: Int32Array; count: number } | undefined)[] = [];
  const keys: number[] = [];
  const seen = new Map<number, number>();
  // explicit pairs alone are named twice
  const mayRepeat = pairs.kinds.some(({ ipair }) => ipair >= 0);
  const timesOf = (k: number): number => {
    const ends = pairs.geom1[k] * ngeom + pairs.geom2[k];
    const times = seen.get(ends) ?? 0;
    seen.set(ends, times + 1);
    return times;
  };
  const isPlane = pairs.kinds.map(({ type1 }) => type1 === mjtGeom.PLANE);
  const onPlanes = pairs.total(({ type1 }) => Number(type1 === mjtGeom.PLANE));
  for (let k = 0; k < pairs.length; k++) {
    const onPlane = isPlane[pairs.kind[k]];
    const key = 2 * (mayRepeat ? timesOf(k) : 0) + Number(onPlane);
    let group = groups[key];
    if (!group) {
      const most = onPlane ? onPlanes : pairs.length - onPlanes;
      groups[key] = group = { members: new Int32Array(most), count: 0 };
      keys.push(key);
    }
    group.members[group.count++] = k;
  }
  return keys.map((key) => {
    const { members, count } = groups[key]!;
    const planes = key % 2 === 1;
    return { planes, grid: gridOf(pairs, ngeom, members.subarray(0, count), planes, order) };
  });
}
