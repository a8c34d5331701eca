// shapes as the search sees them, their support points, and how these turn with the direction
import { breakIf, increase, loop, variable, when } from "../../../trace/control.ts";
import {
  add,
  and,
  band,
  div,
  eq,
  ge,
  gt,
  isNode,
  lt,
  max,
  mul,
  neg,
  or,
  select,
  shr,
  sqrt,
  square,
  sub,
  sum,
  toF32,
  toI32,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import { dot3, lengthSquared, scale3, select3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { vector, type VectorVariable } from "./registers.ts";
import { startCell } from "./starts.ts";
import { cellOf, LIST, partOf } from "./support-cells.ts";
import { CLIMB_ABOVE, type ConvexShape, type Hull, type Prism, type SupportCells } from "./types.ts";

/** All types of convex geoms. */
const ALL: readonly number[] = [
  mjtGeom.SPHERE,
  mjtGeom.CAPSULE,
  mjtGeom.ELLIPSOID,
  mjtGeom.CYLINDER,
  mjtGeom.BOX,
  mjtGeom.MESH,
];

/** A directions shorter than this, on a unit vector, is no direction. */
const TINY = 1e-12;

/**
 * A shape in its own frame, in units of the pair's size: a sphere and a capsule are a point and a segment, with the
 * radius apart.
 */
export interface Core {
  readonly shape: ConvexShape;
  /** Half-sizes; of hulls not used. */
  readonly half: Vec3;
  /** What surrounds the core, of spheres and capsules. */
  readonly rounding: Scalar;
  /** Read of prisms. */
  readonly prism: Prism | undefined;
  /** The unit of length inverted, 1/m. */
  readonly perSize: Scalar;
  /** The vertex of a hull where a climb begins. */
  readonly last: { get(): Int; set(v: Int): void };
  /** Which corner the last support point is: a hull's vertex, of a box a bit for each positive coordinate. */
  readonly corner: { get(): Int; set(v: Int): void };
  is(...kinds: readonly number[]): Bool;
}

/** Whether a shape is of one of these types. */
export function isKind({ type, kinds = ALL }: ConvexShape, ...of: readonly number[]): Bool {
  if (!isNode(type)) return of.includes(type);
  const possible = of.filter((k) => kinds.includes(k));
  if (possible.length === kinds.length) return true;
  return possible.map((k) => eq(type, k)).reduce<Bool>(or, false);
}

/** A shape whose faces are flat and whose edges are straight. */
export const isPolyhedron = (shape: ConvexShape): Bool => isKind(shape, mjtGeom.BOX, mjtGeom.MESH);

/** Whether a shape is of some types, as `Core.is`. */
export const coreKinds =
  (shape: ConvexShape): Core["is"] =>
  (...kinds) =>
    isKind(shape, ...kinds);

/** A shape as the search sees it. */
export function coreOf(name: string, shape: ConvexShape, perSize: Scalar): Core {
  const is = coreKinds(shape);
  const [x, y, z] = scale3(shape.size, perSize);
  const [sphere, capsule] = [is(mjtGeom.SPHERE), is(mjtGeom.CAPSULE)];
  const round = or(sphere, capsule);
  return {
    shape,
    // a cylinder's and a capsule's second size is along z
    half: [
      select(round, 0, x),
      select(or(round, is(mjtGeom.CYLINDER)), select(round, 0, x), y),
      select(sphere, 0, select(or(capsule, is(mjtGeom.CYLINDER)), y, z)),
    ],
    rounding: add(select(round, x, 0), mul(shape.inflate ?? 0, perSize)),
    prism: shape.prism && {
      corners: shape.prism.corners.map((v) => scale3(v, perSize)) as unknown as Prism["corners"],
      base: mul(shape.prism.base, perSize),
    },
    perSize,
    last: variable(`${name}_last`, shape.hull?.firstVertex ?? 0, "i32"),
    corner: variable(`${name}_corner`, 0, "i32"),
    is,
  };
}

/** Which corners of two shapes their last support points are, in numbers (`Vertex`). */
export const idsOf = (a: Core, b: Core): Vec3 => [toF32(a.corner.get()), toF32(b.corner.get()), 0];

/** The farthest point of a core in a direction, in its own frame. */
export function supportPoint(core: Core, d: Vec3): Vec3 {
  const { half, is } = core;
  const corner = half.map((h, k) => select(ge(d[k], 0), h, neg(h))) as unknown as Vec3;
  let point = corner;
  const bits = corner.map((_, k) => select(ge(d[k], 0), 1 << k, 0, "i32"));
  core.corner.set(add(bits[0], add(bits[1], bits[2])));

  const cylinder = is(mjtGeom.CYLINDER);
  if (cylinder !== false) {
    const out = div(half[0], max(sqrt(add(square(d[0]), square(d[1]))), TINY));
    point = select3(cylinder, [mul(d[0], out), mul(d[1], out), corner[2]], point);
  }
  const ellipsoid = is(mjtGeom.ELLIPSOID);
  if (ellipsoid !== false) {
    const scaled = half.map((h, k) => mul(h, d[k])) as unknown as Vec3;
    const out = div(1, max(sqrt(lengthSquared(scaled)), TINY));
    point = select3(ellipsoid, scaled.map((x, k) => mul(mul(x, half[k]), out)) as unknown as Vec3, point);
  }
  const prism = is(mjtGeom.HFIELD);
  if (prism !== false && core.prism) point = select3(prism, prismCorner(core.prism, d), point);
  const hull = is(mjtGeom.MESH);
  if (hull === false || !core.shape.hull) return point;
  const found = [0, 1, 2].map((k) => variable(`support${k}`, point[k]));
  const { tables } = core.shape.hull;
  const take = (v: Vec3) => scale3(v, core.perSize).forEach((x, k) => found[k].set(x));
  const climbed = () => {
    core.corner.set(climb(core, core.shape.hull!, d));
    take(tables.vertex(core.corner.get()));
  };
  const listed = (place: Int, v: Vec3) => {
    core.corner.set(tables.cells!.vertex(place));
    take(v);
  };
  when(hull, () => {
    if (tables.cells) amongListed(core.shape.hull!, tables.cells, d, listed, climbed);
    else climbed();
  });
  return found.map((v) => v.get()) as unknown as Vec3;
}

function prismCorner({ corners, base }: Prism, d: Vec3): Vec3 {
  const up = ge(d[2], 0);
  const level = corners.map(([x, y, z]): Vec3 => [x, y, select(up, z, base)]);
  return level.reduce((best, v) => select3(gt(dot3(v, d), dot3(best, d)), v, best));
}

/** How far a shape reaches from its centre (m) in a direction of its own frame. */
export function extent(shape: ConvexShape): (d: Vec3) => Scalar {
  const core = coreOf("extent", shape, 1);
  return (d) => add(dot3(supportPoint(core, d), d), core.rounding);
}

/** The vertex of a hull that is farthest in a direction. */
export function hullVertex(core: Core, hull: Hull, d: Vec3): Int {
  const { cells } = hull.tables;
  if (!cells) return climb(core, hull, d);
  const vertex = variable("farthest_vertex", 0, "i32");
  const climbed = () => vertex.set(climb(core, hull, d));
  amongListed(hull, cells, d, (place) => vertex.set(cells.vertex(place)), climbed);
  return vertex.get();
}

/** The list of a direction's cell: where it begins and how many vertices it has, none where there are too many for one. */
function listOf(hull: Hull, cells: SupportCells, d: Vec3): { first: Int; count: Int } {
  const cell = cellOf(d, hull.cellsAlong!);
  const list = variable("listed", cells.list(add(hull.firstCell!, cell.index)), "i32");
  const length = (): Int => toI32(band(toU32(list.get()), LIST - 1));
  const start = (): Int => toI32(shr(toU32(list.get()), Math.log2(LIST)));
  if (cells.hasLong) when(eq(length(), 0), () => list.set(cells.list(add(start(), partOf(cell)))));
  return { first: start(), count: length() };
}

/** Looks at the vertices that a direction's cell lists; `unlisted` runs where there are too many for a list. */
function amongListed(
  hull: Hull,
  cells: SupportCells,
  d: Vec3,
  take: (place: Int, point: Vec3) => void,
  unlisted: () => void,
): void {
  const { first, count } = listOf(hull, cells, d);
  const at = variable("listed_place", first, "i32");
  const highest = vector("listed_point", cells.point(first));
  loop(
    sub(count, 1),
    (i) => {
      const place = add(first, add(i, 1));
      const point = cells.point(place);
      const higher = isHigher(point, highest, d);
      at.set(select(higher, place, at.get(), "i32"));
      highest.setIf(higher, point);
    },
    { label: "listed" },
  );
  const found = () => take(at.get(), highest.get());
  if (cells.hasLong) when(gt(count, 0), found, unlisted);
  else found();
}

/** Each vertex that a direction's cell lists, and where it is, m; `unlisted` runs where there is no list. */
export function eachListed(hull: Hull, d: Vec3, take: (vertex: Int, point: Vec3) => void, unlisted: () => void): void {
  const { cells } = hull.tables;
  if (!cells) return unlisted();
  const { first, count } = listOf(hull, cells, d);
  loop(
    count,
    (i) => {
      const place = add(first, i);
      take(cells.vertex(place), cells.point(place));
    },
    { label: "listed" },
  );
  if (cells.hasLong) when(eq(count, 0), unlisted);
}

/**
 * Whether a point is higher along a direction than the highest so far. Neighbours in a flat side differ by less than
 * float32 leaves of their heights, not of the height between them.
 */
const isHigher = (point: Vec3, highest: VectorVariable, d: Vec3): Bool => gt(dot3(sub3(point, highest.get()), d), 0);

/** The same, vertex by vertex, or of many from one to the next along edges. */
function climb(core: Core, hull: Hull, d: Vec3): Int {
  const { tables, firstVertex, vertexCount } = hull;
  const at = variable("hull_vertex", firstVertex, "i32");
  const highest = vector("hull_point", tables.vertex(firstVertex));
  const look = (i: Int) => {
    const point = tables.vertex(i);
    const higher = isHigher(point, highest, d);
    at.set(select(higher, i, at.get(), "i32"));
    highest.setIf(higher, point);
  };
  const brute = () => loop(vertexCount, (i) => look(add(firstVertex, i)), { label: "vertices" });
  if (tables.mostVertices <= CLIMB_ABOVE) {
    brute();
    return at.get();
  }
  when(
    gt(vertexCount, CLIMB_ABOVE),
    () => {
      at.set(core.last.get());
      highest.set(tables.vertex(at.get()));
      if (tables.start && hull.firstStart !== undefined) look(tables.start(add(hull.firstStart, startCell(d))));
      // to the best neighbour, until there is none
      loop(
        vertexCount,
        () => {
          const from = variable("climb_from", at.get(), "i32");
          const next = variable("climb_at", tables.firstNeighbour!(from.get()), "i32");
          loop(vertexCount, () => {
            const i = tables.neighbour!(next.get());
            breakIf(lt(i, 0));
            look(i);
            increase(next, 1);
          });
          breakIf(eq(from.get(), at.get()));
        },
        { label: "climb" },
      );
      core.last.set(at.get());
    },
    brute,
  );
  return at.get();
}

/** The second derivative of a core's support function at `d` along two directions; 0 for what has no curvature. */
export function curvature(core: Core, d: Vec3, u: Vec3, v: Vec3): readonly [uu: Scalar, uv: Scalar, vv: Scalar] {
  const { half, is } = core;
  let out: readonly [Scalar, Scalar, Scalar] = [0, 0, 0];
  const cylinder = is(mjtGeom.CYLINDER);
  if (cylinder !== false) {
    // the rim turns about the axis
    const across = sqrt(add(square(d[0]), square(d[1])));
    const inverse = div(1, max(across, 1e-6));
    const tangent = (x: Vec3) => mul(sub(mul(d[0], x[1]), mul(d[1], x[0])), inverse);
    const [tu, tv] = [tangent(u), tangent(v)];
    const bend = select(and(cylinder, gt(across, 1e-6)), mul(half[0], inverse), 0);
    out = [mul(bend, square(tu)), mul(bend, mul(tu, tv)), mul(bend, square(tv))];
  }
  const ellipsoid = is(mjtGeom.ELLIPSOID);
  if (ellipsoid !== false) {
    const squares = half.map(square);
    const inverse = div(1, max(sqrt(sum(squares.map((s, k) => mul(s, square(d[k]))))), TINY));
    const point = squares.map((s, k) => mul(mul(s, d[k]), inverse)) as unknown as Vec3;
    const [pu, pv] = [dot3(point, u), dot3(point, v)];
    const form = (x: Vec3, y: Vec3, px: Scalar, py: Scalar) =>
      mul(sub(sum(squares.map((s, k) => mul(s, mul(x[k], y[k])))), mul(px, py)), inverse);
    const forms = [form(u, u, pu, pu), form(u, v, pu, pv), form(v, v, pv, pv)];
    out = forms.map((x, k) => select(ellipsoid, x, out[k])) as unknown as typeof out;
  }
  return out;
}
