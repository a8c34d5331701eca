// where a robot starts whose joints cannot be as its description draws them: knees that are never straight
import { inLine } from "../core/show.ts";
import { mjtJoint } from "../model/enums.ts";
import { nameOf, type Model } from "../model/model.ts";
import { withRobot } from "./with-robot.ts";
import { close, linkagesOf } from "./linkages.ts";
import { followersOf, isBelow } from "./motors.ts";
import { floatingBody } from "./planar.ts";
import { standingPose } from "./stand-up.ts";
import { kinematicsOf, straightKnees } from "./straight-legs.ts";
import { areParallel, dot, vectorAt } from "./vectors.ts";

/** How far within its range a joint starts that would be outside, in parts of the range. */
const WITHIN = 0.1;
/** rad, m that a joint may be outside. */
const OUTSIDE = 1e-3;

/** rad up to which a knee of a keyframe is as the description draws it. */
const DRAWN = 0.05;

/** A pose within the ranges of the joints, and the names of those that would be outside, and of knees that would be straight. */
export interface Bent {
  readonly qpos: readonly number[];
  /** It stands there, and does not as it is drawn. */
  readonly stands?: boolean;
  readonly joints: readonly string[];
  readonly knees: readonly string[];
}

/** What of a pose is not as the robot's description draws it, or as its keyframe `from` has it, in words. */
export const toldOf = ({ joints, knees, stands }: Bent, key = "home", from?: string): string[] => [
  ...(stands
    ? [
        `In the default pose it does not stand: in "${key}", which the scene has, it does. Look at it, and change it there.`,
      ]
    : []),
  ...(joints.length > 0
    ? [`The default pose is outside the ranges of ${joints.join(", ")}: "${key}", which the scene has, is within.`]
    : []),
  ...(knees.length > 0
    ? [
        `In ${from === undefined ? "the default pose" : `keyframe "${inLine(from)}"`} legs are straight: "${key}", which the scene has, bends ${knees.join(", ")}.`,
      ]
    : []),
];

/**
 * The pose nearest to the default one in which no joint is outside its range and no knee straight; undefined where that one is such,
 * or where loops of links cannot be closed in it.
 * Of a keyframe `from` joints stay that are outside their ranges: its author put them there.
 * Of four legs or more that do not stand as they are drawn, the pose in which they do. Of what stands on feet, the hinges above and
 * below a knee turn back half of its angle each, so that feet stay below hips, and level.
 */
export async function bentOf(
  model: Model,
  feet: readonly number[] | undefined,
  from?: readonly number[],
): Promise<Bent | undefined> {
  const followers = followersOf(model);
  const follow = new Set(followers.map(({ joint }) => joint));
  const { jnt_type: type, jnt_range: range, jnt_bodyid: body, jnt_qposadr: place, qpos0 } = model;
  const isLimited = (j: number) => model.jnt_limited[j] > 0 && range[2 * j + 1] > range[2 * j];
  const clamped = (j: number, x: number, within: number) => {
    const [low, high] = range.subarray(2 * j, 2 * j + 2);
    return isLimited(j) ? Math.max(low + within * (high - low), Math.min(high - within * (high - low), x)) : x;
  };
  const scalar = Array.from({ length: model.njnt }, (_, j) => j).filter(
    (j) => (type[j] === mjtJoint.HINGE || type[j] === mjtJoint.SLIDE) && !follow.has(j),
  );
  const start = from ?? Array.from(qpos0);
  const isOutside = (j: number) => Math.abs(clamped(j, start[place[j]], 0) - start[place[j]]) > OUTSIDE;
  const outside = from ? [] : scalar.filter(isOutside);
  if (outside.length === 0 && !feet) return undefined;
  const qpos = Array.from(start);
  for (const j of outside) qpos[place[j]] = clamped(j, start[place[j]], WITHIN);
  const root = feet && !from ? floatingBody(model) : undefined;
  const standing = root === undefined ? undefined : await standingPose(model, root, qpos);
  if (standing) return { qpos: standing, joints: [], knees: [], stands: true };

  const places = await withRobot(model, (oracle) => kinematicsOf(oracle, start));
  const straight = straightKnees(model, start, feet ?? [], places);
  // what a keyframe bends a little is meant to be so
  const isDrawn = (j: number) => Math.abs(start[place[j]] - qpos0[place[j]]) < DRAWN;
  const knees = [...straight.keys()].filter((j) => !outside.includes(j) && isDrawn(j));
  for (const j of knees) qpos[place[j]] = start[place[j]] + straight.get(j)!;
  const bends = [...outside, ...knees];
  if (bends.length === 0) return undefined;

  const axis = (j: number) => vectorAt(places.xaxis, j);
  const hinges = scalar.filter((j) => type[j] === mjtJoint.HINGE);
  const turned = new Set(bends);
  for (const j of feet ? bends.filter((k) => type[k] === mjtJoint.HINGE) : []) {
    const free = hinges.filter((k) => !turned.has(k) && areParallel(axis(j), axis(k)));
    const above = free.filter((k) => body[k] !== body[j] && isBelow(model, body[j], body[k])).at(-1);
    const below = free.find((k) => body[k] !== body[j] && isBelow(model, body[k], body[j]));
    for (const k of [above, below]) {
      if (k === undefined) continue;
      const back = (-Math.sign(dot(axis(j), axis(k))) * (qpos[place[j]] - start[place[j]])) / 2;
      qpos[place[k]] = clamped(k, start[place[k]] + back, 0);
      turned.add(k);
    }
  }
  for (const { joint, of, polynomial } of followers) {
    const by = qpos[place[of]] - qpos0[place[of]];
    qpos[place[joint]] = qpos0[place[joint]] + polynomial.reduceRight((sum, c) => sum * by + c, 0);
  }
  // servos of linkages are where joints that are bent have them
  const linkages = linkagesOf(model);
  const moved = linkages.flatMap(({ joints }) => joints).filter((j) => !turned.has(j) && !(model.jnt_stiffness[j] > 0));
  const closed = Float64Array.from(qpos);
  if (linkages.length > 0 && !(await withRobot(model, (oracle) => close(oracle, model, linkages, closed, moved))))
    return undefined;
  const called = (list: readonly number[]) => list.map((j) => nameOf(model, "joint", j) || String(j));
  return { qpos: Array.from(closed), joints: called(outside), knees: called(knees) };
}
