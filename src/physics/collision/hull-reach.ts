// how far hulls reach along a direction, from tables: never less than they do
import { madeOnce } from "../../core/made-once.ts";
import { mjtGeom } from "../../model/enums.ts";
import type { Hulls } from "../../model/hulls.ts";
import { breakIf, loop, table, variable } from "../../trace/control.ts";
import {
  abs,
  add,
  and,
  div,
  eq,
  floor,
  ge,
  gt,
  lt,
  max,
  min,
  mul,
  select,
  sub,
  toI32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { add3, dot3, neg3, norm3, scale3, select3, sub3, type Vec3 } from "../../trace/vector.ts";
import { isBoxed, reachAlong } from "./geom-boxes.ts";
import type { ModelView } from "../view.ts";

/** Cells along each edge of a face of the cube of directions. */
const EDGE = 6;
const CELLS = 6 * EDGE * EDGE;
/** Hulls beyond which tables would take more room than they are worth. */
const MOST_HULLS = 128;
/** A direction shorter than this is none. */
const TINY = 1e-30;
/** Places of geoms that are no hulls, and of those that nothing is apart from. */
const [NO_HULL, NO_BOX] = [-1, -2];

export interface HullReach {
  /** Whether one of two geoms is a hull, and both have an end. */
  isAsked(geom1: Int, geom2: Int): Bool;
  /** How far a geom reaches from its origin along a direction of its own frame, of any length; of what is no hull `otherwise`. */
  along(geom: Int, d: Vec3, otherwise: Scalar): Scalar;
}

/**
 * By corner of a cell, how far hulls reach along the directions in which cells of the cube begin and end: along these, of which one
 * number is 1, a hull's reach is convex, so that it is nowhere more than what lies between those of the corners.
 */
const cornersOf = madeOnce(({ vert, vertadr, vertnum }: Hulls): readonly Float64Array[] => {
  const corners = [0, 1, 2, 3].map(() => new Float64Array(CELLS * vertnum.length));
  const d = new Float64Array(3);
  for (let place = 0; place < 6 * (EDGE + 1) ** 2 * vertnum.length; place++) {
    const [row, column] = [Math.floor(place / (EDGE + 1)) % (EDGE + 1), place % (EDGE + 1)];
    const face = Math.floor(place / (EDGE + 1) ** 2);
    const [hull, axis] = [Math.floor(face / 6), (face % 6) >> 1];
    d[axis] = 1 - 2 * (face & 1);
    d[(axis + 1) % 3] = (2 * row) / EDGE - 1;
    d[(axis + 2) % 3] = (2 * column) / EDGE - 1;
    let reach = -Infinity;
    for (let i = 3 * vertadr[hull], end = i + 3 * vertnum[hull]; i < end; i += 3)
      reach = Math.max(reach, d[0] * vert[i] + d[1] * vert[i + 1] + d[2] * vert[i + 2]);
    corners.forEach((of, k) => {
      const [i, j] = [row - (k & 1), column - (k >> 1)];
      if (i >= 0 && j >= 0 && i < EDGE && j < EDGE) of[(face * EDGE + i) * EDGE + j] = reach;
    });
  }
  return corners;
});

/** Reaches of a model's hulls; undefined without any, or without room. */
export function hullReach({ form, model }: ModelView): HullReach | undefined {
  const { hulls } = model;
  if (!form.hasRoom || !hulls || hulls.vertnum.length > MOST_HULLS) return undefined;
  const firsts = Array.from(model.geom_type, (type, g) => {
    if (!isBoxed(model, g)) return NO_BOX;
    const hull = type === mjtGeom.MESH ? hulls.mesh[model.geom_dataid[g]] : NO_HULL;
    return hull < 0 ? NO_HULL : hull * CELLS;
  });
  const first = table("reach_first", firsts, "i32");
  const corners = cornersOf(hulls).map((values, k) => table(`reach${k}`, values));
  return {
    isAsked(geom1, geom2) {
      const [a, b] = [first(geom1), first(geom2)];
      return and(ge(max(a, b), 0), gt(min(a, b), NO_BOX));
    },
    along(geom, d, otherwise) {
      const [x, y, z] = d.map(abs);
      const longest = max(max(x, y), max(z, TINY));
      const [isX, isY] = [ge(x, max(y, z)), ge(y, z)];
      const turned = (k: number): Vec3 => [d[k], d[(k + 1) % 3], d[(k + 2) % 3]];
      const [along, ...across] = select3(isX, turned(0), select3(isY, turned(1), turned(2)));
      const face = add(select(isX, 0, select(isY, 2, 4)), select(lt(along, 0), 1, 0));
      const at = across.map((u) => mul(EDGE / 2, add(div(u, longest), 1)));
      const cell = at.map((u) => max(0, min(EDGE - 1, floor(u))));
      const [u, v] = at.map((from, k) => sub(from, cell[k]));
      const place = toI32(add(mul(add(mul(face, EDGE), cell[0]), EDGE), cell[1]));
      const begins = first(geom);
      const [low, lowNext, high, highNext] = corners.map((read) => read(add(max(begins, 0), place)));
      const between = (from: Scalar, to: Scalar, share: Scalar) => add(from, mul(share, sub(to, from)));
      const reach = mul(longest, between(between(low, lowNext, u), between(high, highNext, u), v));
      return select(ge(begins, 0), reach, otherwise);
    },
  };
}

/** A box about a geom, turned as it is. */
export interface Box {
  readonly geom: Int;
  /** Where the geom is, and the centre of its box. */
  readonly pos: Vec3;
  readonly at: Vec3;
  readonly axes: readonly Vec3[];
  readonly half: Vec3;
  /** Half axes of the ellipsoid about it, if any. */
  readonly round: Vec3 | undefined;
}

/**
 * Whether hulls are farther apart than `reach`, in units of a direction of length 1: along the way from box to box and a normal of
 * their faces together, then along each of the two.
 */
export function hullsApart(hulls: HullReach, [a, b]: readonly Box[], normal: Vec3, offset: Vec3, reach: Scalar): Bool {
  const apart = variable("hulls_apart", 0, "i32");
  const way = scale3(offset, div(1, max(norm3(offset), TINY)));
  const side = select(lt(dot3(offset, normal), 0), -1, 1);
  const extent = ({ geom, axes, half, round }: Box, d: Vec3) => {
    const own = axes.map((u) => dot3(u, d)) as unknown as Vec3;
    const otherwise = reachAlong(half, round, (k) => own[k]);
    return hulls.along(geom, own, otherwise);
  };
  loop(
    3,
    (turn) => {
      const d = add3(scale3(way, select(eq(turn, 2), 0, 1)), scale3(normal, select(eq(turn, 1), 0, side)));
      const most = add(add(extent(a, d), extent(b, neg3(d))), mul(reach, select(eq(turn, 0), 2, 1)));
      const isApart = gt(dot3(sub3(b.pos, a.pos), d), most);
      apart.set(select(isApart, 1, 0, "i32"));
      breakIf(isApart);
    },
    { label: "hulls" },
  );
  return eq(apart.get(), 1);
}
