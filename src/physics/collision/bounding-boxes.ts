// whether the boxes about two geoms are apart: tighter than their spheres where shapes are long or flat
import { mjtGeom } from "../../model/enums.ts";
import { variable, when } from "../../trace/control.ts";
import {
  abs,
  add,
  and,
  eq,
  gt,
  max,
  mul,
  not,
  or,
  select,
  sqrt,
  square,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { add3, column, dot3, mulMatVec, select3, sub3, type Vec3 } from "../../trace/vector.ts";
import type { GeomPairs, PairNumbers } from "../../model/pairs.ts";
import { vector } from "./convex/registers.ts";
import { boxesOf, reachAlong, ROUNDING } from "./geom-boxes.ts";
import { hullReach, hullsApart, type Box } from "./hull-reach.ts";
import type { GeomFrames } from "./geom-frames.ts";
import type { ModelView } from "../view.ts";

const { PLANE, BOX } = mjtGeom;
const NEXT = [1, 2, 0] as const;
/** Products of differences round more than distances along a face's normal. */
const EDGES_ROUND = 4;
/** Hulls apart by this share of the bounding radii are apart for a search too, whatever rounding says (SLACK). */
const HULLS_ROUND = 4e-5;

/** Says of two geoms, the lower mjtGeom first, at indices known while tracing or only at run time. */
export type BoxTest = (geom1: Int, geom2: Int, reach: Scalar) => Bool;

/** How far a box reaches along what crosses its axis `p` or `q` and an edge of another. */
function reachAcross({ half, round }: Box, p: number, q: number, ofP: Scalar, ofQ: Scalar): Scalar {
  const flat = add(mul(half[p], ofP), mul(half[q], ofQ));
  return round ? add(flat, sqrt(add(square(mul(round[p], ofP)), square(mul(round[q], ofQ))))) : flat;
}

/** Whether two boxes are farther apart than `reach` across an edge of each; of edges that are parallel none are. */
function edgesApart(a: Box, b: Box, offset: Vec3, reach: Scalar): Bool {
  const rot = a.axes.map((u) => b.axes.map((v) => dot3(u, v)));
  const size = rot.map((row) => row.map(abs));
  const t = a.axes.map((u) => dot3(offset, u));
  const across = (i: number, j: number): Bool => {
    const [p, q] = [NEXT[i], NEXT[NEXT[i]]];
    const [r, s] = [NEXT[j], NEXT[NEXT[j]]];
    const along = abs(sub(mul(t[q], rot[p][j]), mul(t[p], rot[q][j])));
    const mine = reachAcross(a, p, q, size[q][j], size[p][j]);
    const other = reachAcross(b, r, s, size[i][s], size[i][r]);
    return gt(along, add(add(mine, other), reach));
  };
  return [0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => across(i, j))).reduce(or);
}

/** A normal of a box's face. */
interface Face {
  readonly normal: Vec3;
  /** How far two boxes are apart along it, below 0 if they overlap. */
  readonly gap: () => Scalar;
}

/** The normal along which two boxes are farthest apart, or overlap least. */
const widest = (faces: readonly Face[]): Vec3 =>
  faces
    .map(({ normal, gap }) => ({ normal, gap: gap() }))
    .reduce((best, face) => {
      const isBetter = gt(face.gap, best.gap);
      return {
        normal: select3(isBetter, face.normal, best.normal),
        gap: select(isBetter, face.gap, best.gap),
      };
    }).normal;

/**
 * The test of a model's pairs: true only if the geoms are farther apart than `reach` along a face normal of one of the
 * boxes (geom_aabb), of what crosses an edge of either where there is room, or along the normal of a plane. Where there is room
 * round geoms reach as far as they do, not as their boxes, and hulls hardly farther along three directions more. Never where worlds
 * have sizes of their own.
 */
export function boxTest(m: ModelView, frames: Pick<GeomFrames, "pos" | "mat">, pairs: GeomPairs): BoxTest {
  if (m.geom_size.isOwn) return () => false;
  const { centre, half, round } = boxesOf(m);
  // as `worldBoxes`: a margin of two boxes is along an axis of theirs
  const isWide = (p: PairNumbers) => p.type1 === BOX && p.type2 === BOX && p.margin + p.gap > 0;
  const hasEdges = m.form.hasRoom && !pairs.kinds.some(isWide);
  const hasPlanes = pairs.kinds.some((p) => p.type1 === PLANE);
  const hulls = hullReach(m);

  return (geom1, geom2, reach) => {
    const boxes = [geom1, geom2].map((g): Box => {
      const mat = frames.mat(g);
      const axes = [0, 1, 2].map((k) => column(mat, k));
      const pos = frames.pos(g);
      return { geom: g, pos, at: add3(pos, mulMatVec(mat, centre(g))), axes, half: half(g), round: round?.(g) };
    });
    const offset = sub3(boxes[1].at, boxes[0].at);
    const slack = add(reach, mul(ROUNDING, add(m.geom_rbound.at(geom1), m.geom_rbound.at(geom2))));
    const isHulls = hulls?.isAsked(geom1, geom2);
    const face = hulls && vector("box_face");
    const areApart = (of: readonly Box[]): Bool => {
      const [a, b] = of;
      const extent = (box: Box, u: Vec3) => reachAlong(box.half, box.round, (k) => dot3(box.axes[k], u));
      const faces: Face[] = [];
      let apart: Bool = of
        .flatMap((box, i) => box.axes.map((u, k) => [u, add(box.half[k], box.round?.[k] ?? 0), of[1 - i]] as const))
        .map(([u, mine, other]) => {
          const far = abs(dot3(offset, u));
          const most = add(mine, extent(other, u));
          faces.push({ normal: u, gap: () => sub(far, most) });
          return gt(far, add(most, slack));
        })
        .reduce(or);
      if (hasEdges) {
        const rounding = mul(EDGES_ROUND * ROUNDING, add(m.geom_rbound.at(geom1), m.geom_rbound.at(geom2)));
        const known = variable("boxes_apart", select(apart, 1, 0, "i32"), "i32");
        when(eq(known.get(), 0), () => known.set(select(edgesApart(a, b, offset, add(reach, rounding)), 1, 0, "i32")));
        apart = eq(known.get(), 1);
      }
      if (hasPlanes) {
        const up = a.axes[2];
        const above = gt(dot3(offset, up), add(extent(b, up), slack));
        apart = or(apart, and(eq(m.geom_type.at(geom1), PLANE), above));
      }
      if (face) when(and(isHulls!, not(apart)), () => face.set(widest(faces)));
      return apart;
    };
    if (!round && !face) return areApart(boxes);
    const found = variable("round_apart", 0, "i32");
    const set = (of: readonly Box[]) => found.set(select(areApart(of), 1, 0, "i32"));
    if (round)
      when(
        gt(max(...(boxes.map((box) => box.round![0]) as [Scalar, Scalar])), 0),
        () => set(boxes),
        () => set(boxes.map((box) => ({ ...box, round: undefined }))),
      );
    else set(boxes);
    if (hulls)
      when(and(eq(found.get(), 0), isHulls!), () => {
        const rounding = mul(HULLS_ROUND, add(m.geom_rbound.at(geom1), m.geom_rbound.at(geom2)));
        const isApart = hullsApart(hulls, boxes, face!.get(), offset, add(max(reach, 0), rounding));
        found.set(select(isApart, 1, 0, "i32"));
      });
    return eq(found.get(), 1);
  };
}
