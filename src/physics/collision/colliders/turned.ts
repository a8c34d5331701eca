// the turns by which MuJoCo looks for further contacts of two geoms
import { table } from "../../../trace/control.ts";
import { current } from "../../../trace/graph.ts";
import { abs, add, and, gt, lt, mul, select, sqrt, square, sub, type Int, type Scalar } from "../../../trace/scalar.ts";
import { add3, column, cross, scale3, sub3, type Mat3, type Vec3 } from "../../../trace/vector.ts";
import type { Shape } from "./types.ts";

/** How far MuJoCo turns the geoms against each other to find further contacts (rad). */
const TURN = 1e-3;
/** Contacts nearer to each other than this, of the smaller bounding radius, are one. */
export const DISTINCT = 1e-3;
/** Searches of a pair: the first is not turned, two are about each tangent of the contact frame. */
export const SEARCHES = 5;

const ANGLES = [0, -TURN, TURN, -TURN, TURN];

/** The sine of the angle of search `k`, and its cosine less one, negated. */
export const turnOf = (k: Int): { sine: Scalar; shift: Scalar } => ({
  sine: table("turn_sine", ANGLES.map(Math.sin))(k),
  shift: table(
    "turn_shift",
    ANGLES.map((x) => 1 - Math.cos(x)),
  )(k),
});

/** A shape turned about a point by an angle of this sine; `shift` is one minus its cosine. */
export function turned<S extends Shape>(s: S, about: Vec3, axis: Vec3, sine: Scalar, shift: Scalar): S {
  const turn = (v: Vec3): Vec3 => {
    const once = cross(axis, v);
    return add3(v, add3(scale3(once, sine), scale3(cross(axis, once), shift)));
  };
  const columns = [0, 1, 2].map((k) => turn(column(s.mat, k)));
  const mat = [0, 1, 2].flatMap((i) => columns.map((c) => c[i])) as unknown as Mat3;
  return { ...s, pos: add3(about, turn(sub3(s.pos, about))), mat };
}

/** Of what a turn moves a ball's contact with a flat face this part is what float32 may leave of places, metres from the origin. */
const ROLLED = 0.01;
/** Sine of the angle to the face below which a capsule lies along it: which place is met hangs on the search. */
const LYING = 1e-4;

/**
 * How far a turn by an angle of this sine has moved a capsule's first contact, m, which places tell to be `apart`. Where an
 * end lies on a flat face that follows from the radius and the contact's distance, to more digits than float32 leaves of
 * places: a capsule as long as it is thick is moved by just as much as makes another contact, less its depth. `rise` is the
 * sine of its angle to the face.
 */
export function movedBy(apart: Scalar, radius: Scalar, dist: Scalar, sine: Scalar, rise: Scalar): Scalar {
  if (current().exact) return apart;
  const shortened = sqrt(sub(1, mul(0.75, square(sine))));
  const ball = mul(mul(mul(2, abs(sine)), shortened), add(radius, mul(0.5, dist)));
  const isEnd = and(gt(abs(rise), LYING), lt(abs(sub(apart, ball)), mul(ROLLED, ball)));
  return select(isEnd, ball, apart);
}
