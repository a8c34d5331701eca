// one search of two shapes where they are in the world
import {
  add,
  and,
  band,
  bitcastF32,
  bitcastU32,
  div,
  max,
  mul,
  select,
  sub,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  addScaled3,
  add3,
  mulMat,
  mulMatTVec,
  mulMatVec,
  scale3,
  sub3,
  transpose,
  type Vec3,
} from "../../../trace/vector.ts";
import type { Placed } from "./faces.ts";
import { polytope, type Polytope } from "./polytope.ts";
import type { Found } from "./record.ts";
import type { Frame } from "./kinks.ts";
import { search } from "./search.ts";
import { coreOf, isPolyhedron, type Core } from "./support.ts";
import type { ConvexDistance, ConvexOptions, ConvexShape } from "./types.ts";

/** The bits of a float32 that hold its power of two. */
const EXPONENT = 0x7f800000;

/** What a search found, global. */
export interface Located extends ConvexDistance {
  readonly hit: Bool;
  readonly turns: Scalar;
  /** The pair in units of `size` (m) and the frame of the first shape, from which `place` leads back. */
  readonly pair: Placed;
  readonly found: Found;
  readonly size: Scalar;
  place(v: Vec3): Vec3;
}

/** Two shapes as the search sees them: in units of `size`, the second's frame in the first's. */
export function pairFrame(a: ConvexShape, b: ConvexShape) {
  const sum = max(add(a.radius, b.radius), 1e-12);
  // in units of a power of two the corners of boxes and hulls are exact, and flat faces flat
  const flat = and(isPolyhedron(a), isPolyhedron(b));
  const size = select(flat, bitcastF32(band(bitcastU32(sum), EXPONENT)), sum);
  const perSize = div(1, size);
  const [first, second] = [coreOf("a", a, perSize), coreOf("b", b, perSize)];
  const rounding = add(first.rounding, second.rounding);
  const rot = mulMat(transpose(a.mat), b.mat);
  const offset = scale3(mulMatTVec(a.mat, sub3(b.pos, a.pos)), perSize);
  return { size, perSize, first, second, rounding, frame: { rot, offset } };
}

/** Finds two shapes' signed distance, both in units of their pair's size. */
export type Finder = (a: Core, b: Core, second: Frame, reach: Scalar) => Found;

/** Searches two shapes for their signed distance up to `reach`. */
export function locate(a: ConvexShape, b: ConvexShape, reach: Scalar, find: Finder): Located {
  const { size, perSize, first, second, rounding, frame } = pairFrame(a, b);
  const found = find(first, second, frame, add(mul(reach, perSize), rounding));
  const normal = mulMatVec(a.mat, found.normal);
  const place = (v: Vec3) => add3(a.pos, scale3(mulMatVec(a.mat, v), size));
  return {
    hit: found.hit,
    dist: mul(sub(found.distance, rounding), size),
    normal,
    from: place(addScaled3(found.a, first.rounding, found.normal)),
    to: place(addScaled3(found.b, mul(-1, second.rounding), found.normal)),
    turns: found.turns,
    pair: { a: first, b: second, ...frame },
    found,
    size,
    place,
  };
}

/** Distance, normal and nearest points of two convex shapes, apart or overlapping (mj_geomDistance). */
export function convexDistance(a: ConvexShape, b: ConvexShape, reach: Scalar, options: ConvexOptions): Located {
  return locate(a, b, reach, searching(options, polytope()));
}

/** Searches each pair where it is asked for. */
export const searching =
  (options: ConvexOptions, p: Polytope): Finder =>
  (a, b, second, reach) =>
    search(a, b, second, reach, options, p);
