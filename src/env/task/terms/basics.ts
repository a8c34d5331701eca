// what tasks say often: ranges, noise, costs
import {
  add,
  and,
  ge,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  square,
  sub,
  sum,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import type { Scene, StartScene } from "../task.ts";

type Interval = readonly [number, number];

const within = (x: Scalar, [low, high]: Interval, above: typeof ge, below: typeof le): Bool =>
  and(low === -Infinity || above(x, low), high === Infinity || below(x, high));

/** x in [low, high]. */
export const inClosed = (x: Scalar, range: Interval): Bool => within(x, range, ge, le);

/** x in (low, high). */
export const inOpen = (x: Scalar, range: Interval): Bool => within(x, range, gt, lt);

/** Whether all hold. */
export const all = (conditions: readonly Bool[]): Bool => conditions.reduce<Bool>(and, true);

/** Each value clipped to [low, high], of which either may be infinite. */
export const clipped = (values: readonly Scalar[], [low, high]: Interval): Scalar[] => {
  const above = (x: Scalar) => (low === -Infinity ? x : max(x, low));
  return values.map((x) => (high === Infinity ? above(x) : min(above(x), high)));
};

/** The sum of squares. */
export const sumOfSquares = (values: readonly Scalar[]): Scalar => sum(values.map(square));

/** `centre` plus noise, uniform in [-scale, scale), on each entry. */
export function uniformNoise(s: StartScene, centre: ArrayLike<Scalar>, scale: number): Scalar[] {
  // 2u - 1 is exact in float32
  return s.random.uniforms(centre.length).map((u, i) => add(centre[i], mul(sub(add(u, u), 1), scale)));
}

/** Normal noise of standard deviation `scale`, `count` times. */
export const normalNoise = (s: StartScene, count: number, scale: number): Scalar[] =>
  s.random.normals(count).map((x) => mul(x, scale));

/** All positions but the first `skipped`, then all velocities, clipped to `limit` if one is given. */
export function positionsAndVelocities(s: Scene, skipped: number, limit = Infinity) {
  const qvel = s.d.qvel.all();
  return {
    qpos: s.d.qpos.all().slice(skipped),
    qvel: limit === Infinity ? qvel : clipped(qvel, [-limit, limit]),
  };
}
