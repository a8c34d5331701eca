// the ground under the feet of a gait: how high each foot stands or lands, and how it lies there
import { bodyId, terrainAt, type Scene } from "../src/env/index.ts";
import { atan2 } from "../src/trace/math.ts";
import {
  abs,
  add,
  clamp,
  div,
  max,
  min,
  mul,
  lt,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Scalar,
} from "../src/trace/scalar.ts";

/** Bodies, and what of a foot touches the ground (m): how far its corners are from the ankle, and feet from the middle. */
export interface FootingOptions {
  readonly base: string;
  readonly feet: readonly [string, string];
  readonly heel: number;
  readonly toe: number;
  readonly half: number;
  readonly apart: number;
  /** How far below that a foot may stand (m): legs reach no farther. */
  readonly reach?: number;
}

/** Where a foot will land from the base, ahead and to the left (m), and whether it stands instead. */
export interface Landing {
  readonly ahead: Scalar;
  readonly left: Scalar;
  readonly stands: Bool;
}

/** A foot's ground, above that which the base walks over (m), as it left and as it lands or stands; its slopes (rad). */
export interface Ground {
  readonly from: Scalar;
  readonly to: Scalar;
  readonly pitch: Scalar;
  readonly roll: Scalar;
}

/** Where the ground that the base walks over is looked up ahead of it (m): the mean levels steps of that width. */
const ABOUT = [-0.15, -0.05, 0.05, 0.15];
/** How far below that a foot may stand (m): legs reach no farther. */
const REACH = 0.04;
/** Time constant of the base's height (s). */
const SMOOTH = 0.12;
/** The part of a swing in which a foot comes to the other ground's height: above an upright step before it is over it. */
const SHIFT = 0.4;
/** Where the ground about the base is looked up, ahead and to the left (m): its unevenness is the range of those heights... */
const GROUND = [
  [0, 0],
  [0.3, 0],
  [-0.3, 0],
  [0, 0.3],
  [0, -0.3],
  [0.15, 0],
  [-0.15, 0],
] as const;
/** ...and its steps are twice how far the first of them is from the middle of two that lie opposite: 0 on a slope. */
const OPPOSITE = [
  [1, 2],
  [3, 4],
  [5, 6],
] as const;
/** Time constant of both (s), the unevenness that slows nothing (m), how much each metre beyond it does, and how far at most. */
const SEES = 0.1;
const EVEN = 0.03;
const SLOWS = 12;
const SLOWEST = 0.4;
/** How far ankles tilt with the ground at most (rad). */
const PITCH = 0.5;
const ROLL = 0.2;

/** The ground that a gait walks over: under both feet, and what of a command it follows where it is uneven (0.4 to 1). */
export interface Footing {
  readonly grounds: (s: Scene) => readonly Ground[];
  readonly pace: (s: Scene) => Scalar;
  /** How high its steps are (m); 0 on level ground and slopes. */
  readonly steps: (s: Scene) => Scalar;
}

/** Keeps the ground of both feet and its unevenness; `landings` is asked at the end of a control step. */
export function footing(
  { base, feet, heel, toe, half, apart, reach = REACH }: FootingOptions,
  landings: (s: Scene) => readonly Landing[],
): Footing {
  const corners = [heel, toe].flatMap((x) => [half, -half].map((y) => [x, y] as const));
  function update(t: Scene, before: readonly Scalar[] | undefined): readonly Scalar[] {
    const at = t.d.xpos.vec3(bodyId(t.model, "body", base));
    const mat = t.d.xmat.mat3(bodyId(t.model, "body", base));
    const size = max(sqrt(add(square(mat[0]), square(mat[3]))), 1e-6);
    const [c, n] = [div(mat[0], size), div(mat[3], size)];
    const from = ([x, y]: readonly Scalar[], ahead: Scalar, left: Scalar) =>
      [add(x, sub(mul(c, ahead), mul(n, left))), add(y, add(mul(n, ahead), mul(c, left)))] as const;
    const all = landings(t);
    const points = all.flatMap(({ ahead, left, stands }, i) => {
      const foot = t.d.xpos.vec3(bodyId(t.model, "body", feet[i]));
      const lands = from(at, ahead, add(left, i === 0 ? apart : -apart));
      const place = [0, 1].map((k) => select(stands, foot[k], lands[k], "f32"));
      return corners.map(([x, y]) => from(place, x, y));
    });
    const beside = [...ABOUT.map((x) => [x, 0] as const), ...GROUND].map(([x, y]) => from(at, x, y));
    const heights = terrainAt(t, [...points, ...beside]);
    const under = heights.slice(points.length, points.length + ABOUT.length);
    const grounds = all.flatMap(({ stands }, i) => {
      const [hl, hr, tl, tr] = heights.slice(4 * i, 4 * i + 4);
      const [back, front] = [mul(0.5, add(hl, hr)), mul(0.5, add(tl, tr))];
      const height = add(back, mul(-heel / (toe - heel), sub(front, back)));
      const pitch = clamp(atan2(sub(front, back), toe - heel), -PITCH, PITCH);
      const roll = clamp(atan2(mul(0.5, sub(add(hl, tl), add(hr, tr))), 2 * half), -ROLL, ROLL);
      return [before ? select(stands, height, before[1 + 4 * i], "f32") : height, height, pitch, roll];
    });
    const mean = mul(1 / ABOUT.length, sum(under));
    const lowest = min(grounds[1], grounds[5]);
    const goal = min(mean, add(lowest, reach));
    const seen = heights.slice(points.length + ABOUT.length);
    const range = sub(seen.reduce(max), seen.reduce(min));
    const followed = (last: Scalar, now: Scalar, constant: number) =>
      add(last, mul(min(div(t.dt, constant), 1), sub(now, last)));
    const over = before ? followed(before[0], goal, SMOOTH) : goal;
    const steps = OPPOSITE.map(([i, j]) => abs(sub(add(seen[i], seen[j]), mul(2, seen[0])))).reduce(max);
    const about = [range, steps].map((now, i) => (before ? followed(before[9 + i], now, SEES) : now));
    return [over, ...grounds, ...about];
  }
  const kept = (s: Scene) => s.memory("footing", update);
  return {
    grounds: (s) => {
      const [over, ...grounds] = kept(s);
      return [0, 1].map((i) => {
        const [left, to, pitch, roll] = grounds.slice(4 * i, 4 * i + 4);
        return { from: sub(left, over), to: sub(to, over), pitch, roll };
      });
    },
    steps: (s) => kept(s)[10],
    pace: (s) => max(sub(1, mul(SLOWS, max(sub(kept(s)[9], EVEN), 0))), SLOWEST),
  };
}

/** Height of a foot as it swings from one ground to another: up early, down late. */
export function swung({ from, to }: Ground, u: Scalar): Scalar {
  const rises = lt(from, to);
  const v = clamp(div(select(rises, u, sub(u, 1 - SHIFT), "f32"), SHIFT), 0, 1);
  return add(from, mul(sub(to, from), mul(square(v), sub(3, mul(2, v)))));
}
