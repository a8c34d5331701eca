// knees that are straight where a robot starts: about such a pose nothing lifts a foot, and little is learnt
import { mjtJoint } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { listen } from "../model/mujoco.ts";
import { withMuJoCo } from "../model/oracle.ts";
import { isBelow } from "./motors.ts";

/** rad by which a straight knee is bent, as robots of a person's size stand to walk, and the least that is worth it. */
const BEND = 0.7;
const LEAST = 0.35;
/** How much of what a joint may turn is used, in parts. */
const WITHIN = 0.9;
/** rad up to which thigh and shin are in line, and from the vertical; an angle from which they are bent one way. */
const STRAIGHT = 0.35;
const UPRIGHT = 0.35;
const BENT = 0.1;
/** Thigh and shin are no shorter than this part of the leg; shorter links are parts of hips and feet. */
const SHORTEST = 0.2;
/** Cosine from which axes are parallel. */
const PARALLEL = 0.99;

type Vector = readonly [number, number, number];
const vector = (of: Float64Array, i: number): Vector => [of[3 * i], of[3 * i + 1], of[3 * i + 2]];
const minus = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
/** What of a vector is across an axis. */
const across = (a: Vector, axis: Vector): Vector => {
  const along = dot(a, axis);
  return [a[0] - along * axis[0], a[1] - along * axis[1], a[2] - along * axis[2]];
};
const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const angle = (a: Vector, b: Vector): number =>
  Math.acos(Math.max(-1, Math.min(1, dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)))));

/** How far each straight knee is to turn (rad), by joint; none where a foot's leg has none, since legs bend alike. */
export async function straightKnees(
  model: Model,
  qpos: ArrayLike<number>,
  feet: readonly number[],
): Promise<Map<number, number>> {
  const places = await withMuJoCo(model, (oracle) => {
    oracle.write("qpos", Array.from(qpos));
    listen(() => oracle.mujoco.mj_kinematics(oracle.model, oracle.data));
    return { anchor: oracle.read("xanchor"), axis: oracle.read("xaxis"), geom: oracle.read("geom_xpos") };
  });
  const found = feet.map((foot) => kneeOf(model, qpos, foot, places));
  return new Map(found.every((knee) => knee !== undefined) ? found : []);
}

interface Places {
  readonly anchor: Float64Array;
  readonly axis: Float64Array;
  readonly geom: Float64Array;
}

/** The straight knee of the leg that ends in a foot, and how far it is to turn. */
function kneeOf(
  model: Model,
  qpos: ArrayLike<number>,
  foot: number,
  { anchor, axis, geom }: Places,
): readonly [number, number] | undefined {
  const { jnt_bodyid: body, jnt_type: type } = model;
  const leg = Array.from({ length: model.njnt }, (_, j) => j).filter(
    (j) => type[j] === mjtJoint.HINGE && isBelow(model, foot, body[j]),
  );
  const soles = Array.from({ length: model.ngeom }, (_, g) => g).filter((g) => model.geom_bodyid[g] === foot);
  const lowest = soles.toSorted((a, b) => geom[3 * a + 2] - geom[3 * b + 2])[0];
  // from the foot up: a hip between torso and thigh would be one too
  for (const knee of leg.toReversed()) {
    const turns = vector(axis, knee);
    const alike = leg.filter((j) => body[j] !== body[knee] && Math.abs(dot(vector(axis, j), turns)) > PARALLEL);
    const hip = alike.filter((j) => isBelow(model, body[knee], body[j])).at(-1);
    const ankle = alike.find((j) => isBelow(model, body[j], body[knee]));
    if (hip === undefined || (ankle === undefined && lowest === undefined)) continue;
    const end = ankle === undefined ? vector(geom, lowest) : vector(anchor, ankle);
    const thigh = across(minus(vector(anchor, knee), vector(anchor, hip)), turns);
    const shin = across(minus(end, vector(anchor, knee)), turns);
    const [above, below] = [thigh, shin].map((link) => Math.sqrt(dot(link, link)));
    const isLeg = Math.min(above, below) > SHORTEST * (above + below);
    const hangs = [thigh, shin].every((link) => angle(link, [0, 0, -1]) < UPRIGHT);
    if (!isLeg || !hangs || angle(thigh, shin) > STRAIGHT) continue;
    const others = [hip, ...(ankle === undefined ? [] : [ankle])];
    const side = dot(cross(thigh, shin), turns);
    const turn = bendOf(
      model,
      qpos,
      knee,
      others.map((j) => [j, Math.sign(dot(vector(axis, j), turns))] as const),
      // as it is bent a little, or the way of a person's knee: the foot goes back from +x
      angle(thigh, shin) > BENT ? side : turns[1],
    );
    if (Math.abs(turn) >= LEAST) return [knee, turn];
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
