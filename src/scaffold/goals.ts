// where the end of an arm is asked to go: a box of places that it comes to
import { RandomStream, streams } from "../core/rng.ts";
import { mjtJoint } from "../model/enums.ts";
import { jointOf } from "../model/model.ts";
import { listen } from "../model/mujoco.ts";
import { isBelow } from "./motors.ts";
import type { Robot } from "./robot.ts";
import { hasGround } from "./stance.ts";
import { apartFrom, tipOf, type Tip } from "./tip.ts";
import { withRobot } from "./with-robot.ts";

/** Half the side of the box, in parts of the arm's reach, and at least (m). */
const HALF = 0.2;
const LEAST = 0.05;
/** m over the ground that goals are. */
const OVER = 0.05;
/** Poses that are drawn, places in the box, and the part of these that an end comes to, within so much of the reach. */
const POSES = 4000;
const PLACES = 400;
const MOST = 0.95;
const NEAR = 0.05;
/** A side is shortened by so much in a step, to no less than this part of what it was. */
const SHORTER = 0.8;
const SHORTEST = 0.2;

/** The least and most of a goal's x, y and z (m). */
export type Box = readonly (readonly [low: number, high: number])[];

/** How low goals are at least (m): where the end starts is reached, and nearer to the ground nothing else is wanted. */
const lowestOf = ({ model, floor }: Robot, { at }: Tip): number =>
  hasGround(model) ? Math.min(floor + OVER, at[2]) : -Infinity;

/** Half the side of a box that nothing shortens (m). */
const halfOf = ({ reach }: Tip): number => Math.max(LEAST, HALF * reach);

/** The box about a place, no lower than that. */
const boxAbout = (at: readonly number[], halves: readonly number[], lowest: number): Box =>
  at.map((x, i) => {
    const low = i === 2 ? Math.max(lowest, x - halves[i]) : x - halves[i];
    return [low, Math.max(low, x + halves[i])];
  });

/** Goals about where the end of an arm starts, whether it comes to them or not. */
export function goalsAbout(robot: Robot): Box {
  const tip = tipOf(robot);
  const half = halfOf(tip);
  return boxAbout(tip.at, [half, half, half], lowestOf(robot, tip));
}

/** Whether any of these places is within a distance (m) of one: of places in order of x only those are looked at that may be. */
function nearTo(places: readonly ArrayLike<number>[], near: number): (at: readonly number[]) => boolean {
  const sorted = places.toSorted((a, b) => a[0] - b[0]);
  const [xs, ys, zs] = [0, 1, 2].map((k) => Float64Array.from(sorted, (place) => place[k]));
  return ([x, y, z]) => {
    let [first, end] = [0, xs.length];
    while (first < end) {
      const middle = (first + end) >> 1;
      if (xs[middle] < x - near) first = middle + 1;
      else end = middle;
    }
    for (let i = first; i < xs.length && xs[i] <= x + near; i++)
      if ((xs[i] - x) ** 2 + (ys[i] - y) ** 2 + (zs[i] - z) ** 2 < near ** 2) return true;
    return false;
  };
}

/**
 * Goals that servos come to from where they start: the box about the middle of where they bring the end, each side as long as
 * nearly all of it is reached. An arm that starts stretched out has none beyond its reach.
 */
export async function goalsOf(robot: Robot): Promise<Box> {
  const { model, motors, qpos } = robot;
  const tip = tipOf(robot);
  const held = apartFrom(tip, robot);
  const turns = motors.flatMap(({ isPosition, servo, reach }, i) => {
    const j = jointOf(model, i);
    const isScalar = j >= 0 && (model.jnt_type[j] === mjtJoint.HINGE || model.jnt_type[j] === mjtJoint.SLIDE);
    if (held.has(i) || !isScalar || !(isPosition || servo)) return [];
    const [low, high] = model.jnt_limited[j] > 0 ? model.jnt_range.subarray(2 * j, 2 * j + 2) : [-Infinity, Infinity];
    return isBelow(model, tip.body, model.jnt_bodyid[j]) ? [{ at: model.jnt_qposadr[j], reach, low, high }] : [];
  });
  if (turns.length === 0) return goalsAbout(robot);
  const draws = new RandomStream(0, 0, 0, streams.user);
  let drawn = 0;
  const random = () => draws.uniform(drawn++);
  const places = await withRobot(model, (oracle) =>
    Array.from({ length: POSES }, () => {
      const pose = Float64Array.from(qpos);
      for (const { at, reach, low, high } of turns)
        pose[at] = Math.max(low, Math.min(high, pose[at] + reach * (2 * random() - 1)));
      oracle.write("qpos", pose);
      listen(() => oracle.mujoco.mj_kinematics(oracle.model, oracle.data));
      return oracle.read(tip.field).slice(3 * tip.id, 3 * tip.id + 3);
    }),
  );
  const lowest = lowestOf(robot, tip);
  const over = places.filter((place) => place[2] >= lowest);
  if (over.length === 0) return goalsAbout(robot);
  const middle = [0, 1, 2].map((k) => over.map((place) => place[k]).toSorted((a, b) => a - b)[over.length >> 1]);
  const points = Array.from({ length: PLACES }, () => [random(), random(), random()]);
  const near = NEAR * Math.max(tip.reach, 0.1);
  const comesTo = nearTo(over, near);
  const reached = (box: Box): number =>
    points.filter((u) => comesTo(box.map(([low, high], k) => low + (high - low) * u[k]))).length / points.length;
  const longest = halfOf(tip);
  let halves = [longest, longest, longest];
  const about = (each: readonly number[]) => boxAbout(middle, each, lowest);
  for (let part = reached(about(halves)); part < MOST;) {
    // the side whose loss gains most
    const shorter = [0, 1, 2]
      .filter((k) => halves[k] * SHORTER >= SHORTEST * longest)
      .map((k) => halves.map((half, i) => (i === k ? half * SHORTER : half)))
      .map((each) => ({ each, part: reached(about(each)) }))
      .toSorted((a, b) => b.part - a.part)[0];
    if (shorter === undefined) break;
    [halves, part] = [shorter.each, shorter.part];
  }
  return about(halves);
}
