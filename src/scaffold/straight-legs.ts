// knees that are straight where a robot starts: about such a pose nothing lifts a foot, and little is learnt
import { mjtJoint } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { listen } from "../model/mujoco.ts";
import type { Oracle } from "../model/oracle.ts";
import { isBelow } from "./motors.ts";
import { touching } from "./touching.ts";
import { across, angle, areParallel, cross, dot, minus, vectorAt, type Vector } from "./vectors.ts";

/** rad by which a straight knee is bent, as robots of a person's size stand to walk, and the least that is worth it. */
const BEND = 0.7;
const LEAST = 0.35;
/** How much of what a joint may turn is used, in parts. */
const WITHIN = 0.9;
/** rad up to which thigh and shin are in line, and from the vertical; an angle from which they are bent one way. */
const STRAIGHT = 0.35;
const UPRIGHT = 0.35;
const BENT = 0.1;
/** A hip that lifts a thigh turns so many times as far as it turns back. */
const LIFTS = 2;
/** Thigh and shin are no shorter than this part of the leg; shorter links are parts of hips and feet. */
const SHORTEST = 0.2;

/** World positions of anchors and geoms, and axes, in the pose that is looked at; 3 numbers each. */
export interface Kinematics {
  readonly xanchor: Float64Array;
  readonly xaxis: Float64Array;
  readonly geom_xpos: Float64Array;
}

/** Those of a pose, by MuJoCo. */
export function kinematicsOf(oracle: Oracle, qpos: ArrayLike<number>): Kinematics {
  oracle.write("qpos", qpos);
  listen(() => oracle.mujoco.mj_kinematics(oracle.model, oracle.data));
  return { xanchor: oracle.read("xanchor"), xaxis: oracle.read("xaxis"), geom_xpos: oracle.read("geom_xpos") };
}

/** How far each straight knee is to turn (rad), by joint; none where a foot's leg has none, since legs bend alike. */
export function straightKnees(
  model: Model,
  qpos: ArrayLike<number>,
  feet: readonly number[],
  places: Kinematics,
): Map<number, number> {
  const found = feet.map((foot) => kneeOf(model, qpos, legOf(model, foot, feet), foot, places));
  return new Map(found.every((knee) => knee !== undefined) ? found : []);
}

/** Hinges of the leg that ends in a foot, from the hip on: no other foot hangs from it, as from a waist. */
export const legOf = (model: Model, foot: number, feet: readonly number[]): number[] =>
  Array.from({ length: model.njnt }, (_, j) => j).filter(
    (j) =>
      model.jnt_type[j] === mjtJoint.HINGE &&
      isBelow(model, foot, model.jnt_bodyid[j]) &&
      !feet.some((other) => other !== foot && isBelow(model, other, model.jnt_bodyid[j])),
  );

/** The straight knee of the leg that ends in a foot, and how far it is to turn. */
function kneeOf(
  model: Model,
  qpos: ArrayLike<number>,
  leg: readonly number[],
  foot: number,
  { xanchor, xaxis, geom_xpos }: Kinematics,
): readonly [number, number] | undefined {
  const { jnt_bodyid: body } = model;
  const lowest = touching(model, foot).toSorted((a, b) => geom_xpos[3 * a + 2] - geom_xpos[3 * b + 2])[0];
  // the first from the hip on: an ankle over a foot that rolls would be one too
  for (const knee of leg) {
    const turns = vectorAt(xaxis, knee);
    const alike = leg.filter((j) => body[j] !== body[knee] && areParallel(vectorAt(xaxis, j), turns));
    const hip = alike.filter((j) => isBelow(model, body[knee], body[j])).at(-1);
    const ankle = alike.find((j) => isBelow(model, body[j], body[knee]));
    if (hip === undefined || (ankle === undefined && lowest === undefined)) continue;
    const end = ankle === undefined ? vectorAt(geom_xpos, lowest) : vectorAt(xanchor, ankle);
    const thigh = across(minus(vectorAt(xanchor, knee), vectorAt(xanchor, hip)), turns);
    const shin = across(minus(end, vectorAt(xanchor, knee)), turns);
    const [above, below] = [thigh, shin].map((link) => Math.sqrt(dot(link, link)));
    if (Math.min(above, below) <= SHORTEST * (above + below)) continue;
    const hangs = [thigh, shin].every((link) => angle(link, [0, 0, -1]) < UPRIGHT);
    if (!hangs || angle(thigh, shin) > STRAIGHT) return undefined;
    const others = [hip, ...(ankle === undefined ? [] : [ankle])];
    const side = dot(cross(thigh, shin), turns);
    const turn = bendOf(
      model,
      qpos,
      knee,
      others.map((j) => [j, Math.sign(dot(vectorAt(xaxis, j), turns))] as const),
      // as it is bent a little, as its hip lifts the thigh, or the way of a person's knee: the foot goes back from +x
      angle(thigh, shin) > BENT ? side : lifts(model, qpos, hip, turns, xaxis) || turns[1],
    );
    return Math.abs(turn) >= LEAST ? [knee, turn] : undefined;
  }
  return undefined;
}

/** How far a joint may turn down and up from where it is (rad). */
function roomOf(model: Model, qpos: ArrayLike<number>, joint: number): readonly [number, number] {
  if (!(model.jnt_limited[joint] > 0)) return [Math.PI, Math.PI];
  const at = qpos[model.jnt_qposadr[joint]];
  const [low, high] = model.jnt_range.subarray(2 * joint, 2 * joint + 2);
  return [at - low, high - at];
}

/** The way a knee bends, along its axis, where its hip turns much further one way: it lifts the thigh so. 0 where it does not. */
function lifts(model: Model, qpos: ArrayLike<number>, hip: number, turns: Vector, xaxis: Float64Array): number {
  const [down, up] = roomOf(model, qpos, hip);
  if (Math.max(down, up) < LIFTS * Math.min(down, up)) return 0;
  return Math.sign(down - up) * Math.sign(dot(vectorAt(xaxis, hip), turns));
}

/**
 * How far a knee turns: towards where it has more room, where that is alike the `usual` way, and no further than hip and ankle,
 * by half, can turn back. They are given with the signs of their axes along its own.
 */
function bendOf(
  model: Model,
  qpos: ArrayLike<number>,
  knee: number,
  others: readonly (readonly [number, number])[],
  usual: number,
): number {
  const [down, up] = roomOf(model, qpos, knee);
  const isAlike = Math.abs(up - down) < 0.1 * (up + down);
  const sign = isAlike ? Math.sign(usual) || 1 : Math.sign(up - down);
  const back = others.map(([j, along]) => 2 * roomOf(model, qpos, j)[sign * along > 0 ? 0 : 1]);
  return sign * Math.min(BEND, WITHIN * (sign > 0 ? up : down), ...back.map((room) => WITHIN * room));
}
