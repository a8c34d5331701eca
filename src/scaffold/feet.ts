// what a robot stands on, and what floats of it
import { mjtJoint } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { bodyOf, drivenJoints, isBelow, liftersOf, turnsJoints, wheelsOf } from "./motors.ts";
import { cross, dot, vectorAt } from "./vectors.ts";

export const jointsBelow = (model: Model, root: number): number[] =>
  Array.from({ length: model.njnt }, (_, j) => j).filter((j) => isBelow(model, model.jnt_bodyid[j], root));

/** Bodies below a root that end its limbs: what moves, and has no moving children. */
export function limbEnds(model: Model, root: number): number[] {
  const moving = [...new Set(jointsBelow(model, root).map((j) => model.jnt_bodyid[j]))].filter((b) => b !== root);
  return moving.filter((b) => !moving.some((other) => other !== b && isBelow(model, other, b)));
}

/** How much higher than the lowest end of a limb another may be to be a foot too, in parts of the height of the base. */
const FOOT_HEIGHT = 0.2;

/** Bodies below one that end its limbs and are lowest; none of what rolls or flies. */
export function feetOf(model: Model, body: number, xpos: Float64Array): number[] {
  if (flies(model, body) || rollsOn(model, body)) return [];
  const z = (b: number): number => xpos[3 * b + 2];
  const ends = limbEnds(model, body).filter((b) => z(b) < z(body));
  const lowest = Math.min(...ends.map(z));
  return ends.filter((b) => z(b) - lowest < FOOT_HEIGHT * (z(body) - lowest));
}

/** Whether a body goes on wheels that are driven. */
export function rollsOn(model: Model, body: number): boolean {
  const [wheels, driven] = [wheelsOf(model), drivenJoints(model)];
  return jointsBelow(model, body).some((j) => wheels.has(j) && driven.has(j));
}

/** Free joints of bodies that actuators move, that of the body which most of them move first. */
export function drivenBases(model: Model): number[] {
  const driven = (j: number): number =>
    Array.from({ length: model.nu }, (_, i) => i).filter((i) => isBelow(model, bodyOf(model, i), model.jnt_bodyid[j]))
      .length;
  return Array.from({ length: model.njnt }, (_, j) => j)
    .filter((j) => model.jnt_type[j] === mjtJoint.FREE && driven(j) > 0)
    .toSorted((a, b) => driven(b) - driven(a));
}

/** The free joint of the body that most actuators move; undefined where none moves one that floats. */
export const drivenBase = (model: Model): number | undefined => drivenBases(model)[0];

/** A body that floats by joints of its own, by id, without a free joint. */
export interface SlidingBase {
  readonly body: number;
  readonly joints: readonly number[];
  readonly hasBall: boolean;
}

/** How far from one plane the axes of three joints are at least, as the volume that they span. */
const SPANNED = 0.1;

/** A body that three slides and a ball joint of its own, or three hinges, let go anywhere: no free joint, but as much. */
export function slidingBase({ nbody, jnt_bodyid, jnt_type, jnt_axis }: Model): SlidingBase | undefined {
  for (let body = 1; body < nbody; body++) {
    const joints = Array.from(jnt_type.keys()).filter((j) => jnt_bodyid[j] === body);
    const spans = (type: number) => {
      const [a, b, c, ...more] = joints.filter((j) => jnt_type[j] === type).map((j) => vectorAt(jnt_axis, j));
      return c !== undefined && more.length === 0 && Math.abs(dot(cross(a, b), c)) > SPANNED;
    };
    const hasBall = joints.length === 4 && joints.some((j) => jnt_type[j] === mjtJoint.BALL);
    if (spans(mjtJoint.SLIDE) && (hasBall || (joints.length === 6 && spans(mjtJoint.HINGE))))
      return { body, joints, hasBall };
  }
  return undefined;
}

/** Whether rotors carry a body, whatever arm it has, or thrusters alone move it: no joint of its own. */
export const flies = (model: Model, body: number): boolean =>
  liftersOf(model, body).length > 0 ||
  !Array.from({ length: model.nu }, (_, i) => i).some(
    (i) => turnsJoints(model, i) && isBelow(model, bodyOf(model, i), body),
  );
