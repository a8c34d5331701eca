// the axis along which two boxes are farthest apart (stage 1 of mjc_BoxBox)
import { current } from "../../../trace/graph.ts";
import {
  abs,
  add,
  and,
  div,
  eq,
  ge,
  gt,
  lt,
  max,
  mul,
  neg,
  not,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  dot3,
  mulMat,
  mulMatTVec,
  scale3,
  sub3,
  transpose,
  MINVAL,
  type Mat3,
  type Vec3,
} from "../../../trace/vector.ts";
import type { Shape } from "./types.ts";

/**
 * Slacks for rounding. In float64 MuJoCo's: of separations, relative to the sizes; the squared sine below which edges
 * are parallel; an axis component whose sign is doubtful; the squared distance, relative to the face's sizes, of corners
 * that are one. In float32 edges may be nearer to parallel than in MuJoCo's own: see `separate`.
 */
export function slack(): { separation: number; parallel: number; sign: number; duplicate: number } {
  return current().exact
    ? { separation: 1e-13, parallel: 1e-16, sign: 1e-9, duplicate: 1e-14 }
    : { separation: 1e-6, parallel: 1e-10, sign: 1e-5, duplicate: 2.5e-13 };
}

/** How much an edge axis must beat the best face by, relative to its separation. */
const EDGE_BIAS = 1e-6;
/** An edge axis this near to the best face's (cosine) gives way to it, unless it is better by five percent. */
const ALIAS = 0.99;
const ALIAS_DEPTH = 0.05;

/** Axes of a box in cyclic order from one of them: directions (columns) and half-sizes. */
export interface Cycle {
  readonly axes: readonly [Vec3, Vec3, Vec3];
  readonly size: Vec3;
}

/** The axes of a box from axis `first` on. */
export function cycle(mat: Mat3, size: Vec3, first: Int): Cycle {
  const [isFirst, isSecond] = [eq(first, 0), eq(first, 1)];
  const pick = (values: Vec3, k: number): Scalar =>
    select(isFirst, values[k], select(isSecond, values[(k + 1) % 3], values[(k + 2) % 3]));
  const three = (values: Vec3): Vec3 => [pick(values, 0), pick(values, 1), pick(values, 2)];
  const rows = [0, 1, 2].map((i) => three([mat[3 * i], mat[3 * i + 1], mat[3 * i + 2]]));
  const axis = (k: number): Vec3 => [rows[0][k], rows[1][k], rows[2][k]];
  return { axes: [axis(0), axis(1), axis(2)], size: three(size) };
}

export interface Separation {
  /** Whether some axis keeps the boxes apart by more than the margin. */
  readonly apart: Bool;
  /** Farther apart than this there is no contact. */
  readonly tolerance: Scalar;
  /** Whether the axis is a pair of edges rather than a face. */
  readonly isEdge: Bool;
  /** The best face: whether the first box owns it, and its axis. */
  readonly first: Bool;
  readonly face: Int;
  /** The best pair of edges: the axes of the two boxes that they run along. */
  readonly edges: { readonly a: Cycle; readonly b: Cycle };
}

/** The best of the 15 candidate axes; on near-ties a face. */
export function separate(a: Shape, b: Shape, margin: Scalar): Separation {
  const { separation, parallel } = slack();
  const tolerance = add(margin, mul(separation, sum([...a.size, ...b.size])));
  const offset = sub3(b.pos, a.pos);
  // the second box's axes and centre in the first one's frame, and the reverse
  const rot = mulMat(transpose(a.mat), b.mat);
  const rotabs = rot.map(abs);
  const pos21 = mulMatTVec(a.mat, offset);
  const pos12 = mulMatTVec(b.mat, offset);

  const faces = [
    ...[0, 1, 2].map((i) => {
      const radius = dot3([rotabs[3 * i], rotabs[3 * i + 1], rotabs[3 * i + 2]], b.size);
      return sub(sub(abs(pos21[i]), a.size[i]), radius);
    }),
    ...[0, 1, 2].map((j) => {
      const radius = dot3([rotabs[j], rotabs[3 + j], rotabs[6 + j]], a.size);
      return sub(sub(abs(pos12[j]), b.size[j]), radius);
    }),
  ];
  let apart: Bool = false;
  let face: Scalar = faces[0];
  let faceCode: Int = 0;
  faces.forEach((sep, code) => {
    apart = or(apart, gt(sep, tolerance));
    if (code === 0) return;
    const better = gt(sep, face);
    faceCode = select(better, code, faceCode, "i32");
    face = select(better, sep, face);
  });

  let edge: Scalar = face;
  let edgeCode: Int = 0;
  let isEdge: Bool = false;
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 3; j++) {
      const [i1, i2, j1, j2] = [(i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3];
      // the cross product of the edges; if they are almost parallel it is noise, and faces stand in for it
      const cross = [neg(rot[3 * i2 + j]), rot[3 * i1 + j]];
      const length2 = add(square(cross[0]), square(cross[1]));
      const counts = ge(length2, parallel);
      const inverse = div(1, sqrt(max(length2, parallel)));
      const [x, y] = cross.map((c) => mul(c, inverse));
      const across = (k: number) => add(mul(x, rot[3 * i1 + k]), mul(y, rot[3 * i2 + k]));
      const radius1 = add(mul(a.size[i1], abs(x)), mul(a.size[i2], abs(y)));
      let radius2 = add(mul(b.size[j1], abs(across(j1))), mul(b.size[j2], abs(across(j2))));
      // rounding tilts the axis of almost parallel edges: its part along the second edge keeps it an honest axis
      if (!current().exact) radius2 = add(radius2, mul(b.size[j], abs(across(j))));
      const sep = sub(sub(abs(add(mul(x, pos21[i1]), mul(y, pos21[i2]))), radius1), radius2);
      apart = or(apart, and(counts, gt(sep, tolerance)));
      const better = and(and(counts, gt(sep, face)), gt(sub(sep, mul(EDGE_BIAS, abs(sep))), edge));
      edgeCode = select(better, 3 * i + j, edgeCode, "i32");
      edge = select(better, sep, edge);
      isEdge = or(isEdge, better);
    }
  }

  const first = lt(faceCode, 3);
  const faceAxis = select(first, faceCode, sub(faceCode, 3), "i32");
  const edgeOfA = select(lt(edgeCode, 3), 0, select(lt(edgeCode, 6), 1, 2, "i32"), "i32");
  const edgeOfB = sub(edgeCode, mul(3, edgeOfA));
  const edges = { a: cycle(a.mat, a.size, edgeOfA), b: cycle(b.mat, b.size, edgeOfB) };

  // an edge axis that all but repeats the best face gives way to its several contacts
  const normal = edgeNormal(edges.a, edges.b);
  const owner = a.mat.map((x, k) => select(first, x, b.mat[k])) as unknown as Mat3;
  const [faceNormal] = cycle(owner, a.size, faceAxis).axes;
  const repeats = and(
    gt(abs(dot3(normal, faceNormal)), ALIAS),
    lt(edge, add(add(face, mul(ALIAS_DEPTH, abs(face))), MINVAL)),
  );
  return { apart, tolerance, isEdge: and(isEdge, not(repeats)), first, face: faceAxis, edges };
}

/** The unit direction across the first axes of both boxes, global. */
export function edgeNormal(a: Cycle, b: Cycle): Vec3 {
  const [, y, z] = a.axes;
  const [fy, fz] = [dot3(y, b.axes[0]), dot3(z, b.axes[0])];
  const inverse = div(1, sqrt(max(add(square(fy), square(fz)), slack().parallel)));
  const [u, v] = [scale3(y, mul(neg(fz), inverse)), scale3(z, mul(fy, inverse))];
  return [add(u[0], v[0]), add(u[1], v[1]), add(u[2], v[2])];
}
