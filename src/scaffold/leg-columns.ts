// how the joints of a leg turn for its foot to be elsewhere beside the base, found with MuJoCo's kinematics
import type { Oracle } from "../model/oracle.ts";
import { listen } from "../model/mujoco.ts";
import { solve, type Vector } from "./vectors.ts";

/** A leg of a robot: its base, foot and hinges, by id, and ranges of those (rad). */
export interface Leg {
  readonly base: number;
  /** Ahead, to the left and up in the frame of the base. */
  readonly axes: readonly Vector[];
  readonly foot: number;
  /** The point of a foot that steps, in its frame (m), where it is no ankle: a shin turns as it may. */
  readonly tip?: Vector | undefined;
  /** Places of its hinges in qpos. */
  readonly places: readonly number[];
  readonly ranges: readonly (readonly [number, number])[];
  /** From the hip to the foot (m). */
  readonly long: number;
  /** How far ahead its foot is to be of where it is (m). */
  readonly back: number;
  /** Where the search for that begins (rad from the pose): a straight leg bends either way. */
  readonly bent: readonly number[];
  /** Turns what follows its hinges, where links are closed into loops. */
  readonly close?: (qpos: Float64Array) => void;
}

/** Where a foot goes from its place (m, in the axes of the base), and by how much it turns to the left (rad). */
type Move = readonly [ahead: number, left: number, up: number, turn: number];

/** A pose, how far hinges turn to it, and how far the foot is from where it is to be (m). */
interface Moved {
  readonly pose: Float64Array;
  readonly turns: readonly number[];
  readonly off: number;
}

/** A foot's place and orientation in the base's axes. */
interface Pose {
  readonly at: readonly number[];
  readonly axes: readonly number[];
}

/** Columns of a leg, each a number for every hinge: rad for each metre, metre² or rad that the foot moves. */
export interface Columns {
  readonly ahead: readonly number[];
  readonly bend: readonly number[];
  readonly left: readonly number[];
  readonly up: readonly number[];
  readonly turn: readonly number[];
  /** Metres that the foot is higher for each rad. */
  readonly raises: readonly number[];
  /** And to the left. */
  readonly sides: readonly number[];
  /** What hinges turn by from the pose for feet to be there, and hips low enough to step (rad): columns are about that. */
  readonly stance: readonly number[];
  /** What of a step ahead, half of it, and of a lift feet are beside, in parts. */
  readonly misses: number;
}

/** Parts of the leg that columns are found over: ahead, to the side and up; and rad that feet turn. */
const AHEAD = 0.2;
const ASIDE = 0.1;
const LIFT = 0.12;
const TURN = 0.2;
/** A foot that tilts by a rad is as wrong as one that is so far away, in parts of the leg; and hinges that turn by one cost this. */
const TILTS = 0.05;
const LEAST_TURN = 0.003;
/**
 * Hips are lowered by as much as it takes to step, in parts of the leg, or raised where knees at their ends cannot lift: the
 * first with which a leg misses less of a step, or that misses least.
 */
const LOWERED = [0, 0.02, 0.04, 0.07, 0.1, 0.14, -0.04, -0.08, -0.12, -0.16] as const;
const REACHES = 0.05;
/**
 * Steps of Levenberg and Marquardt, how little the last turns hinges by (rad), their damping at first and how it changes, and the
 * difference that derivatives are of.
 */
const STEPS = 40;
const SETTLED = 1e-10;
const DAMPING = 1e-4;
const EASES = 0.3;
const STIFFENS = 4;
const STEP = 1e-5;

const times = (a: ArrayLike<number>, b: readonly number[]): number => b.reduce((sum, x, i) => sum + a[i] * x, 0);

/** Rows times columns of two matrices of axes, transposed: R Sᵀ by its skew part, a rotation vector where it is small. */
function apart(r: readonly number[], s: readonly number[]): number[] {
  const entry = (i: number, j: number) => [0, 1, 2].reduce((sum, k) => sum + r[3 * i + k] * s[3 * j + k], 0);
  return [
    [2, 1],
    [0, 2],
    [1, 0],
  ].map(([i, j]) => (entry(i, j) - entry(j, i)) / 2);
}

/** The columns of a leg about a pose, of which `oracle` is the model. */
export function columnsOf(oracle: Oracle, qpos: ArrayLike<number>, leg: Leg): Columns {
  const { base, axes: own, foot, tip = [0, 0, 0], places, ranges, long } = leg;
  const tilts = leg.tip ? 0 : TILTS * long;
  const look = (q: Float64Array): Pose => {
    leg.close?.(q);
    oracle.write("qpos", q);
    listen(() => oracle.mujoco.mj_kinematics(oracle.model, oracle.data));
    const [xpos, xmat] = [oracle.read("xpos"), oracle.read("xmat")];
    const reach = [0, 3, 6].map((row) => times(xmat.subarray(9 * foot + row, 9 * foot + row + 3), tip));
    const from = [0, 1, 2].map((k) => xpos[3 * foot + k] + reach[k] - xpos[3 * base + k]);
    const axis = (k: number) => [0, 3, 6].map((row) => xmat[9 * foot + row + k]);
    const along = (k: number) =>
      [0, 3, 6].map((row) => times(xmat.subarray(9 * base + row, 9 * base + row + 3), own[k]));
    return {
      at: [0, 1, 2].map((k) => times(along(k), from)),
      axes: Array.from({ length: 9 }, (_, i) => times(along(Math.floor(i / 3)), axis(i % 3))),
    };
  };
  /** How far hinges turn from a pose for a move, and how far the foot is from it then (m). */
  function moved(
    from: Float64Array,
    [ahead, left, up, turn]: Move,
    begins: readonly number[] = places.map(() => 0),
  ): Moved {
    const start = look(from);
    const goal = [ahead, left, up].map((x, k) => start.at[k] + x);
    const [c, s] = [Math.cos(turn), Math.sin(turn)];
    const rows = [0, 3, 6].map((k) => start.axes.slice(k, k + 3));
    const axes = [
      ...rows[0].map((x, k) => c * x - s * rows[1][k]),
      ...rows[0].map((x, k) => s * x + c * rows[1][k]),
      ...rows[2],
    ];
    const errors = (q: Float64Array): number[] => {
      const pose = look(q);
      return [
        ...pose.at.map((x, k) => x - goal[k]),
        ...apart(pose.axes, axes).map((x) => tilts * x),
        ...places.map((a) => LEAST_TURN * long * (q[a] - from[a])),
      ];
    };
    let q = from.slice();
    places.forEach((a, i) => (q[a] += begins[i]));
    let now = errors(q);
    let damping = DAMPING;
    for (let step = 0; step < STEPS; step++) {
      const slopes = places.map((a) => {
        const other = q.slice();
        other[a] += STEP;
        return errors(other).map((x, i) => (x - now[i]) / STEP);
      });
      // hinges at their ends that would go beyond stay there
      const free = places.flatMap((a, i) => {
        const against = times(slopes[i], now);
        return (q[a] >= ranges[i][1] && against < 0) || (q[a] <= ranges[i][0] && against > 0) ? [] : [i];
      });
      const rows = free.map((i) => [
        ...free.map((k) => times(slopes[i], slopes[k]) + (i === k ? damping * times(slopes[i], slopes[i]) + 1e-12 : 0)),
        -times(slopes[i], now),
      ]);
      const next = q.slice();
      solve(rows).forEach((change, at) => {
        const [i, a] = [free[at], places[free[at]]];
        next[a] = Math.max(ranges[i][0], Math.min(ranges[i][1], q[a] + change));
      });
      if (places.every((a) => Math.abs(next[a] - q[a]) < SETTLED)) break;
      const then = errors(next);
      const isBetter = times(then, then) < times(now, now);
      if (isBetter) [q, now] = [next, then];
      damping *= isBetter ? EASES : STIFFENS;
    }
    return {
      pose: q,
      turns: places.map((a) => q[a] - from[a]),
      off: Math.hypot(...look(q).at.map((x, k) => x - goal[k])),
    };
  }
  const [x, y, z] = [AHEAD * long, ASIDE * long, LIFT * long];
  const home = Float64Array.from(qpos);
  /** How far a foot is from a place, with hinges turned from a pose (m). */
  const off = (from: Float64Array, turns: readonly number[], [ahead, , up]: Move): number => {
    const q = from.slice();
    places.forEach((a, i) => (q[a] += turns[i]));
    const [there, here] = [look(q).at, look(from).at];
    return Math.hypot(there[0] - here[0] - ahead, there[2] - here[2] - up);
  };
  const steps = (from: Float64Array) => {
    const [front, back] = [moved(from, [x, 0, 0, 0]), moved(from, [-x, 0, 0, 0])];
    const lifted = moved(from, [0, 0, z, 0]);
    const half = (sign: number) =>
      front.turns.map((turn, i) => (sign * (turn - back.turns[i])) / 4 + (turn + back.turns[i]) / 8);
    const between = Math.max(...[1, -1].map((sign) => off(from, half(sign), [(sign * x) / 2, 0, 0, 0])));
    const risen = off(
      from,
      lifted.turns.map((turn) => turn / 2),
      [0, 0, z / 2, 0],
    );
    const misses = Math.max(front.off / x, back.off / x, lifted.off / z, between / x, risen / (2 * z));
    return { front, back, lifted, misses };
  };
  const stands = (low: number) => {
    const stance = moved(home, [leg.back, 0, low * long, 0], leg.bent);
    return { stance, ...steps(stance.pose) };
  };
  /** How far a foot rises and goes to the left, for each hinge. */
  const swings = (pose: Float64Array) => {
    const here = look(pose).at;
    const moves = places.map((a) => {
      const q = pose.slice();
      q[a] += STEP;
      return look(q).at.map((x, k) => (x - here[k]) / STEP);
    });
    return { raises: moves.map(([, , up]) => up), sides: moves.map(([, left]) => left) };
  };
  let stood = stands(LOWERED[0]);
  for (const low of LOWERED.slice(1)) {
    if (stood.misses < REACHES) break;
    const other = stands(low);
    if (other.misses < stood.misses) stood = other;
  }
  const { stance, front, back, lifted, misses } = stood;
  const [left, right] = [moved(stance.pose, [0, y, 0, 0]), moved(stance.pose, [0, -y, 0, 0])];
  const [turned, against] = [moved(stance.pose, [0, 0, 0, TURN]), moved(stance.pose, [0, 0, 0, -TURN])];
  const odd = (a: Moved, b: Moved, by: number) => a.turns.map((turn, i) => (turn - b.turns[i]) / (2 * by));
  return {
    ahead: odd(front, back, x),
    bend: front.turns.map((turn, i) => (turn + back.turns[i]) / (2 * x * x)),
    left: odd(left, right, y),
    up: lifted.turns.map((turn) => turn / z),
    turn: odd(turned, against, TURN),
    ...swings(stance.pose),
    stance: stance.turns,
    misses,
  };
}
