// where MuJoCo's search meets the origin on an edge: three more corners around it, 120 degrees apart (mjc_ccd's polytope2)
import { abs, and, ge, le, lt, mul, or, type Bool } from "../../../trace/scalar.ts";
import { add3, cross, dot3, row, scale3, select3, sub3, type Mat3, type Vec3 } from "../../../trace/vector.ts";
import { unit } from "./directions.ts";

/** MuJoCo's sine of 120 degrees, and its cosine. */
const [SINE, COSINE] = [0.86602540378, -0.5];

/** Where three corners around an edge are looked for. */
export interface AroundEdge {
  readonly axis: Vec3;
  readonly first: Vec3;
}

/**
 * The unit axis of an edge and the first direction across it, in the frame of the first shape: MuJoCo takes it square to
 * that axis of the world (`mat` leads there) along which the edge is shortest.
 */
export function aroundEdge(mat: Mat3, edge: Vec3): AroundEdge {
  const axes = [0, 1, 2].map((k) => row(mat, k));
  const lengths = axes.map((e) => abs(dot3(e, edge)));
  const isThird = and(lt(lengths[2], lengths[0]), lt(lengths[2], lengths[1]));
  const e = select3(isThird, axes[2], select3(lt(lengths[1], lengths[0]), axes[1], axes[0]));
  return { axis: unit(edge), first: unit(cross(e, edge)) };
}

/** The direction 120 degrees further around. */
export function turnedOn(axis: Vec3, d: Vec3): Vec3 {
  const along = scale3(axis, mul(1 - COSINE, dot3(axis, d)));
  return unit(add3(add3(scale3(d, COSINE), along), scale3(cross(axis, d), SINE)));
}

/** Whether an edge passes through the triangle around it, so that the five corners are those of a convex body. */
export function passes([from, to]: readonly Vec3[], around: readonly Vec3[]): Bool {
  const edge = sub3(to, from);
  const [p, q, r] = around.map((v) => sub3(v, from));
  const volumes = [
    [p, q],
    [q, r],
    [r, p],
  ].map(([x, y]) => dot3(x, cross(y, edge)));
  const all = (test: typeof ge) => volumes.map((v) => test(v, 0)).reduce(and);
  return or(all(ge), all(le));
}
