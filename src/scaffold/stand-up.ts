// a pose to stand in, for what has four legs or more and is drawn lying, or with its mass beside its feet
import { product, type Quat } from "../core/quaternion.ts";
import { mjtJoint } from "../model/enums.ts";
import { listen } from "../model/mujoco.ts";
import type { Model } from "../model/model.ts";
import type { Oracle } from "../model/oracle.ts";
import { flies, jointsBelow, limbEnds, rollsOn } from "./feet.ts";
import { followersOf, isBelow } from "./motors.ts";
import { lowestOf, reachOf } from "./stance.ts";
import { kinematicsOf, legOf, type Kinematics } from "./straight-legs.ts";
import { collides, geoms, touching } from "./touching.ts";
import { cross, dot, minus, turned, vectorAt, type Vector } from "./vectors.ts";
import { withRobot } from "./with-robot.ts";

/** Legs are as many at least, of as many hinges; each pose of a grid of them is looked at, of so many places of each. */
const LEGS = 4;
const PLACES: Readonly<Record<number, number>> = { 2: 41, 3: 13, 4: 7 };
/** Legs are as long as each other but for this part. */
const ALIKE = 0.1;
/** A trunk that is no higher over what is lowest, in parts of a leg, lies; one that was raised is as high at least. */
const LIES = 0.15;
const RAISED = 0.2;
/** What of a leg feet are below hips, beyond which lower is no better; knees and hips are above feet by this part. */
const DEEP = 0.6;
const ABOVE = 0.15;
/** rad from the end of its range from which a joint has room enough, and of an unlimited one from where it is drawn. */
const ROOM = 0.5;
const FREE = Math.PI / 2;
/** What a pose loses for each rad that a joint turns. */
const TURNS = 0.05;
/** Halvings of the grid's steps, and how far feet are from level, in parts of a leg, where a pose is a third as good. */
const HALVINGS = 6;
const LEVEL = 0.02;
/** rad that a robot leans before its mass is beside its feet, at least: soft servos let what tips over sooner do so. */
const LEANS = 0.15;
/** Hips lie in a plane if across it they are apart by less than this part of what they are along it. */
const FLAT = 0.25;

/** A leg: its hinges from the hip on, the body of its foot and the foot's place in that, and how long it is (m). */
interface Leg {
  readonly hinges: readonly number[];
  readonly foot: number;
  readonly tip: Vector;
  readonly long: number;
}

/** A pose as MuJoCo places it. */
interface Posed extends Kinematics {
  readonly xpos: Float64Array;
  readonly xquat: Float64Array;
  readonly geom_xmat: Float64Array;
}

const posed = (oracle: Oracle, qpos: ArrayLike<number>): Posed => ({
  ...kinematicsOf(oracle, qpos),
  xpos: oracle.read("xpos"),
  xquat: oracle.read("xquat"),
  geom_xmat: oracle.read("geom_xmat"),
});

const plus = (a: Vector, b: Vector, by = 1): Vector => [a[0] + by * b[0], a[1] + by * b[1], a[2] + by * b[2]];
const times = (v: Vector, by: number): Vector => [by * v[0], by * v[1], by * v[2]];
const length = (v: Vector): number => Math.sqrt(dot(v, v));

/** Corners and the middle of a geom's bounding box in the world. */
function boxOf({ geom_aabb }: Model, g: number, { geom_xpos, geom_xmat }: Posed): readonly [Vector, Vector[]] {
  const [middle, half] = [vectorAt(geom_aabb, 2 * g), vectorAt(geom_aabb, 2 * g + 1)];
  const at = (local: Vector): Vector => {
    const row = (k: number) => dot(vectorAt(geom_xmat, 3 * g + k), local);
    return plus(vectorAt(geom_xpos, g), [row(0), row(1), row(2)]);
  };
  const signs = Array.from({ length: 8 }, (_, i): Vector => [i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1]);
  return [
    at(middle),
    signs.map((sign) => at([0, 1, 2].map((k) => middle[k] + sign[k] * half[k]) as unknown as Vector)),
  ];
}

/** The leg that ends in a body, as it is drawn; undefined where what turns it is no chain of hinges, or nothing of its end touches. */
function legTo(model: Model, root: number, foot: number, ends: readonly number[], drawn: Posed): Leg | undefined {
  const hinges = legOf(model, foot, ends);
  const path = jointsBelow(model, root).filter(
    (j) => model.jnt_bodyid[j] !== root && isBelow(model, foot, model.jnt_bodyid[j]),
  );
  if (path.length !== hinges.length || PLACES[hinges.length] === undefined) return undefined;
  const boxes = touching(model, foot).map((g) => boxOf(model, g, drawn));
  if (boxes.length === 0) return undefined;
  const anchors = hinges.map((j) => vectorAt(drawn.xanchor, j));
  const last = anchors.at(-1)!;
  const middle = boxes.reduce((sum, [at]) => plus(sum, at, 1 / boxes.length), [0, 0, 0] as Vector);
  const reaches = (way: Vector) =>
    Math.max(...boxes.flatMap(([, corners]) => corners.map((c) => dot(minus(c, last), way))));
  const out = minus(middle, last);
  const far = length(out);
  if (!(far > 0)) return undefined;
  const way = times(out, 1 / far);
  const tip = plus(last, way, reaches(way));
  const [w, x, y, z] = drawn.xquat.subarray(4 * foot, 4 * foot + 4);
  const long = [...anchors.slice(1), tip].reduce((sum, p, i) => sum + length(minus(p, anchors[i])), 0);
  return { hinges, foot, tip: turned(minus(tip, vectorAt(drawn.xpos, foot)), [w, -x, -y, -z]), long };
}

/** The legs of a robot: the most that are alike, four or more. */
function legsOf(model: Model, root: number, drawn: Posed): Leg[] {
  const ends = limbEnds(model, root);
  const limbs = ends.map((end) => legTo(model, root, end, ends, drawn)).filter((leg) => leg !== undefined);
  const alike = (leg: Leg) =>
    limbs.filter(
      ({ hinges, long }) => hinges.length === leg.hinges.length && Math.abs(long - leg.long) < ALIKE * leg.long,
    );
  const legs = limbs.map(alike).toSorted((a, b) => b.length - a.length)[0] ?? [];
  return legs.length >= LEGS ? legs : [];
}

const tipOf = ({ foot, tip }: Leg, { xpos, xquat }: Posed): Vector =>
  plus(vectorAt(xpos, foot), turned(tip, xquat.subarray(4 * foot, 4 * foot + 4)));

/** Volume of what columns span: of two their area. */
function spanned(columns: readonly Vector[]): number {
  if (columns.length === 2) return length(cross(columns[0], columns[1]));
  // det(J J') by Cauchy and Binet: the sum over every three columns
  let sum = 0;
  for (let a = 0; a < columns.length; a++)
    for (let b = a + 1; b < columns.length; b++)
      for (let c = b + 1; c < columns.length; c++) sum += dot(cross(columns[a], columns[b]), columns[c]) ** 2;
  return Math.sqrt(sum);
}

/**
 * How well a leg stands in a pose: how freely its foot moves (Yoshikawa's manipulability), times how deep it is below the hip, up to
 * a part, with room left for its joints, and no more turned than need be; less where its foot is not at `level` (m).
 */
function worth(model: Model, leg: Leg, qpos: ArrayLike<number>, pose: Posed, level?: number): number {
  const { hinges, long } = leg;
  const tip = tipOf(leg, pose);
  const anchors = hinges.map((j) => vectorAt(pose.xanchor, j));
  if (anchors.some((anchor) => anchor[2] - tip[2] < ABOVE * long)) return 0;
  const moves = hinges.map((j, i) => times(cross(vectorAt(pose.xaxis, j), minus(tip, anchors[i])), 1 / long));
  let [room, turns] = [Infinity, 0];
  for (const j of hinges) {
    const q = qpos[model.jnt_qposadr[j]];
    turns += Math.abs(q - model.qpos0[model.jnt_qposadr[j]]);
    if (model.jnt_limited[j] > 0) room = Math.min(room, q - model.jnt_range[2 * j], model.jnt_range[2 * j + 1] - q);
  }
  const deep = Math.min(DEEP, (anchors[0][2] - tip[2]) / long);
  const off = level === undefined ? 0 : (tip[2] - level) / (LEVEL * long);
  return spanned(moves) * deep * Math.min(1, Math.max(0, room) / ROOM) * Math.exp(-TURNS * turns - off * off);
}

/** Whether a point is within the convex hull of others, from above. */
function isWithin([x, y]: Vector, around: readonly Vector[]): boolean {
  const angles = around.map(([a, b]) => Math.atan2(b - y, a - x)).toSorted((a, b) => a - b);
  const gaps = angles.map((angle, i) => (angles[i + 1] ?? angles[0] + 2 * Math.PI) - angle);
  return Math.max(...gaps) < Math.PI;
}

/** Whether a point is over feet (1), and so however what it is of leans by as much (2). */
function howOver([x, y, z]: Vector, feet: readonly Vector[]): 0 | 1 | 2 {
  if (feet.length === 0 || !isWithin([x, y, z], feet)) return 0;
  const by = LEANS * (z - Math.min(...feet.map((foot) => foot[2])));
  const ways = Array.from({ length: 8 }, (_, k) => (k * Math.PI) / 4);
  return ways.every((a) => isWithin([x + by * Math.cos(a), y + by * Math.sin(a), z], feet)) ? 2 : 1;
}

/** How high the trunk is over what is lowest (m), whether the mass is over what of the legs is low, and whether that is two that hang. */
function standsHow(oracle: Oracle, model: Model, root: number, legs: readonly Leg[], pose: Posed) {
  const trunk = geoms(model).filter(
    (g) => collides(model, g) && model.body_weldid[model.geom_bodyid[g]] === model.body_weldid[root],
  );
  const lowest = lowestOf(model, root, pose)!;
  const bottom = Math.min(
    pose.xpos[3 * root + 2],
    ...trunk.map((g) => pose.geom_xpos[3 * g + 2] - reachOf(model, g, pose, 2)),
  );
  listen(() => oracle.mujoco.mj_comPos(oracle.model, oracle.data));
  const low = legs.filter((leg) => tipOf(leg, pose)[2] - lowest < LIES * legs[0].long);
  const feet = low.map((leg) => tipOf(leg, pose));
  const hangs = low.filter(({ hinges, long }, f) => vectorAt(pose.xanchor, hinges[0])[2] - feet[f][2] > DEEP * long);
  return {
    height: bottom - lowest,
    over: howOver(vectorAt(oracle.read("subtree_com"), root), feet),
    isOnTwo: feet.length === 2 && hangs.length === 2,
  };
}

/** The pose in which each leg is worth most, by a grid and then halves of its steps. */
function searched(oracle: Oracle, model: Model, legs: readonly Leg[], drawn: ArrayLike<number>): Float64Array {
  const count = PLACES[legs[0].hinges.length];
  const rangeOf = (j: number): readonly [number, number] => {
    const at = drawn[model.jnt_qposadr[j]];
    return model.jnt_limited[j] > 0 ? [model.jnt_range[2 * j], model.jnt_range[2 * j + 1]] : [at - FREE, at + FREE];
  };
  const ranges = legs.map(({ hinges }) => hinges.map(rangeOf));
  const qpos = Float64Array.from(drawn);
  const best = legs.map(({ hinges }) => ({ worth: 0, at: hinges.map((j) => drawn[model.jnt_qposadr[j]]) }));
  /** Looks at a pose of all legs at once; each keeps its own if that is better. */
  const look = (of: (leg: number, hinge: number) => number, level?: number) => {
    legs.forEach(({ hinges }, l) => hinges.forEach((j, h) => (qpos[model.jnt_qposadr[j]] = of(l, h))));
    const pose = posed(oracle, qpos);
    legs.forEach((leg, l) => {
      const found = worth(model, leg, qpos, pose, level);
      if (found > best[l].worth) best[l] = { worth: found, at: leg.hinges.map((j) => qpos[model.jnt_qposadr[j]]) };
    });
  };
  const hinges = legs[0].hinges.length;
  for (let k = 0; k < count ** hinges; k++)
    look((l, h) => {
      const [low, high] = ranges[l][h];
      return low + ((high - low) * (Math.floor(k / count ** h) % count)) / (count - 1);
    });
  const halve = (level?: number) => {
    for (let part = 1; part <= HALVINGS; part++)
      for (let h = 0; h < hinges; h++)
        for (const sign of [1, -1]) {
          const from = best.map(({ at }) => at);
          look((l, k) => {
            const [low, high] = ranges[l][k];
            const step = k === h ? (sign * (high - low)) / (count - 1) / 2 ** part : 0;
            return Math.max(low, Math.min(high, from[l][k] + step));
          }, level);
        }
  };
  const place = () => {
    legs.forEach((leg, l) => leg.hinges.forEach((j, h) => (qpos[model.jnt_qposadr[j]] = best[l].at[h])));
    return posed(oracle, qpos);
  };
  halve();
  const heights = legs.map((leg) => tipOf(leg, place())[2]).toSorted((a, b) => a - b);
  const level = heights[Math.floor(heights.length / 2)];
  legs.forEach((leg, l) => (best[l] = { ...best[l], worth: worth(model, leg, qpos, place(), level) }));
  halve(level);
  halve(level);
  place();
  return qpos;
}

/**
 * The quaternion that puts up what a robot is drawn with along x or y, as programs do whose y is up: across the plane of its hips,
 * away from its feet, and its hips along x; undefined where that is z already.
 */
function uprightBy(legs: readonly Leg[], drawn: Posed): Quat | undefined {
  const hips = legs.map(({ hinges }) => vectorAt(drawn.xanchor, hinges[0]));
  const apart = [0, 1, 2].map((k) => Math.max(...hips.map((p) => p[k])) - Math.min(...hips.map((p) => p[k])));
  const [up, side, along] = [0, 1, 2].toSorted((a, b) => apart[a] - apart[b]);
  if (up === 2 || apart[up] > FLAT * apart[side]) return undefined;
  const away = legs.reduce((sum, leg, l) => sum + hips[l][up] - tipOf(leg, drawn)[up], 0);
  if (Math.abs(away) < legs.length * LIES * legs[0].long) return undefined;
  // a quarter turn about y or x that puts it up, and one about z where its hips are apart along y then
  const half = Math.SQRT1_2;
  const [x, y] = up === 0 ? [0, -Math.sign(away) * half] : [Math.sign(away) * half, 0];
  if (along === (up === 0 ? 2 : 0)) return [half, x, y, 0];
  return [1 / 2, half * (x - y), half * (x + y), 1 / 2];
}

/**
 * The pose in which a robot stands on four legs or more that lies in `start`, the default pose with its joints within their ranges,
 * on its trunk or about an axis that is not z, or has its mass beside its feet; undefined where it stands there, as what stands on two
 * of four limbs that are alike does, or no pose of its legs is found. Legs are chains of two to four hinges.
 */
export function standingPose(
  model: Model,
  root: number,
  start: ArrayLike<number> = model.qpos0,
): Promise<number[] | undefined> {
  if (flies(model, root) || rollsOn(model, root) || followersOf(model).length > 0) return Promise.resolve(undefined);
  return withRobot(model, (oracle) => {
    const qpos = Float64Array.from(start);
    const drawn = posed(oracle, qpos);
    if (lowestOf(model, root, drawn) === undefined) return undefined;
    const legs = legsOf(model, root, drawn);
    if (legs.length === 0) return undefined;
    const { long } = legs[0];
    const how = standsHow(oracle, model, root, legs, drawn);
    if (how.isOnTwo && how.height > LIES * long) return undefined;
    const free = model.body_jntadr[root];
    const turn = model.jnt_type[free] === mjtJoint.FREE ? uprightBy(legs, drawn) : undefined;
    const at = model.jnt_qposadr[free] + 3;
    if (turn) qpos.set(product(turn, Array.from(qpos.subarray(at, at + 4)) as unknown as Quat), at);
    else if (how.height > LIES * long && how.over === 2) return undefined;
    const found = searched(oracle, model, legs, qpos);
    const then = standsHow(oracle, model, root, legs, posed(oracle, found));
    // what stands, but only just, is left for what stands better
    const least = turn === undefined && how.height > LIES * long ? how.over : 0;
    return then.height > RAISED * long && then.over > least ? Array.from(found) : undefined;
  });
}
