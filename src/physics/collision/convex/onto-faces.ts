// the end of a search: what it found, made exact where a round shape lies on a flat face
import { when } from "../../../trace/control.ts";
import { abs, add, and, gt, le, not, or, select, sqrt, square, sub, type Scalar } from "../../../trace/scalar.ts";
import {
  add3,
  addScaled3,
  dot3,
  mulMatTVec,
  mulMatVec,
  neg3,
  scale3,
  select3,
  sub3,
  transpose,
  type Vec3,
} from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { acrossEdge, ALONG, BESIDE, LEVEL, plain, roundPoint, type Frame, type Take } from "./kinks.ts";
import { ontoPrisms } from "./onto-prisms.ts";
import { keep, type Best } from "./record.ts";
import { supportPoint, type Core } from "./support.ts";

const { BOX, CYLINDER, ELLIPSOID } = mjtGeom;

/**
 * Where a cylinder or an ellipsoid lies on a face of a box or on a cap, the overlap has its least at the face's normal, and a
 * kink: a search comes as near as distances are known, and the round side's point is off by the root of that (1e-4 of its
 * radius). So the face's own normal is taken where it is as good, and the points that belong to it.
 */
export function ontoFaces(a: Core, b: Core, { rot, offset }: Frame, best: Best): void {
  ontoPrisms(a, b, { rot, offset }, best);
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
  const axes = flat.is(BOX) === false ? [2] : [0, 1, 2];
  for (const k of axes) {
    const edge = [0, 1, 2].map((j) => Number(j === k)) as unknown as Vec3;
    const is = and(edged, k < 2 ? not(flat.is(CYLINDER)) : true);
    const middle = (normal: Vec3) =>
      supportPoint(plain(flat), normal).map((p, j) => (j === k ? 0 : p)) as unknown as Vec3;
    acrossEdge(and(is, rolls), { along: edge, middle, half: flat.half[k] }, round, { rot, offset }, least, n, take);
  }
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
