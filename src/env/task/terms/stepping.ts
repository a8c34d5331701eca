// when legs step and where their feet land: a clock that follows a command, and steps that catch what the base does beside it
// (capture points: Pratt et al. 2006; feet beside velocity: Raibert 1986)
import { cos, sin } from "../../../trace/math.ts";
import {
  add,
  clamp,
  div,
  floor,
  gt,
  lt,
  min,
  mul,
  or,
  select,
  square,
  sub,
  sum,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import type { Scene } from "../task.ts";

/** Seconds within which a foot that swings aims anew, and how far it is moved at most (m). */
const AIMS = 0.08;
const FARTHEST = 0.25;
/** How fast a base goes (m/s) and how far it tilts (rad) that is told to stand and steps nevertheless. */
const PUSHED = 0.2;
const TILTED = 0.08;

export interface SteppingOptions {
  /** What steps, where a task has several that do. */
  readonly name?: string | number;
  /** Part of the period by which each leg is ahead of the clock. */
  readonly offsets: readonly number[];
  /** Seconds of a stride, and the part of it that a foot stands. */
  readonly period: number;
  readonly duty: number;
  /** Time constant with which it follows the command (s). */
  readonly follows: number;
  /** Feet that swing land farther by this times the velocity beyond the command (s), as pendulums are caught. */
  readonly catches: number;
  /** And by this times the tilt towards there (m), as legs turn away with the base. */
  readonly rights: number;
  /** Velocity of the base in its own axes, and what its x and y axes have of straight down. */
  readonly linear: (s: Scene) => readonly Scalar[];
  readonly down: (s: Scene) => readonly Scalar[];
  /** What is commanded (ahead, left, turning), and what of it is followed; default all. */
  readonly wanted: (s: Scene) => readonly Scalar[];
  readonly followed?: (s: Scene) => readonly Scalar[];
}

/** A phase moved on, within 0 to 1. */
export const turned = (phase: Scalar, by: Scalar): Scalar => sub(add(phase, by), floor(add(phase, by)));

/** Where a foot is in its stride, 1/2 as it touches down to -1/2 as it leaves, and how high its swing is, 0 to 1. */
export function stride(phase: Scalar, duty: number) {
  const u = div(sub(phase, duty), 1 - duty);
  // a cubic that leaves and meets the ground at its speed
  const slope = -(1 - duty) / duty;
  const swing = add(-0.5, mul(u, add(slope, mul(u, sub(3 * (1 - slope), mul(2 * (1 - slope), u))))));
  const stands = lt(phase, duty);
  return {
    along: select(stands, sub(0.5, div(phase, duty)), swing, "f32"),
    up: select(stands, 0, square(sin(mul(Math.PI, u))), "f32"),
    stands,
    /** How much of its swing is over, where it swings. */
    swings: u,
  };
}

/**
 * How far the base leans ahead and to the left: what these have of straight down, from its quaternion. `axes`: unit vectors
 * ahead and to the left in its frame; default x and y.
 */
export function leaning(
  [w, x, y, z]: readonly Scalar[],
  axes?: readonly [ahead: readonly number[], left: readonly number[]],
): readonly [Scalar, Scalar] {
  const [ahead, left] = [mul(2, sub(mul(w, y), mul(x, z))), mul(-2, add(mul(y, z), mul(w, x)))];
  if (!axes) return [ahead, left];
  const down = [ahead, left, sub(mul(2, add(square(x), square(y))), 1)];
  const along = (axis: readonly number[]) => sum(axis.map((a, k) => mul(a, down[k])));
  return [along(axes[0]), along(axes[1])];
}

/** What a leg carries at a phase: all where it alone stands, half where the robot does not walk. */
export function carried(phase: Scalar, duty: number, walks: Scalar): Scalar {
  const alone = clamp(div(min(phase, sub(duty, phase)), duty - 0.5), 0, 1);
  return add(0.5, mul(walks, sub(alone, 0.5)));
}

/** Legs that step by a clock. Where nothing is wanted and nothing pushes, feet stay on the ground. */
export function stepping(options: SteppingOptions) {
  const [gaitKey, catchKey] = ["gait", "catch"].map((key) =>
    options.name === undefined ? key : `${key} of ${options.name}`,
  );
  const { offsets, period, duty, follows, catches, rights, linear, down, wanted, followed = wanted } = options;
  const moves = (s: Scene): Bool => gt(sum(wanted(s).map(square)), 0.01);
  /** Whether the base goes or tilts as one that stands does not. */
  function isPushed(s: Scene): Bool {
    const [[vx, vy], [x, y]] = [linear(s), down(s)];
    return or(gt(sum([square(vx), square(vy)]), PUSHED ** 2), gt(sum([square(x), square(y)]), TILTED ** 2));
  }
  /** Phase, then how far it walks at all (0 to 1), then the command as it is followed. */
  function advance(t: Scene, before: readonly Scalar[] | undefined): readonly Scalar[] {
    if (!before) return [t.random.uniforms(1)[0], 0, 0, 0, 0];
    const aims = followed(t);
    const part = min(div(t.dt, follows), 1);
    const pushed = isPushed(t);
    const goals = [select(or(moves(t), pushed), 1, 0, "f32"), ...aims];
    const rates = [select(pushed, min(div(t.dt, AIMS), 1), part, "f32"), part, part, part];
    const now = goals.map((goal, i) => add(before[i + 1], mul(rates[i], sub(goal, before[i + 1]))));
    return [turned(add(before[0], div(t.dt, period)), 0), ...now];
  }
  const kept = (s: Scene): readonly Scalar[] => s.memory(gaitKey, advance);
  const feet = (s: Scene) => offsets.map((offset) => stride(turned(kept(s)[0], offset), duty));
  /** How far each foot lands from where the command puts it, ahead and to the left: what it had as it touched down. */
  const caught = (s: Scene): readonly Scalar[] =>
    s.memory(catchKey, (t, before) => {
      if (!before) return offsets.flatMap(() => [0, 0]);
      const [, , ...commanded] = kept(t);
      const velocity = linear(t);
      const tilt = rights === 0 ? [0, 0] : down(t);
      const aims = [0, 1].map((i) => {
        const beyond = mul(catches, sub(velocity[i], commanded[i]));
        return clamp(add(beyond, mul(rights, tilt[i])), -FARTHEST, FARTHEST);
      });
      const part = min(div(t.dt, AIMS), 1);
      return feet(t).flatMap(({ stands }, foot) =>
        aims.map((aim, i) => {
          const was = before[2 * foot + i];
          return select(stands, was, add(was, mul(part, sub(aim, was))), "f32");
        }),
      );
    });
  return {
    moves,
    kept,
    feet,
    caught,
    /** What `kept` is after this step. */
    updated: (s: Scene): readonly Scalar[] => s.updated(gaitKey, advance),
    /** What a policy must know of it: sine and cosine of the phase, then `kept` without it. */
    clock: (s: Scene): Scalar[] => {
      const [phase, ...others] = kept(s);
      const angle = mul(2 * Math.PI, phase);
      return [sin(angle), cos(angle), ...others];
    },
  };
}
