// boxes along the axes of the world about all geoms, made once a step: two are compared by six numbers
import { array, loop, table, variable, type LocalArray } from "../../trace/control.ts";
import { abs, add, and, ge, le, max, min, mul, ne, or, select, sub, type Bool, type Int } from "../../trace/scalar.ts";
import { add3, column, mulMatVec, type Vec3 } from "../../trace/vector.ts";
import type { GeomPairs } from "../../model/pairs.ts";
import { boxesOf, hasWorldBoxes, isRounded, isSolid, reachAlong, ROUNDING, type WorldBox } from "./geom-boxes.ts";
import { fixedBoxes, fixedIn, type FixedBoxes } from "./fixed-boxes.ts";
import { clusterBoxes, NO_CLUSTERS, type ClusterBoxes, type Clustered } from "./geom-clusters.ts";
import type { GeomFrames } from "./geom-frames.ts";
import type { ModelView } from "../view.ts";

export interface WorldBoxes {
  /** Of a geom, known while tracing or only at run time. */
  of(geom: Int): WorldBox;
  /** Of geoms in line, and about each `size` of them in turn. `loops`: code loops over them, by places that all worlds share. */
  inLine(geoms: readonly number[], size: number, loops: boolean): BoxLine;
  /** Of geoms that nothing moves, if there are many: `of` has none of theirs. */
  readonly fixed: FixedBoxes | undefined;
  /** Of bodies with many geoms: `of` has only those that are rows of a grid. */
  readonly clusters: ClusterBoxes;
}

/** Boxes of geoms by their places in a line. */
export interface BoxLine {
  of(place: Int): WorldBox;
  /** About a group of them. */
  around(group: Int): WorldBox;
  /** Whether something is true of any group. */
  anyGroup(is: (group: WorldBox) => Bool): Bool;
  /** About groups from one on; not where code loops over them. */
  aboutGroups?(from: number, to?: number): WorldBox;
}

/**
 * Makes the boxes of all geoms of the pairs, planes aside. None where worlds have sizes of their own, or two boxes a
 * margin: MuJoCo's distance of these is that along an axis of theirs, which may be less than they are apart. `fixed`: those
 * that nothing moves.
 */
export function worldBoxes(
  m: ModelView,
  frames: GeomFrames,
  all: GeomPairs,
  fixed = fixedIn(m, all),
  clustered: Clustered = NO_CLUSTERS,
): WorldBoxes | undefined {
  if (!hasWorldBoxes(m, all)) return undefined;
  const pairs = all.kinds.filter(isSolid);
  const reach = pairs.reduce((most, p) => Math.max(most, p.margin + p.gap), -Infinity);
  const isFixed = new Set(fixed);
  const isColumn = new Set(clustered.clusters.flatMap(({ geoms: of, hasRows }) => (hasRows ? [] : of)));
  const moving = all.geoms(isSolid).filter((g) => !isFixed.has(g) && !isColumn.has(g));
  // those that an ellipsoid surrounds come last, where there is room for it
  const geoms = m.form.hasRoom ? moving.toSorted((a, b) => +isRounded(m.model, a) - +isRounded(m.model, b)) : moving;
  const place = new Map(geoms.map((g, i) => [g, i]));
  const flat = geoms.filter((g) => !isRounded(m.model, g)).length;
  const placeOf = table(
    "box_place",
    Array.from({ length: m.ngeom }, (_, g) => place.get(g) ?? 0),
    "i32",
  );
  const [low, high] = ["low", "high"].map((end) =>
    [0, 1, 2].map((k) => array(`box_${end}${k}`, geoms.length, "f32", m.form.hasRoom)),
  );
  const { centre, half, round } = boxesOf(m);
  const bounds = (from: number, to: number, isRound: boolean) => {
    const geom = table("box_geom", geoms, "i32");
    const bound = (i: Int) => {
      const g = geom(i);
      const [pos, mat, radius] = [frames.pos(g), frames.mat(g), m.geom_rbound.at(g)];
      const at = add3(pos, mulMatVec(mat, centre(g)));
      const [sizes, ellipsoid] = [half(g), isRound ? round?.(g) : undefined];
      [0, 1, 2].forEach((k) => {
        const extent = reachAlong(sizes, ellipsoid, (j) => column(mat, j)[k]);
        // sums and differences round by the size of the position
        const slack = add(reach / 2, mul(ROUNDING, add(radius, abs(pos[k]))));
        low[k].set(i, sub(max(sub(at[k], extent), sub(pos[k], radius)), slack));
        high[k].set(i, add(min(add(at[k], extent), add(pos[k], radius)), slack));
      });
    };
    if (to > from) loop(to, bound, { start: from, label: "bounds" });
  };
  if (round) bounds(0, flat, false);
  bounds(round ? flat : 0, geoms.length, true);
  const clusters = clusterBoxes(m, frames, clustered, reach);
  const at = (i: Int) => boxAt(low, high, i);
  const of = (g: Int): WorldBox => at(typeof g === "number" ? place.get(g)! : placeOf(g));
  const still = fixed.length > 0 ? fixedBoxes(m, frames, fixed, reach) : undefined;
  const inLine: WorldBoxes["inLine"] = (line, size, loops) => {
    if (loops)
      return loopedLine(
        line.map((g) => place.get(g)!),
        size,
        at,
      );
    const groups = Array.from({ length: Math.ceil(line.length / size) }, (_, k) => {
      const cluster = clusters.of(line[size * k]);
      if (cluster !== undefined) return clusters.around(cluster);
      return line
        .slice(size * k, size * (k + 1))
        .map(of)
        .reduce(about);
    });
    return {
      of: (i) => of(line[i as number]),
      around: (k) => groups[k as number],
      anyGroup: (is) => groups.map(is).reduce(or),
      aboutGroups: (from, to) => groups.slice(from, to).reduce(about),
    };
  };
  return { of, inLine, fixed: still, clusters };
}

/** Boxes about groups are kept. The last box stands where a group has no more. */
function loopedLine(places: readonly number[], size: number, at: (place: Int) => WorldBox): BoxLine {
  const count = Math.ceil(places.length / size);
  const placeAt = table(
    "box_in_line",
    Array.from({ length: 2 * size * Math.ceil(count / 2) }, (_, i) => places[i] ?? places.at(-1)!),
    "i32",
  );
  const of = (i: Int) => at(placeAt(i));
  const [low, high] = ["low", "high"].map((end) =>
    [0, 1, 2].map((k) => array(`group_${end}${k}`, 2 * Math.ceil(count / 2))),
  );
  loop(
    low[0].length,
    (k) => {
      const group = Array.from({ length: size }, (_, i) => of(add(mul(k, size), i))).reduce(about);
      low.forEach((end, axis) => end.set(k, group.low[axis]));
      high.forEach((end, axis) => end.set(k, group.high[axis]));
    },
    { label: "groups" },
  );
  const around = (k: Int) => boxAt(low, high, k);
  const anyGroup: BoxLine["anyGroup"] = (is) => {
    const any = variable("any_group", 0, "i32");
    loop(count, (k) => any.set(select(is(around(k)), 1, any.get(), "i32")), { label: "groups" });
    return ne(any.get(), 0);
  };
  return { of, around, anyGroup };
}

/** The box whose ends three arrays each have at an index. */
function boxAt(low: readonly LocalArray[], high: readonly LocalArray[], i: Int): WorldBox {
  const [from, to] = [low, high].map((ends) => ends.map((x) => x.get(i)) as unknown as Vec3);
  return { low: from, high: to };
}

const about = (a: WorldBox, b: WorldBox): WorldBox => ({
  low: a.low.map((x, k) => min(x, b.low[k])) as unknown as Vec3,
  high: a.high.map((x, k) => max(x, b.high[k])) as unknown as Vec3,
});

/** Whether two boxes overlap. */
export const overlap = (a: WorldBox, b: WorldBox): Bool =>
  [0, 1, 2].map((k) => and(le(a.low[k], b.high[k]), ge(a.high[k], b.low[k]))).reduce(and);
