// flat faces of boxes, cylinders (caps are polygons) and hulls, in the frame of the first shape of a pair
import { breakIf, increase, loop, table, variable, when } from "../../../trace/control.ts";
import {
  abs,
  add,
  and,
  band,
  div,
  eq,
  ge,
  gt,
  idiv,
  lt,
  max,
  min,
  mul,
  ne,
  neg,
  select,
  sqrt,
  square,
  sub,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  add3,
  addScaled3,
  mulMatTVec,
  mulMatVec,
  scale3,
  select3,
  type Mat3,
  type Vec3,
} from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import type { Found } from "./record.ts";
import { vector } from "./registers.ts";
import { coreOf, hullVertex, type Core } from "./support.ts";
import type { ConvexShape } from "./types.ts";

/** MuJoCo takes the cap of a cylinder for a polygon of this many corners. */
export const CAP_CORNERS = 16;
/** Cosines of their angles as MuJoCo has them, to fifteen digits: in float64 the last one picks which corners are kept. */
const [C, UPPER, LOWER, S] = [923879532511287, 707106781186548, 707106781186547, 382683432365090].map((x) => x / 1e15);
const CAP_COSINES = [1, C, UPPER, S, 0, -S, -LOWER, -C, -1, -C, -UPPER, -S, 0, S, LOWER, C];
const BOX_CORNERS = 4;
/** The corners of a box's faces (+x, -x, +y, ...) as MuJoCo lists them; a bit for each positive coordinate. */
const BOX_FACES = [7, 3, 1, 5, 2, 6, 4, 0, 2, 3, 7, 6, 4, 5, 1, 0, 6, 7, 5, 4, 3, 2, 0, 1];
/** Square of the sine below which a direction is a cap's normal by all that float32 tells. */
const FLUSH = 1e-10;
/** A cylinder's cap faces its contact if their normals are less than 87 degrees apart, its side beyond 84. */
const CAP = 0.05;
const SIDE = 0.1;

/** Corners this near to the farthest one in height, in sizes of the pair, are level with it: what float32 tells apart. */
export const LEVEL = 5e-7;

/** Two shapes, the second placed in the frame of the first, or both in the world. */
export interface Placed {
  readonly a: Core;
  readonly b: Core;
  readonly rot: Mat3;
  readonly offset: Vec3;
  /** Where the first is, if not at the origin. */
  readonly first?: { readonly rot: Mat3; readonly offset: Vec3 };
}

/** Two shapes where they are in the world, in m. */
export const inTheWorld = (a: ConvexShape, b: ConvexShape): Placed => ({
  a: coreOf("world_a", a, 1),
  b: coreOf("world_b", b, 1),
  rot: b.mat,
  offset: b.pos,
  first: { rot: a.mat, offset: a.pos },
});

/** Corners at one height. */
export interface Level {
  readonly corners: Int;
  /** How many of them are corners of no polygon, since they lie flat between others: of hulls alone. */
  readonly bare: Int;
  /** One of them, of a polygon if any is. */
  readonly vertex: Int;
}

/** Faces of side 0 and 1 of a pair. */
export interface Faces {
  /** Whether one of the shapes may be a hull with polygons. */
  readonly hasHull: boolean;
  /** What of a box or a hull is level at its far end along a direction. */
  level(side: Int, out: Vec3, isLevel: (corner: Vec3) => Bool): Level;
  /** Faces that may hold those corners: all of a box, those about a vertex of a hull. */
  about(side: Int, vertex: Int): { count: Int; face(i: Int): Int };
  normal(side: Int, face: Int): Vec3;
  corners(side: Int, face: Int): Int;
  /** Corners run clockwise seen from outside. */
  corner(side: Int, face: Int, k: Int): Vec3;
  /** Whether a corner of a hull is one of no polygon, since it lies flat between others. */
  isBare(side: Int, id: Int): Bool;
  /** Which corner of a box or a hull that is (`Core.corner`), and where such a corner is. */
  cornerId(side: Int, face: Int, k: Int): Int;
  cornerOf(side: Int, id: Int): Vec3;
  /** Where the edge of a box or a hull leads that a face about a corner stands for; `next` is the face's next corner. */
  edgeEnd(side: Int, face: Int, corner: Vec3, next: Vec3): Vec3;
  /**
   * Of a polygon that begins with the corner `first`, counted on and on, and goes on in the order of its corners or back:
   * which four are kept (`keptCorners`), -1 if that is not known.
   */
  kept?(side: Int, face: Int, first: Int, back?: boolean): Int;
  isBox(side: Int): Bool;
  isCylinder(side: Int): Bool;
  /** Of a cylinder at a contact along a direction out of it: whether its side meets it, whether its cap does, which, whether straight along that, and the generator there, or at the `rim`. */
  cylinder(
    side: Int,
    out: Vec3,
    rim?: Found["rim"],
  ): { side: Bool; cap: Bool; flush: Bool; face: Int; ends: readonly [Vec3, Vec3] };
}

export function facesOf({ a, b, rot, offset, first }: Placed): Faces {
  const pick = <T extends Scalar>(side: Int, x: T, y: T): Scalar => select(eq(side, 0), x, y);
  const whole = (side: Int, x: Int, y: Int): Int => select(eq(side, 0), x, y, "i32");
  const is = (side: Int, kind: number): Bool =>
    ne(select(eq(side, 0), select(a.is(kind), 1, 0, "i32"), select(b.is(kind), 1, 0, "i32"), "i32"), 0);
  const possible = (kind: number) => a.is(kind) !== false || b.is(kind) !== false;
  const half = (side: Int): Vec3 => a.half.map((x, k) => pick(side, x, b.half[k])) as unknown as Vec3;
  const [hullA, hullB] = [a.shape.hull, b.shape.hull];
  const tables = (hullA ?? hullB)?.tables;
  const firstPolygon = (side: Int) => whole(side, hullA?.firstPolygon ?? 0, hullB?.firstPolygon ?? 0);
  const turnFirst = (v: Vec3): Vec3 => (first ? mulMatVec(first.rot, v) : v);
  const placeFirst = (v: Vec3): Vec3 => (first ? add3(turnFirst(v), first.offset) : v);
  const turnOut = (side: Int, v: Vec3): Vec3 => select3(eq(side, 0), turnFirst(v), mulMatVec(rot, v));
  const place = (side: Int, v: Vec3): Vec3 => select3(eq(side, 0), placeFirst(v), add3(mulMatVec(rot, v), offset));
  const signs = (bits: Int): Vec3 =>
    [1, 2, 4].map((bit) => select(eq(band(toU32(bits), bit), 0), -1, 1)) as unknown as Vec3;
  const hasHull = possible(mjtGeom.MESH) && tables !== undefined && tables.mostCorners > 0;
  const hasCylinder = possible(mjtGeom.CYLINDER);
  const isCylinder = (side: Int): Bool => hasCylinder && is(side, mjtGeom.CYLINDER);
  /** What a hull says where the side is one. */
  const orOfHull = (side: Int, otherwise: Vec3, hull: () => Vec3): Vec3 => {
    if (!hasHull) return otherwise;
    const out = vector("of_face", otherwise);
    when(is(side, mjtGeom.MESH), () => out.set(hull()));
    return out.get();
  };
  const cosine = table("cap_cosine", CAP_COSINES);
  const boxCorners = table("box_corner", BOX_FACES, "i32");
  const boxCorner = (face: Int, k: Int): Int => boxCorners(min(add(mul(face, BOX_CORNERS), k), BOX_FACES.length - 1));
  const hullCorner = (side: Int, face: Int, k: Int): Int => {
    const polygon = add(firstPolygon(side), face);
    const back = sub(sub(tables!.cornerCount!(polygon), 1), k);
    return tables!.corner!(add(tables!.firstCorner!(polygon), back));
  };

  return {
    hasHull,
    level(side, out, isLevel) {
      const h = half(side);
      const local = select3(eq(side, 0), out, mulMatTVec(rot, out));
      const [corners, bare, vertex] = ["level_corners", "bare_corners", "level_vertex"].map((name) =>
        variable(name, 0, "i32"),
      );
      const flat = h.map((x, k) => select(lt(mul(2, mul(x, abs(local[k]))), LEVEL), 2, 1, "i32"));
      corners.set(mul(flat[0], mul(flat[1], flat[2])));
      bare.set(0);
      when(is(side, mjtGeom.MESH), () => {
        [a, b].forEach((core, end) => {
          if (core.shape.hull) when(eq(side, end), () => vertex.set(hullVertex(core, core.shape.hull!, local)));
        });
        const polygons = tables!.polygonCountOf!;
        const bareness = (v: Int) => select(eq(polygons(v), 0), 1, 0, "i32");
        corners.set(1);
        bare.set(bareness(vertex.get()));
        const next = variable("level_next", 0, "i32");
        next.set(tables!.firstNeighbour!(vertex.get()));
        loop(tables!.mostVertices, () => {
          const v = tables!.neighbour!(next.get());
          breakIf(lt(v, 0));
          increase(next, 1);
          when(isLevel(place(side, scale3(tables!.vertex(v), a.perSize))), () => {
            increase(corners, 1);
            increase(bare, bareness(v));
            vertex.set(select(eq(polygons(vertex.get()), 0), v, vertex.get(), "i32"));
          });
        });
      });
      return { corners: corners.get(), bare: bare.get(), vertex: vertex.get() };
    },
    about(side, vertex) {
      if (!hasHull) return { count: 6, face: (i) => i };
      const hull = is(side, mjtGeom.MESH);
      const face = (i: Int): Int => {
        const at = variable("face_about", 0, "i32");
        at.set(i);
        when(hull, () => at.set(sub(tables.polygon!(add(tables.firstPolygonOf!(vertex), i)), firstPolygon(side))));
        return at.get();
      };
      const count = variable("faces_about", 0, "i32");
      count.set(6);
      when(hull, () => count.set(tables.polygonCountOf!(vertex)));
      return { count: count.get(), face };
    },
    normal(side, face) {
      const sign = select(eq(band(toU32(face), 1), 1), -1, 1);
      const axis = idiv(face, 2);
      const box = [0, 1, 2].map((k) => select(eq(axis, k), sign, 0)) as unknown as Vec3;
      // the first cap is the lower one
      const plain = select3(isCylinder(side), [0, 0, neg(sign)], box);
      return turnOut(
        side,
        orOfHull(side, plain, () => tables!.polygonNormal!(add(firstPolygon(side), face))),
      );
    },
    corners(side, face) {
      const count = variable("face_corners", select(isCylinder(side), CAP_CORNERS, BOX_CORNERS, "i32"), "i32");
      if (hasHull) when(is(side, mjtGeom.MESH), () => count.set(tables.cornerCount!(add(firstPolygon(side), face))));
      return count.get();
    },
    corner(side, face, k) {
      const h = half(side);
      const at = signs(boxCorner(face, k));
      const top = eq(face, 1);
      // from the first axis on, clockwise seen from outside
      const i = min(k, CAP_CORNERS - 1);
      const quarter = add(i, (3 * CAP_CORNERS) / 4);
      const sine = cosine(select(lt(quarter, CAP_CORNERS), quarter, sub(quarter, CAP_CORNERS), "i32"));
      const y = mul(h[0], sine);
      const cap: Vec3 = [mul(h[0], cosine(i)), select(top, neg(y), y), select(top, h[2], neg(h[2]))];
      const box = h.map((x, c) => mul(x, at[c])) as unknown as Vec3;
      const ofHull = () => scale3(tables!.vertex(hullCorner(side, face, k)), a.perSize);
      return place(side, orOfHull(side, select3(isCylinder(side), cap, box), ofHull));
    },
    isBare(side, id) {
      if (!hasHull) return false;
      const polygons = variable("polygons_about", 1, "i32");
      polygons.set(1);
      when(is(side, mjtGeom.MESH), () => polygons.set(tables.polygonCountOf!(id)));
      return eq(polygons.get(), 0);
    },
    cornerId(side, face, k) {
      const id = variable("corner_id", boxCorner(face, k), "i32");
      if (hasHull) when(is(side, mjtGeom.MESH), () => id.set(hullCorner(side, face, k)));
      return id.get();
    },
    cornerOf(side, id) {
      const box = half(side).map((x, c) => mul(x, signs(id)[c])) as unknown as Vec3;
      return place(
        side,
        orOfHull(side, box, () => scale3(tables!.vertex(id), a.perSize)),
      );
    },
    edgeEnd(side, face, corner, next) {
      const axis = idiv(face, 2);
      const h = half(side);
      const width = select(eq(axis, 0), h[0], select(eq(axis, 1), h[1], h[2]));
      const across = addScaled3(corner, mul(-2, width), this.normal(side, face));
      return select3(hasHull && is(side, mjtGeom.MESH), next, across);
    },
    ...(hasHull &&
      tables.firstKept && {
        kept(side: Int, face: Int, first: Int, back = false) {
          const found = variable("face_kept", -1, "i32");
          found.set(-1);
          const polygon = add(firstPolygon(side), face);
          when(and(is(side, mjtGeom.MESH), ge(tables.firstKept!(polygon), 0)), () => {
            const count = tables.cornerCount!(polygon);
            const turns = sub(first, mul(count, idiv(first, count)));
            // those that go back follow: they go on in the polygon's own order
            const at = back ? sub(sub(mul(2, count), 1), turns) : turns;
            found.set(tables.kept!(add(tables.firstKept!(polygon), at)));
          });
          return found.get();
        },
      }),
    isBox: (side) => is(side, mjtGeom.BOX),
    isCylinder,
    cylinder(side, out, rim) {
      const h = half(side);
      const local = select3(eq(side, 0), out, mulMatTVec(rot, out));
      const rise = local[2];
      // the generator that the direction points at
      const slant = add(square(local[0]), square(local[1]));
      const along = scale3([local[0], local[1], 0], div(h[0], max(sqrt(slant), 1e-12)));
      const across = rim ? select3(rim.is, select3(eq(side, 0), rim.at[0], rim.at[1]), along) : along;
      const end = (z: Scalar): Vec3 => place(side, [across[0], across[1], z]);
      return {
        side: lt(abs(rise), SIDE),
        cap: gt(abs(rise), CAP),
        flush: lt(slant, FLUSH),
        face: select(gt(rise, 0), 1, 0, "i32"),
        ends: [end(h[2]), end(neg(h[2]))],
      };
    },
  };
}
