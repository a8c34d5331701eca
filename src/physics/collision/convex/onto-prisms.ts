// the end of a search in a height field: what it found, made exact where a round shape lies on a face or an edge of a prism
import { loop, when } from "../../../trace/control.ts";
import { abs, add, and, eq, ge, gt, le, mul, neg, sub, type Int, type Scalar } from "../../../trace/scalar.ts";
import {
  add3,
  addScaled3,
  cross,
  dot3,
  mulMatTVec,
  mulMatVec,
  neg3,
  norm3,
  scale3,
  select3,
  sub3,
  type Vec3,
} from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { direction } from "./directions.ts";
import { acrossEdge, ALONG, BESIDE, LEVEL, plain, roundPoint, type Edge, type Frame, type Take } from "./kinks.ts";
import { newtonStep } from "./newton.ts";
import { FACING } from "./phases.ts";
import { keep, type Best } from "./record.ts";
import { supportPoint, type Core } from "./support.ts";
import type { Prism } from "./types.ts";

const { CYLINDER, ELLIPSOID, HFIELD } = mjtGeom;
/** Steps from a normal that is right to 1e-3. */
const ROLLS = 2;

/** As `ontoFaces`, of a prism, which is the first shape: its top and its walls, and its upper edges. */
export function ontoPrisms(a: Core, b: Core, frame: Frame, best: Best): void {
  const [isPrism, rolls] = [a.is(HFIELD), b.is(CYLINDER, ELLIPSOID)];
  if (isPrism === false || rolls === false || !a.prism) return;
  const prism = a.prism;
  const take: Take = (h, normal, onPrism, onRound) => keep(best, h, normal, onPrism, onRound);
  when(and(isPrism, rolls), () => {
    const [n, least] = [best.normal.get(), best.h.get()];
    onto(prism, b, frame, least, n, best.b.get(), take);
    loop(
      3,
      (i) => {
        const { from, to, opposite } = sideOf(prism, i);
        const [whole, at] = [sub3(to, from), scale3(add3(from, to), 0.5)];
        const edge = { along: direction(whole), middle: () => at, half: mul(0.5, norm3(whole)) };
        // an edge of a valley is not where the prism ends
        const outer: Take = (h, normal, onPrism, onRound) =>
          when(and(le(dot3(normal, sub3(opposite, at)), LEVEL), ge(normal[2], 0)), () =>
            take(h, normal, onPrism, onRound),
          );
        rollOnEdge(a, b, edge, frame, least, n, outer);
        if (b.is(CYLINDER) !== false) acrossEdge(b.is(CYLINDER), edge, b, frame, least, n, outer);
      },
      { label: "prism_edges" },
    );
  });
}

/** An upper edge, and the normal of the wall below it. */
function sideOf({ corners }: Prism, i: Int) {
  const corner = (by: number) => {
    const [c0, c1, c2] = [0, 1, 2].map((k) => corners[(k + by) % 3]);
    return select3(eq(i, 0), c0, select3(eq(i, 1), c1, c2));
  };
  const [from, to, opposite] = [corner(0), corner(1), corner(2)];
  const normal = direction([sub(to[1], from[1]), sub(from[0], to[0]), 0]);
  const inward = gt(dot3(normal, sub3(opposite, from)), 0);
  return { from, to, opposite, normal: select3(inward, neg3(normal), normal) };
}

/** The face near the normal `n`, and the round shape's point there, which was about at `was`. */
function onto(prism: Prism, round: Core, { rot, offset }: Frame, least: Scalar, n: Vec3, was: Vec3, take: Take): void {
  const [c0, c1, c2] = prism.corners;
  const over = direction(cross(sub3(c1, c0), sub3(c2, c0)));
  const top = { normal: select3(ge(over[2], 0), over, neg3(over)), from: c0 };
  const faces = [top, ...[0, 1, 2].map((i) => sideOf(prism, i))];
  const { normal, from } = faces.reduce((best, face) => {
    const nearer = gt(dot3(face.normal, n), dot3(best.normal, n));
    return { normal: select3(nearer, face.normal, best.normal), from: select3(nearer, face.from, best.from) };
  }, top);
  when(gt(dot3(normal, n), ALONG), () => {
    const local = roundPoint(round, neg3(mulMatTVec(rot, normal)), mulMatTVec(rot, sub3(was, offset)));
    const at = add3(mulMatVec(rot, local), offset);
    const h = dot3(normal, sub3(from, at));
    const on = addScaled3(at, h, normal);
    const beside = faces.map((face) => le(dot3(face.normal, sub3(on, face.from)), BESIDE)).reduce(and);
    const above = ge(on[2], sub(prism.base, BESIDE));
    when(and(and(beside, above), le(h, add(least, LEVEL))), () => take(h, normal, on, at));
  });
}

/** The normal across an edge whose overlap is least, and the round shape's point there. */
function rollOnEdge(a: Core, b: Core, edge: Edge, { rot, offset }: Frame, least: Scalar, n: Vec3, take: Take): void {
  const axis = edge.along;
  const across = (v: Vec3) => direction(addScaled3(v, neg(dot3(v, axis)), axis));
  const line = { exists: true, axis, across, facing: (onA: Vec3, onB: Vec3) => [onA, onB] as const };
  const first = across(n);
  when(gt(dot3(first, n), ALONG), () => {
    const look = (normal: Vec3) => {
      const local = supportPoint(plain(b), neg3(mulMatTVec(rot, normal)));
      const at = add3(mulMatVec(rot, local), offset);
      const apart = sub3(edge.middle(normal), at);
      const h = dot3(normal, apart);
      return { at, h, slope: addScaled3(apart, neg(h), normal) };
    };
    let normal = first;
    for (let k = 0; k < ROLLS; k++) {
      const { h, slope } = look(normal);
      normal = newtonStep({ a, b, rot, line }, true, normal, h, slope).to;
    }
    const { at, h, slope } = look(normal);
    const beside = neg(dot3(slope, axis));
    const faces = le(abs(dot3(slope, cross(axis, normal))), FACING);
    const within = and(le(abs(beside), add(edge.half, BESIDE)), faces);
    when(and(within, le(h, add(least, LEVEL))), () =>
      take(h, normal, addScaled3(edge.middle(normal), beside, axis), at),
    );
  });
}
