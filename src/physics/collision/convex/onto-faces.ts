// the end of a search: what it found, made exact where a round shape lies on a flat face
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
  not,
  or,
  select,
  sqrt,
  square,
  sub,
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
  select3,
  sub3,
  transpose,
  type Mat3,
  type Vec3,
} from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { ROUNDING } from "./phases.ts";
import { keep, type Best } from "./record.ts";
import { supportPoint, type Core } from "./support.ts";

const { BOX, CYLINDER, ELLIPSOID } = mjtGeom;

/** Cosine from which on a normal may be that of a face. */
const ALONG = 0.9999;
/** What overlaps of one direction may differ by. */
const LEVEL = 3 * ROUNDING;
/** Sine from which on lines cross. */
const CROSSING = 0.1;
/** How far beside a face a point may lie and be on it. */
const BESIDE = 1e-5;

type Take = (h: Scalar, normal: Vec3, onFlat: Vec3, onRound: Vec3) => void;

/** Where a shape is in the frame of another. */
interface Frame {
  readonly rot: Mat3;
  readonly offset: Vec3;
}

/**
 * Where a cylinder or an ellipsoid lies on a face of a box or on a cap, the overlap has its least at the face's normal, and a
 * kink: a search comes as near as distances are known, and the round side's point is off by the root of that (1e-4 of its
 * radius). So the face's own normal is taken where it is as good, and the points that belong to it.
 */
export function ontoFaces(a: Core, b: Core, { rot, offset }: Frame, best: Best): void {
  const n = best.normal.get();
  const first: Take = (h, normal, onFlat, onRound) => keep(best, h, normal, onFlat, onRound);
  const back: Frame = { rot: transpose(rot), offset: neg3(mulMatTVec(rot, offset)) };
  const toB = (v: Vec3) => mulMatTVec(rot, sub3(v, offset));
  const toA = (v: Vec3) => add3(mulMatVec(rot, v), offset);
  const second: Take = (h, normal, onFlat, onRound) =>
    keep(best, h, neg3(mulMatVec(rot, normal)), toA(onRound), toA(onFlat));
  onto(a, b, { rot, offset }, best.h.get(), n, best.b.get(), first);
  onto(b, a, back, best.h.get(), neg3(mulMatTVec(rot, n)), toB(best.a.get()), second);
  acrossEdges(a, b, { rot, offset }, best.h.get(), n, first);
  if (a.is(CYLINDER) !== false && b.is(BOX) !== false)
    when(b.is(BOX), () => acrossEdges(b, a, back, best.h.get(), neg3(mulMatTVec(rot, n)), second));
}

/** In the frame of the flat shape: its face near the normal `n`, and the round shape's point there, which was about at `was`. */
function onto(flat: Core, round: Core, { rot, offset }: Frame, least: Scalar, n: Vec3, was: Vec3, take: Take): void {
  const [faced, rolls] = [flat.is(BOX, CYLINDER), round.is(CYLINDER, ELLIPSOID)];
  if (faced === false || rolls === false) return;
  const cap = flat.is(CYLINDER);
  const along = n.map((x, k) => and(gt(abs(x), ALONG), k < 2 ? not(cap) : true));
  when(and(and(faced, rolls), along.reduce(or)), () => {
    const normal = along.map((is, k) => select(is, select(gt(n[k], 0), 1, -1), 0)) as unknown as Vec3;
    const local = roundPoint(round, neg3(mulMatTVec(rot, normal)), mulMatTVec(rot, sub3(was, offset)));
    const at = add3(mulMatVec(rot, local), offset);
    const h = sub(dot3(flat.half, normal.map(abs) as unknown as Vec3), dot3(normal, at));
    const beside = at.map((x, k) => or(along[k], le(abs(x), add(flat.half[k], BESIDE)))).reduce(and);
    const onCap = le(sqrt(add(square(at[0]), square(at[1]))), add(flat.half[0], BESIDE));
    const over = and(beside, or(not(cap), onCap));
    when(and(over, le(h, add(least, LEVEL))), () => take(h, normal, addScaled3(at, h, normal), at));
  });
}

/**
 * In the frame of the first shape: the normal across a box's edge, or a cylinder's generator, and a cylinder's generator
 * that crosses it, which is where both end to end have a kink.
 */
function acrossEdges(flat: Core, round: Core, { rot, offset }: Frame, least: Scalar, n: Vec3, take: Take): void {
  const [edged, rolls] = [flat.is(BOX, CYLINDER), round.is(CYLINDER)];
  if (edged === false || rolls === false) return;
  const generator = column(rot, 2);
  const axes = flat.is(BOX) === false ? [2] : [0, 1, 2];
  for (const k of axes) {
    const edge = [0, 1, 2].map((j) => Number(j === k)) as unknown as Vec3;
    const normal0 = cross(generator, edge);
    const wide = norm3(normal0);
    const cosine = div(dot3(normal0, n), max(wide, CROSSING));
    const is = and(edged, k < 2 ? not(flat.is(CYLINDER)) : true);
    when(and(and(is, rolls), and(gt(wide, CROSSING), gt(abs(cosine), ALONG))), () => {
      const scale = div(select(gt(cosine, 0), 1, -1), wide);
      const normal = scale3(normal0, scale);
      const [x, y] = supportPoint(plain(round), neg3(mulMatTVec(rot, normal)));
      const [x2, y2, z2] = supportPoint(plain(flat), normal);
      const onGenerator = add3(mulMatVec(rot, [x, y, 0]), offset);
      const onEdge = [x2, y2, z2].map((p, j) => (j === k ? 0 : p)) as unknown as Vec3;
      const h = dot3(normal, sub3(onEdge, onGenerator));
      const between = addScaled3(sub3(onEdge, onGenerator), neg(h), normal);
      // the lines meet in the plane across the normal
      const along = mul(dot3(between, cross(edge, normal)), scale);
      const beside = mul(dot3(between, cross(generator, normal)), scale);
      const within = and(le(abs(along), add(round.half[2], BESIDE)), le(abs(beside), add(flat.half[k], BESIDE)));
      when(and(within, le(h, add(least, LEVEL))), () =>
        take(h, normal, addScaled3(onEdge, beside, edge), addScaled3(onGenerator, along, generator)),
      );
    });
  }
}

/** A shape that is no hull. */
function plain(core: Core): Core {
  const { hull: _hull, ...shape } = core.shape;
  return { ...core, shape };
}

/** The farthest point of a cylinder or an ellipsoid in a direction; what the direction leaves open stays as it was. */
function roundPoint(core: Core, d: Vec3, was: Vec3): Vec3 {
  const { half } = core;
  const exact = supportPoint(plain(core), d);
  const lateral = sqrt(add(square(d[0]), square(d[1])));
  const turns = or(core.is(ELLIPSOID), ge(mul(lateral, half[0]), LEVEL));
  const ends = or(core.is(ELLIPSOID), ge(mul(abs(d[2]), half[2]), LEVEL));
  return [select(turns, exact[0], was[0]), select(turns, exact[1], was[1]), select(ends, exact[2], was[2])];
}

/** An ellipsoid has one support point, where an edge or a face of the other has many, of which the search has some. */
export function facingPoints(a: Core, b: Core, best: Best): readonly [onA: Vec3, onB: Vec3] {
  const [oneOfA, oneOfB] = [a, b].map((c) => c.is(ELLIPSOID));
  const [onA, onB, between] = [best.a.get(), best.b.get(), scale3(best.normal.get(), best.h.get())];
  return [
    select3(and(oneOfB, not(oneOfA)), add3(onB, between), onA),
    select3(and(oneOfA, not(oneOfB)), sub3(onA, between), onB),
  ];
}
