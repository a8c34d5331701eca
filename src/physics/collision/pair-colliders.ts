// the collider of a pair of geoms, whatever its kind: closed forms, planes with hulls, and the search for all others
import { madeOnce } from "../../core/made-once.ts";
import { loop, table } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  add,
  and,
  eq,
  isNode,
  le,
  mul,
  not,
  or,
  select,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import type { Mat3, Vec3 } from "../../trace/vector.ts";
import { mjtDisableBit, mjtGeom } from "../../model/enums.ts";
import { EXTREMA, type Hulls } from "../../model/hulls.ts";
import type { Model } from "../../model/model.ts";
import { mostPrisms, type GeomPairs, type PairNumbers } from "../../model/pairs.ts";
import { colliderName, colliders, type Candidate, type ColliderName, type Shape } from "./colliders/index.ts";
import { capsuleCylinder } from "./colliders/capsule-cylinder.ts";
import { planeMesh } from "./colliders/plane-mesh.ts";
import { OTHERS, wideCorners } from "./colliders/wide-corners.ts";
import { searchesAhead, type Ahead } from "./convex/ahead.ts";
import {
  convexContacts,
  MOST_CONVEX_CONTACTS,
  type ConvexOptions,
  type ConvexShape,
  type Hull,
  type HullTables,
} from "./convex/index.ts";
import { deepCapsule } from "./convex/deep-capsule.ts";
import { keptCorners } from "./convex/kept-corners.ts";
import { ofOneCentre } from "./convex/one-centre.ts";
import { climbStarts, START_CELLS } from "./convex/starts.ts";
import { cellLists, type CellLists } from "./convex/support-cells.ts";
import { CLIMB_ABOVE, type SupportCells } from "./convex/types.ts";
import { Elevations } from "../elevations.ts";
import { Prisms } from "./hfield.ts";
import { prismContacts } from "./prism-contacts.ts";
import { halves } from "./broad-phase.ts";
import type { GeomFrames } from "./geom-frames.ts";
import { FLAT, hasSteps, isFlat, isOval, isRound, isShrunk, mayTurn, POINT } from "./searched-kinds.ts";
import { steadyGeoms } from "./steady-geoms.ts";
import type { ModelView } from "../view.ts";

/** What finds the contacts of a pair. */
export type PairKind = ColliderName | "plane-mesh" | "convex";

/** Candidates of a pair that a collider found at once: `count` of them, known while tracing for closed forms. */
export interface Found {
  readonly count: Int;
  at(i: Int): Candidate;
}

/** Runs `body` for candidates of a pair: in line, or in a runtime loop where their number is known only then. */
export function eachFound(found: Found, body: (c: Candidate, i: Int) => void): void {
  const { count } = found;
  if (isNode(count)) loop(count, (i) => body(found.at(i), i), { label: "candidates" });
  else for (let i = 0; i < count; i++) body(found.at(i), i);
}

/** What the driver asks of a collider. */
export interface PairCollider {
  /** Most contacts of a pair. */
  readonly slots: number;
  /** Whether a bounding test before it pays. */
  readonly costly: boolean;
  /** Whether its code is so long that all pairs share it, in a runtime loop. */
  readonly long: boolean;
  /** Whether it chooses the tangent of its contact frames. */
  readonly leans: boolean;
  /** Whether it calls `take` in a runtime loop, with some candidates at a time. */
  readonly streams: boolean;
  /**
   * Contacts of two geoms, the lower mjtGeom first; `reach` is margin + gap. `take` is traced once; `before` is how many
   * candidates of the pair were taken earlier.
   */
  collide(a: GeomShape, b: GeomShape, reach: Scalar, take: (found: Found, before: Int) => void): void;
}

/** A geom of the model, its id known while tracing or only at run time. */
export interface GeomShape extends Shape {
  readonly geom: Int;
}

/** What the driver needs of a model's geoms. */
export interface PairColliders {
  of(kind: PairKind): PairCollider;
  shape(geom: Int): GeomShape;
  /** Finds contacts of two geoms before their collider runs, which then takes them; undefined if each is searched there. */
  readonly ahead?: Ahead & {
    /** What is kept of a geom meanwhile. */
    numbers(geom: Int): readonly Scalar[];
  };
}

const { CYLINDER, PLANE, MESH } = mjtGeom;

/**
 * MuJoCo searches for the contacts of a capsule and a cylinder too; the formula finds several at once, as it does if it
 * is to find several.
 */
const isSearched = (model: Model, name: ColliderName): boolean =>
  name === "capsule-cylinder" && (model.opt.disableflags & mjtDisableBit.MULTICCD) !== 0;

/** The kind of a pair; pairs without a collider are refused before anything is traced. */
export function pairKind(model: Model, { type1, type2 }: PairNumbers): PairKind {
  const formula = colliderName(type1, type2);
  if (formula && !isSearched(model, formula)) return formula;
  return type1 === PLANE && type2 === MESH ? "plane-mesh" : "convex";
}

/**
 * The colliders of pairs, over the frames of their geoms. `canSearchAhead` if one loop visits all pairs: lanes of a GPU have
 * no room for what is found meanwhile.
 */
export function pairColliders(
  m: ModelView,
  pairs: GeomPairs,
  frames: GeomFrames,
  canSearchAhead = false,
): PairColliders {
  const { model } = m;
  const steady = steadyGeoms(model);
  const shape = (g: Int) => ({
    geom: g,
    pos: frames.pos(g),
    mat: frames.mat(g),
    size: m.geom_size.vec3(g),
    steady: () => steady(g),
  });
  const { hullOf, convex } = convexShapes(m);
  const searched = pairs.kinds.filter((p) => pairKind(model, p) === "convex");
  const kinds = (end: "type1" | "type2") => [...new Set(searched.map((p) => p[end]))];
  const [kinds1, kinds2] = [kinds("type1"), kinds("type2")];
  const margins = searched.some((p) => p.margin + p.gap > 0 && hasSteps(p));
  const rounds = searched.some((p) => p.margin + p.gap <= 0 && isRound(p));
  // float32 loses the path of hulls whose sides are fine
  const flats = current().exact && searched.some((p) => p.margin + p.gap <= 0 && isFlat(p));
  const ovals = current().exact && searched.some(isOval);
  const shrunk = current().exact && searched.some(isShrunk);
  const options = { ...searchOptions(model), margins, rounds, flats, ovals, shrunk };
  const hasFields = kinds1.includes(mjtGeom.HFIELD);
  const fields = hasFields ? new Elevations(model.surfaces!) : undefined;
  const prisms = fields && new Prisms(fields, mostPrisms(model, pairs));
  const fieldOf = (g: Int) => fields!.number(m.geom_dataid.at(g));
  const turns = options.multiccd && searched.some(mayTurn);
  // where margins are searched by MuJoCo's steps, those that turn are too, and do not wait
  const isAhead = canSearchAhead && m.form.hasRoom && searched.length > 0 && !hasFields && !(turns && margins);
  // searches are of any world: each says of its own what the model does not
  const hasOwn = m.geom_size.isOwn || m.geom_rbound.isOwn;
  const numbers = (g: Int) => [
    ...frames.pos(g),
    ...frames.mat(g),
    ...(hasOwn ? [...m.geom_size.vec3(g), m.geom_rbound.at(g)] : []),
  ];
  const kept = (g: Int, types: readonly number[], x: readonly Scalar[]): ConvexShape => {
    const vec = (from: number) => x.slice(from, from + 3) as unknown as Vec3;
    const size = hasOwn ? vec(12) : m.geom_size.vec3(g);
    const mat = x.slice(3, 12) as unknown as Mat3;
    const shape = convex({ geom: g, pos: vec(0), mat, size, steady: () => steady(g) }, types);
    return hasOwn ? { ...shape, radius: x[15] } : shape;
  };
  const isOf = (types: readonly number[], g: Int): Bool => types.map((type) => eq(m.geom_type.at(g), type)).reduce(or);
  const isFlatAt = (g: Int): Bool => isOf(FLAT, g);
  const isPointAt = (g: Int): Bool => isOf(POINT, g);
  const ofGeom = hasOwn ? 16 : 12;
  const waiting = { ...options, turns };
  const ahead = isAhead
    ? searchesAhead(waiting, {
        numbers: 2 * ofGeom,
        shapes: ([first, second], x) => [
          kept(first, kinds1, x.slice(0, ofGeom)),
          kept(second, kinds2, x.slice(ofGeom)),
        ],
        // steps about a cylinder, faces that meet, one point, turns about one
        sorts: turns ? 4 : 3,
        sortOf: ([first, second]) => {
          const point = turns ? select(or(isPointAt(first), isPointAt(second)), 2, 3, "i32") : 2;
          const flat = select(and(isFlatAt(first), isFlatAt(second)), 1, point, "i32");
          const round = and(eq(flat, 1), eq(m.geom_type.at(first), CYLINDER));
          return select(round, 0, flat, "i32");
        },
      })
    : undefined;
  const listed = (all: readonly Candidate[]): Found => ({ count: all.length, at: (i) => all[i as number] });

  const of = (kind: PairKind): PairCollider => {
    if (kind === "convex")
      return {
        slots: MOST_CONVEX_CONTACTS,
        costly: true,
        long: true,
        leans: false,
        streams: hasFields,
        collide: (a, b, reach, take) => {
          if (ahead) return take(ahead.take(), 0);
          const [first, second] = [convex(a, kinds1), convex(b, kinds2)];
          if (hasFields) prismContacts(prisms!, fieldOf(a.geom), first, second, reach, options, take);
          else take(convexContacts(first, second, reach, options), 0);
        },
      };
    if (kind === "plane-mesh")
      return {
        slots: 4,
        costly: true,
        long: true,
        leans: false,
        streams: false,
        collide: (a, b, reach, take) => take(listed(planeMesh(a, { ...b, hull: hullOf!(b.geom) }, reach)), 0),
      };
    const { slots, costly, long = false, leans = false, collide } = colliders[kind];
    const all: PairCollider["collide"] = (a, b, reach, take) => {
      if (kind !== "capsule-cylinder") return take(listed(collide(a, b, reach)), 0);
      // a formula for what MuJoCo searches, but in float64 where the capsule's axis enters the cylinder
      const deep = current().exact ? deepCapsule(options, le(reach, 0)) : undefined;
      const found = capsuleCylinder(a, b, reach, deep);
      const apart = not(ofOneCentre(a, b, options));
      take(listed(found.map((c) => ({ ...c, exists: and(c.exists, apart) }))), 0);
    };
    return { slots, costly, long, leans, streams: false, collide: all };
  };
  return { of, shape, ...(ahead && { ahead: { ...ahead, numbers } }) };
}

/** Geoms as the search takes them; `kinds` are the types that one known only at run time may be of. */
export function convexShapes(m: ModelView): {
  hullOf: ((geom: Int) => Hull) | undefined;
  convex(shape: GeomShape, kinds: readonly number[]): ConvexShape;
} {
  const { model } = m;
  const hullOf = model.hulls && hullReader(model, model.hulls, m.form.hasRoom);
  const convex = ({ geom, ...shape }: GeomShape, all: readonly number[]): ConvexShape => {
    const kinds = isNode(geom) ? all : [model.geom_type[geom]];
    const hull = kinds.includes(MESH) && hullOf ? { hull: hullOf(geom) } : {};
    return { ...shape, type: m.geom_type.at(geom), kinds, radius: m.geom_rbound.at(geom), ...hull };
  };
  return { hullOf, convex };
}

export const searchOptions = ({ opt }: Model): ConvexOptions => ({
  iterations: opt.ccd_iterations,
  tolerance: opt.ccd_tolerance,
  multiccd: (opt.disableflags & mjtDisableBit.MULTICCD) === 0,
});

/** Made where a plane first reads them: no other shape does. */
function wideTables(hulls: Hulls): Pick<HullTables, "firstWide" | "wide"> {
  let known: Required<Pick<HullTables, "firstWide" | "wide">> | undefined;
  const made = () => {
    if (known) return known;
    const { first, corners } = wideCorners(hulls);
    return (known = { firstWide: table("hull_firstwide", first, "i32"), wide: table("hull_wide", corners, "i32") });
  };
  return { firstWide: (i) => made().firstWide(i), wide: (at) => made().wide(at) };
}

/** Made where faces of a hull first read them. */
function keptTables(hulls: Hulls): Pick<HullTables, "firstKept" | "kept"> {
  let known: Required<Pick<HullTables, "firstKept" | "kept">> | undefined;
  const made = () => {
    if (known) return known;
    const { first, corners } = keptCorners(hulls);
    const numbers = corners.length > 0 ? corners : [0];
    return (known = { firstKept: table("hull_firstkept", first, "i32"), kept: table("hull_kept", numbers, "i32") });
  };
  return { firstKept: (i) => made().firstKept(i), kept: (at) => made().kept(at) };
}

/** Reads of the lists of vertices by direction: one component of a point a table, and one its vertex, side by side at one index. */
function cellReader(hulls: Hulls, { list, vertex, hasLong }: CellLists): SupportCells {
  const components = [0, 1, 2].map((k) =>
    table(
      `hull_cell_point${k}`,
      vertex.map((v) => hulls.vert[3 * v + k]),
    ),
  );
  return {
    list: table("hull_cell_list", list, "i32"),
    hasLong,
    vertex: table("hull_cell_point3", vertex, "i32"),
    point: (place) => components.map((read) => read(place)) as unknown as Vec3,
  };
}

/** Hulls that are climbed, and where, one after another. */
const climbs = madeOnce((hulls: Hulls) => {
  const climbed = Array.from(hulls.vertnum, (n, h) => (n > CLIMB_ABOVE ? h : -1)).filter((h) => h >= 0);
  const starts = climbed.flatMap((h) => {
    const first = hulls.vertadr[h];
    return climbStarts(hulls.vert.subarray(3 * first, 3 * (first + hulls.vertnum[h]))).map((v) => first + v);
  });
  return { climbed, starts };
});

/** Reads the hulls of geoms in tables that all worlds share. */
function hullReader(model: Model, hulls: Hulls, hasRoom: boolean): (geom: Int) => Hull {
  const ints = (name: Exclude<keyof Hulls, "vert" | "polynormal" | "extrema">) => {
    return table(`hull_${name}`, hulls[name], "i32");
  };
  const vec3 = (name: "vert" | "polynormal") => {
    if (hasRoom) {
      const columns = [0, 1, 2].map((k) =>
        table(
          `hull_${name}${k}`,
          hulls[name].filter((_, i) => i % 3 === k),
        ),
      );
      return (i: Int) => columns.map((read) => read(i)) as unknown as Vec3;
    }
    const read = table(`hull_${name}`, hulls[name]);
    return (i: Int) => [0, 1, 2].map((k) => read(add(mul(i, 3), k))) as unknown as Vec3;
  };
  const most = (counts: Int32Array) => counts.reduce((a, b) => Math.max(a, b), 0);
  const { climbed, starts } = climbs(hulls);
  const start = climbed.length > 0 ? halves("hull_start", Int32Array.from(starts)) : undefined;
  const lists = hasRoom ? cellLists(hulls) : undefined;
  const mostCorners = most(hulls.polyvertnum);
  const tables: HullTables = {
    vertex: vec3("vert"),
    mostVertices: most(hulls.vertnum),
    mostCorners,
    ...(mostCorners > OTHERS + 1 && wideTables(hulls)),
    // in float64 areas are told from each other as they come
    ...(mostCorners > OTHERS + 1 && !current().exact && keptTables(hulls)),
    firstNeighbour: ints("edgeadr"),
    neighbour: ints("edge"),
    ...(start && { start }),
    ...(lists && { cells: cellReader(hulls, lists) }),
    polygonNormal: vec3("polynormal"),
    firstCorner: ints("polyvertadr"),
    cornerCount: ints("polyvertnum"),
    corner: ints("polyvert"),
    firstPolygonOf: ints("polymapadr"),
    polygonCountOf: ints("polymapnum"),
    polygon: ints("polymap"),
  };
  // by geom: primitives read the first hull's, and use none of it
  const ofGeom = Array.from(model.geom_type, (type, g) =>
    type === MESH ? Math.max(0, hulls.mesh[model.geom_dataid[g]]) : 0,
  );
  const perGeom = (name: "vertadr" | "vertnum" | "polyadr" | "polynum") =>
    table(
      `geom_hull_${name}`,
      ofGeom.map((h) => hulls[name][h]),
      "i32",
    );
  const [vertadr, vertnum] = [perGeom("vertadr"), perGeom("vertnum")];
  const [polyadr, polynum] = [perGeom("polyadr"), perGeom("polynum")];
  const startadr = table(
    "geom_hull_start",
    ofGeom.map((h) => START_CELLS * Math.max(0, climbed.indexOf(h))),
    "i32",
  );
  const ofHull = (name: "firstCell" | "edge", type: "i32" | "f32") =>
    lists &&
    table(
      `geom_hull_${name}`,
      ofGeom.map((h) => lists[name][h]),
      type,
    );
  // made where a search first reads it
  let known: ((place: Int) => Int) | undefined;
  const { extrema } = hulls;
  const extreme = (place: Int): Int => {
    const starts = ofGeom.flatMap((h) => Array.from(extrema!.subarray(EXTREMA * h, EXTREMA * (h + 1))));
    return (known ??= table("geom_hull_extrema", starts, "i32"))(place);
  };
  const [firstCell, edge] = [ofHull("firstCell", "i32"), ofHull("edge", "f32")];
  return (g) => ({
    tables,
    ...(firstCell && edge && { firstCell: firstCell(g), cellsAlong: edge(g) }),
    ...(start && { firstStart: startadr(g) }),
    firstVertex: vertadr(g),
    ...(extrema && { extreme: (cell) => extreme(add(mul(g, EXTREMA), cell)) }),
    vertexCount: vertnum(g),
    firstPolygon: polyadr(g),
    polygonCount: polynum(g),
  });
}
