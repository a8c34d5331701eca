// geoms of bodies that have many, in clusters of such as lie side by side: boxes about them are numbers beside their body, so that
// one box a cluster is turned into the world, and what comes near it is turned back
import { loop, table, variable, when, type Variable } from "../../trace/control.ts";
import {
  abs,
  add,
  and,
  band,
  bor,
  eq,
  ge,
  le,
  min,
  mul,
  select,
  shl,
  sub,
  sum,
  toU32,
  type Bool,
  type Int,
} from "../../trace/scalar.ts";
import { add3, column, dot3, quatToMat, row, scale3, sub3, type Vec3 } from "../../trace/vector.ts";
import type { GeomPairs } from "../../model/pairs.ts";
import { boxesOf, hasWorldBoxes, isBoxed, isSolid, reachAlong, ROUNDING, type WorldBox } from "./geom-boxes.ts";
import type { FrameCopy, GeomFrames } from "./geom-frames.ts";
import { ownFields, type ModelView, type WorldData } from "../view.ts";

/** Most geoms of a cluster. */
export const CLUSTER = 16;
/** Geoms of a body from which on they are in clusters. */
const FEWEST = 8;
/** Most columns of a grid that has clusters. */
const MOST_COLUMNS = 256;
/** A box is turned by a body's axes, which are of length 1 to rounding of all bodies before it. */
const TURNED_ROUND = 8 * ROUNDING;

/** Where a box lies beside its body (m). */
interface Beside {
  readonly low: readonly number[];
  readonly high: readonly number[];
}

export interface Cluster {
  readonly body: number;
  readonly geoms: readonly number[];
  /** Whether some of the geoms are rows of a grid, since the other geom of a pair is of a cluster too. */
  readonly hasRows: boolean;
}

/** How grids are laid out. */
export interface GridOrder {
  /** Geoms that nothing moves: always rows, the first ones, in this order. */
  readonly fixed: readonly number[];
  /** Geoms that are columns wherever the other one is of no cluster, whole clusters side by side. */
  readonly clusters: readonly (readonly number[])[];
  /** Columns of a cluster; those of geoms that are of none are a multiple of it. */
  readonly group: number;
}

/** Columns in groups: those of no cluster, then whole clusters. The last geom of a group stands where it has no more. */
export function inGroups(columns: readonly number[], { clusters, group }: GridOrder): readonly number[] {
  const here = new Set(columns);
  const met = clusters.filter((cluster) => cluster.some((g) => here.has(g)));
  if (met.length === 0) return columns;
  for (const g of met.flat()) here.delete(g);
  return [[...here], ...met].flatMap((all) =>
    Array.from({ length: group * Math.ceil(all.length / group) }, (_, i) => all[i] ?? all.at(-1)!),
  );
}

/** Geoms in clusters, and how the frames of those that come late are made. */
export interface Clustered {
  readonly clusters: readonly Cluster[];
  readonly late: ReadonlySet<number>;
  readonly make: FrameCopy["make"];
}

export const NO_CLUSTERS: Clustered = { clusters: [], late: new Set(), make: () => {} };

/** The boxes of clusters, by their numbers. */
export interface ClusterBoxes {
  readonly all: readonly Cluster[];
  /** The cluster of a geom. */
  of(geom: number): number | undefined;
  /** About all geoms of a cluster. */
  around(cluster: number): WorldBox;
  /**
   * Says of a box in the world whether it overlaps that of the geom at a place of the cluster, and makes the geom's frame there, if
   * it comes late.
   */
  within(cluster: number, box: WorldBox): (place: Int) => Bool;
  /** The same of what is below a plane, or above it by less than `reach`. */
  below(cluster: number, plane: Plane, reach: number): (place: Int) => Bool;
  /** Whether anything of a cluster is. */
  anyBelow(cluster: number, plane: Plane, reach: number): Bool;
}

/** A point of a plane, and its normal. */
export interface Plane {
  readonly pos: Vec3;
  readonly normal: Vec3;
}

/** Parts of as many geoms each as go into a cluster, cut across the longest side. */
function parts(geoms: readonly number[], centres: readonly (readonly number[])[]): (readonly number[])[] {
  const count = Math.ceil(geoms.length / CLUSTER);
  if (count === 1) return [geoms];
  const extent = [0, 1, 2].map((k) => {
    const along = geoms.map((g) => centres[g][k]);
    return Math.max(...along) - Math.min(...along);
  });
  const axis = extent.indexOf(Math.max(...extent));
  const sorted = geoms.toSorted((a, b) => centres[a][axis] - centres[b][axis] || a - b);
  const half = Math.round((geoms.length * (count >> 1)) / count);
  return [sorted.slice(0, half), sorted.slice(half)].flatMap((part) => parts(part, centres));
}

/** Where each geom's box lies beside its body, as an array of the model's geoms. */
function besideBodies(m: ModelView, reach: number): Beside[] {
  const { geom_pos, geom_quat, geom_rbound } = m.model;
  const { centre, half, round } = boxesOf(m);
  return Array.from({ length: m.ngeom }, (_, g) => {
    const pos = Array.from(geom_pos.subarray(3 * g, 3 * g + 3));
    const mat = quatToMat(Array.from(geom_quat.subarray(4 * g, 4 * g + 4)) as never);
    const radius = geom_rbound[g];
    const middle = pos.map((x, k) => x + (dot3(row(mat, k), centre(g)) as number));
    const extent = pos.map((_x, k) => reachAlong(half(g), round?.(g), (j) => column(mat, j)[k]) as number);
    const slack = reach / 2 + TURNED_ROUND * (radius + Math.max(...pos.map(Math.abs)));
    return {
      low: pos.map((x, k) => Math.max(middle[k] - extent[k], x - radius) - slack),
      high: pos.map((x, k) => Math.min(middle[k] + extent[k], x + radius) + slack),
    };
  });
}

/**
 * The clusters among the geoms of pairs that move; none where worlds have geoms of their own. `fixed`: geoms that do not move.
 */
export function geomClusters(m: ModelView, pairs: GeomPairs, fixed: readonly number[]): readonly Cluster[] {
  const own = ownFields(m);
  if (!m.form.hasRoom || own.has("geom_pos") || own.has("geom_quat") || !hasWorldBoxes(m, pairs)) return [];
  const { geom_bodyid, geom_pos } = m.model;
  const still = new Set(fixed);
  const moving = pairs.geoms().filter((g) => !still.has(g));
  const ofBodies = new Map<number, number[]>();
  for (const g of moving) {
    if (!isBoxed(m.model, g)) continue;
    const known = ofBodies.get(geom_bodyid[g]);
    if (known) known.push(g);
    else ofBodies.set(geom_bodyid[g], [g]);
  }
  const centres = Array.from({ length: m.ngeom }, (_, g) => Array.from(geom_pos.subarray(3 * g, 3 * g + 3)));
  const clusters = [...ofBodies].flatMap(([body, of]) =>
    of.length < FEWEST ? [] : parts(of, centres).map((part) => ({ body, geoms: part })),
  );
  // beside planes fixed geoms are columns too, where explicit pairs name them
  const inColumns = new Set([...moving, ...pairs.geoms((p) => !isSolid(p))]);
  const others = inColumns.size - clusters.reduce((count, c) => count + c.geoms.length, 0);
  const columns = CLUSTER * (clusters.length + Math.ceil(others / CLUSTER));
  if (clusters.length === 0 || columns > MOST_COLUMNS) return [];
  const rows = rowsAmong(pairs, new Set(clusters.flatMap((c) => c.geoms)));
  return clusters.map((c) => ({ ...c, hasRows: c.geoms.some((g) => rows.has(g)) }));
}

/** Of pairs of two geoms of a set, those that are rows. */
function rowsAmong({ length, geom1, geom2 }: GeomPairs, geoms: ReadonlySet<number>): ReadonlySet<number> {
  const rows = new Set<number>();
  for (let k = 0; k < length; k++)
    if (geoms.has(geom1[k]) && geoms.has(geom2[k])) rows.add(Math.min(geom1[k], geom2[k]));
  return rows;
}

/** Geoms whose frames are made when something comes near them, where frames are not kept anyway. */
export const lateGeoms = (d: WorldData, clusters: readonly Cluster[]): ReadonlySet<number> =>
  new Set(d.geom_xpos.isIndexed ? [] : clusters.flatMap(({ geoms, hasRows }) => (hasRows ? [] : geoms)));

/** The boxes of clusters, wider by half of `reach` on each side. */
export function clusterBoxes(
  m: ModelView,
  frames: Pick<GeomFrames, "body" | "axes">,
  { clusters, late, make }: Clustered,
  reach: number,
): ClusterBoxes {
  const beside = clusters.length > 0 ? besideBodies(m, reach) : [];
  const [low, high] = (["low", "high"] as const).map((end) =>
    [0, 1, 2].map((k) =>
      table(
        `cluster_${end}${k}`,
        clusters.flatMap(({ geoms }) =>
          Array.from({ length: CLUSTER }, (_, i) => beside[geoms[i] ?? geoms.at(-1)!][end][k]),
        ),
      ),
    ),
  );
  const geomAt = table(
    "cluster_geom",
    clusters.flatMap(({ geoms }) => Array.from({ length: CLUSTER }, (_, i) => geoms[i] ?? geoms.at(-1)!)),
    "i32",
  );
  const insides = clusters.map(({ geoms }): Inside => {
    const ends = [0, 1, 2].map((k) => [
      Math.min(...geoms.map((g) => beside[g].low[k])),
      Math.max(...geoms.map((g) => beside[g].high[k])),
    ]);
    return {
      middle: ends.map(([from, to]) => (from + to) / 2) as unknown as Vec3,
      half: ends.map(([from, to]) => (to - from) / 2) as unknown as Vec3,
      size: Math.max(...ends.flat().map(Math.abs)),
    };
  });
  const boxes = clusters.map(({ body }, c): WorldBox => {
    const { middle, half, size } = insides[c];
    const [pos, mat] = [frames.body(body), frames.axes(body)];
    const at = pos.map((x, k) => add(x, dot3(row(mat, k), middle)));
    const most = pos.map((x, k) =>
      add(
        reachAlong(half, undefined, (j) => column(mat, j)[k]),
        mul(TURNED_ROUND, add(size, abs(x))),
      ),
    );
    return {
      low: at.map((x, k) => sub(x, most[k])) as unknown as Vec3,
      high: at.map((x, k) => add(x, most[k])) as unknown as Vec3,
    };
  });
  // bits of geoms whose frames are made
  const made = clusters.map(({ geoms }) => (late.has(geoms[0]) ? variable("made", 0, "u32") : undefined));
  const making = (cluster: number, isNear: (i: Int) => Bool) => (place: Int) => {
    const i = add(place, CLUSTER * cluster);
    const found = isNear(i);
    const done = made[cluster];
    if (done) {
      const bit = shl(1, toU32(place));
      when(and(found, eq(band(done.get(), bit), 0)), () => {
        done.set(bor(done.get(), bit));
        make(geomAt(i), clusters[cluster].body);
      });
    }
    return found;
  };
  /** A plane beside a cluster's body: its normal, and how far the body's origin is above it, but for rounding. */
  const planeBeside = (cluster: number, { pos, normal }: Plane) => {
    const { body } = clusters[cluster];
    const [at, mat] = [frames.body(body), frames.axes(body)];
    const size = add(insides[cluster].size, sum([...at, ...pos].map(abs)));
    const above = sub(dot3(normal, sub3(at, pos)), mul(TURNED_ROUND, size));
    return { up: [0, 1, 2].map((k) => dot3(column(mat, k), normal)) as unknown as Vec3, above };
  };
  const numbers = new Map(clusters.flatMap(({ geoms }, c) => geoms.map((g) => [g, c] as const)));
  return {
    all: clusters,
    of: (geom) => numbers.get(geom),
    around: (cluster) => boxes[cluster],
    within(cluster, box) {
      const { body } = clusters[cluster];
      const [pos, mat] = [frames.body(body), frames.axes(body)];
      const half = scale3(sub3(box.high, box.low), 0.5);
      const offset = sub3(scale3(add3(box.low, box.high), 0.5), pos);
      const slack = mul(TURNED_ROUND, sum([...half, ...offset, ...pos].map(abs)));
      const axes = [0, 1, 2].map((k) => column(mat, k));
      const at = axes.map((u) => dot3(u, offset));
      const most = axes.map((u) => add(sum(half.map((h, k) => mul(h, abs(u[k])))), slack));
      const from = at.map((x, k) => sub(x, most[k]));
      const to = at.map((x, k) => add(x, most[k]));
      return making(cluster, (i) =>
        [0, 1, 2].map((k) => and(le(low[k](i), to[k]), ge(high[k](i), from[k]))).reduce(and),
      );
    },
    below(cluster, plane, most) {
      const { up, above } = planeBeside(cluster, plane);
      return making(cluster, (i) => {
        const lowest = sum(up.map((u, k) => min(mul(u, low[k](i)), mul(u, high[k](i)))));
        return le(add(above, lowest), most);
      });
    },
    anyBelow(cluster, plane, most) {
      const { middle, half } = insides[cluster];
      const { up, above } = planeBeside(cluster, plane);
      const lowest = sub(
        dot3(up, middle),
        reachAlong(half, undefined, (k) => up[k]),
      );
      return le(add(above, lowest), most);
    },
  };
}

/** A box about all geoms of a cluster beside its body, and how far it is from the body's origin at most (m). */
interface Inside {
  readonly middle: Vec3;
  readonly half: Vec3;
  readonly size: number;
}

/** What the broad phase asks of a plane, by groups of columns: of those that are no cluster everything comes near. */
export const besidePlane = (
  clusters: ClusterBoxes,
  clusterAt: (group: Int) => number | undefined,
  plane: Plane,
  reach: number,
): { any(group: Int): Bool; inCluster(group: Int): ((place: Int) => Bool) | undefined } => ({
  any: (group) => {
    const cluster = clusterAt(group);
    return cluster === undefined || clusters.anyBelow(cluster, plane, reach);
  },
  inCluster: (group) => {
    const cluster = clusterAt(group);
    return cluster === undefined ? undefined : clusters.below(cluster, plane, reach);
  },
});

/** Adds the bits of what is near in a cluster, the first of which is bit `from`. */
export function bitsOfCluster(bits: Variable, isNear: (place: Int) => Bool, from: number): void {
  loop(CLUSTER, (i) => bits.set(bor(bits.get(), select(isNear(i), shl(1, toU32(add(i, from))), 0, "u32"))), {
    label: "cluster",
  });
}
