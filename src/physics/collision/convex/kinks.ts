// the tools of a search's end: round points in a direction, and places where edges cross generators of cylinders
import { when } from "../../../trace/control.ts";
import {
  abs,
  add,
  and,
  div,
  ge,
  gt,
  le,
  max,
  mul,
  neg,
  or,
  select,
  sqrt,
  square,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  add3,
  addScaled3,
  column,
  cross,
  dot3,
  mulMatTVec,
  mulMatVec,
  neg3,
  norm3,
  scale3,
  sub3,
  type Mat3,
  type Vec3,
} from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { ROUNDING } from "./phases.ts";
import { supportPoint, type Core } from "./support.ts";

const { ELLIPSOID } = mjtGeom;

/** Cosine from which on a normal may be that of a face. */
export const ALONG = 0.9999;
/** What overlaps of one direction may differ by. */
export const LEVEL = 3 * ROUNDING;
/** Sine from which on lines cross. */
const CROSSING = 0.1;
/** How far beside a face a point may lie and be on it. */
export const BESIDE = 1e-5;

export type Take = (h: Scalar, normal: Vec3, onFlat: Vec3, onRound: Vec3) => void;

/** Where a shape is in the frame of another. */
export interface Frame {
  readonly rot: Mat3;
  readonly offset: Vec3;
}

/** A straight edge, or a cylinder's generator. */
export interface Edge {
  readonly along: Vec3;
  /** Its middle; of those that are alike the one at the far end of a direction. */
  middle(normal: Vec3): Vec3;
  readonly half: Scalar;
}

/** The normal across an edge and a generator of a cylinder that crosses it, where it is as good as what a search found. */
export function acrossEdge(
  is: Bool,
  { along: edge, middle, half }: Edge,
  round: Core,
  { rot, offset }: Frame,
  least: Scalar,
  n: Vec3,
  take: Take,
): void {
  const generator = column(rot, 2);
  const normal0 = cross(generator, edge);
  const wide = norm3(normal0);
  const cosine = div(dot3(normal0, n), max(wide, CROSSING));
  when(and(is, and(gt(wide, CROSSING), gt(abs(cosine), ALONG))), () => {
    const scale = div(select(gt(cosine, 0), 1, -1), wide);
    const normal = scale3(normal0, scale);
    const [x, y] = supportPoint(plain(round), neg3(mulMatTVec(rot, normal)));
    const onEdge = middle(normal);
    const onGenerator = add3(mulMatVec(rot, [x, y, 0]), offset);
    const h = dot3(normal, sub3(onEdge, onGenerator));
    const between = addScaled3(sub3(onEdge, onGenerator), neg(h), normal);
    // the lines meet in the plane across the normal
    const along = mul(dot3(between, cross(edge, normal)), scale);
    const beside = mul(dot3(between, cross(generator, normal)), scale);
    const within = and(le(abs(along), add(round.half[2], BESIDE)), le(abs(beside), add(half, BESIDE)));
    when(and(within, le(h, add(least, LEVEL))), () =>
      take(h, normal, addScaled3(onEdge, beside, edge), addScaled3(onGenerator, along, generator)),
    );
  });
}

/** A shape that is no hull. */
export function plain(core: Core): Core {
  const { hull: _hull, ...shape } = core.shape;
  return { ...core, shape };
}

/** The farthest point of a cylinder or an ellipsoid in a direction; what the direction leaves open stays as it was. */
export function roundPoint(core: Core, d: Vec3, was: Vec3): Vec3 {
  const { half } = core;
  const exact = supportPoint(plain(core), d);
  const lateral = sqrt(add(square(d[0]), square(d[1])));
  const turns = or(core.is(ELLIPSOID), ge(mul(lateral, half[0]), LEVEL));
  const ends = or(core.is(ELLIPSOID), ge(mul(abs(d[2]), half[2]), LEVEL));
  return [select(turns, exact[0], was[0]), select(turns, exact[1], was[1]), select(ends, exact[2], was[2])];
}
