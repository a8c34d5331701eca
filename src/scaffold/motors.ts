// what moves a robot: servos of position, motors that tasks make servos of, wheels, thrusters; and what of each an action is
import { mjtBias, mjtEq, mjtGain, mjtGeom, mjtJoint, mjtTrn, mjtWrap } from "../model/enums.ts";
import { actuatorNames, isMotor, jointOf, type Model } from "../model/model.ts";
import { touching } from "./touching.ts";
import { turned, vectorAt, type Vector } from "./vectors.ts";

/** An actuator, and the control that it has in the pose that the robot starts in. */
export interface Motor {
  readonly name: string;
  /** A position actuator of one joint, whose control is an angle or length; or a motor that tasks make one of. */
  readonly isPosition: boolean;
  /** Of a motor of a hinge: gains of a servo for it (N m/rad, N m s/rad). */
  readonly servo?: { readonly stiffness: number; readonly damping: number };
  readonly home: number;
  /** How far from home its control goes in a task. */
  readonly reach: number;
  /** s, in which a wheel's speed follows its control: at once it throws what it drives. */
  readonly lag?: number;
}

/** Whether a body is another, or a descendant of it. */
export function isBelow({ body_parentid }: Model, body: number, root: number): boolean {
  for (let b = body; b > 0; b = body_parentid[b]) if (b === root) return true;
  return false;
}

/** Whether a joint moves with another: on bodies below, or after it on its own, as a wheel's after those that steer and spring it. */
const isCarried = (model: Model, joint: number, by: number): boolean =>
  joint > by && isBelow(model, model.jnt_bodyid[joint], model.jnt_bodyid[by]);

/** A joint that an equality keeps at a polynomial of how far another is from its default, as a URDF's mimic does. */
export interface Follower {
  readonly joint: number;
  readonly of: number;
  readonly polynomial: readonly number[];
}

/** Joints that follow others. */
export function followersOf(model: Model): Follower[] {
  return Array.from({ length: model.neq }, (_, e) => e)
    .filter((e) => model.eq_type[e] === mjtEq.JOINT && model.eq_active0[e] > 0 && model.eq_obj2id[e] >= 0)
    .map((e) => ({
      joint: model.eq_obj1id[e],
      of: model.eq_obj2id[e],
      polynomial: Array.from(model.eq_data.subarray(11 * e, 11 * e + 5)),
    }));
}

/** The body that the end of a tendon is on, which it pulls. */
function endOf(model: Model, tendon: number): number {
  const { tendon_adr, tendon_num, wrap_type, wrap_objid: id } = model;
  const ends = Array.from({ length: tendon_num[tendon] }, (_, k) => tendon_adr[tendon] + k).flatMap((k) => {
    if (wrap_type[k] === mjtWrap.JOINT) return [model.jnt_bodyid[id[k]]];
    return wrap_type[k] === mjtWrap.SITE ? [model.site_bodyid[id[k]]] : [];
  });
  // those of muscles are given from either end
  return ends.toSorted((a, b) => b - a)[0] ?? -1;
}

/** The body that an actuator acts on; of tendons the last that they pull; -1 of others. */
export function bodyOf(model: Model, i: number): number {
  const joint = jointOf(model, i);
  const id = model.actuator_trnid[2 * i];
  if (joint >= 0) return model.jnt_bodyid[joint];
  const type = model.actuator_trntype[i];
  if (type === mjtTrn.TENDON) return endOf(model, id);
  if (type === mjtTrn.SITE || type === mjtTrn.SLIDERCRANK) return model.site_bodyid[id];
  return type === mjtTrn.BODY ? id : -1;
}

/** Whether an actuator turns or slides joints: by itself, a tendon or a crank. */
export const turnsJoints = (model: Model, i: number): boolean =>
  jointOf(model, i) >= 0 || ([mjtTrn.TENDON, mjtTrn.SLIDERCRANK] as number[]).includes(model.actuator_trntype[i]);

const isFixed = (model: Model, i: number): boolean => model.actuator_gaintype[i] === mjtGain.FIXED;

/** A servo of velocity: its control is a speed. */
const isVelocity = (model: Model, i: number): boolean =>
  isFixed(model, i) &&
  model.actuator_biastype[i] === mjtBias.AFFINE &&
  model.actuator_biasprm[10 * i + 1] === 0 &&
  model.actuator_biasprm[10 * i + 2] < 0;

/** A wheel's middle lies on its axis, but for so much of its size. */
const OFF_AXIS = 0.2;

/** The middle of a geom in the frame of a body that its own is fixed to. */
function placeIn(model: Model, geom: number, body: number): Vector {
  let p = vectorAt(model.geom_pos, geom);
  for (let b = model.geom_bodyid[geom]; b !== body; b = model.body_parentid[b]) {
    const [x, y, z] = turned(p, model.body_quat.subarray(4 * b, 4 * b + 4));
    const [px, py, pz] = vectorAt(model.body_pos, b);
    p = [x + px, y + py, z + pz];
  }
  return p;
}

/** Whether what turns with a hinge is round about its axis: all of it that can touch. */
function isRound(model: Model, joint: number): boolean {
  const body = model.jnt_bodyid[joint];
  const round: number[] = [mjtGeom.SPHERE, mjtGeom.CAPSULE, mjtGeom.ELLIPSOID, mjtGeom.CYLINDER, mjtGeom.MESH];
  const touches = touching(model, body);
  return (
    touches.length > 0 &&
    touches.every((g) => {
      if (!round.includes(model.geom_type[g])) return false;
      const from = placeIn(model, g, body).map((x, k) => x - model.jnt_pos[3 * joint + k]);
      const along = from.reduce((sum, x, k) => sum + x * model.jnt_axis[3 * joint + k], 0);
      const off = Math.sqrt(Math.max(0, from.reduce((sum, x) => sum + x * x, 0) - along * along));
      return off <= OFF_AXIS * model.geom_rbound[g];
    })
  );
}

/** Joints that actuators move by themselves. */
export const drivenJoints = (model: Model): ReadonlySet<number> =>
  new Set(Array.from({ length: model.nu }, (_, i) => jointOf(model, i)));

const jointsOf = (model: Model): number[] => Array.from({ length: model.njnt }, (_, j) => j);

/** rad: a hinge that turns by more has no end, as wheels whose limits are 999999. */
const ENDLESS = 100;

const turnsEndlessly = (model: Model, j: number): boolean =>
  model.jnt_type[j] === mjtJoint.HINGE &&
  (model.jnt_limited[j] === 0 || model.jnt_range[2 * j + 1] - model.jnt_range[2 * j] > ENDLESS);

/** So few hinges on a wheel are no rollers about its rim: a castor on a fork, a pendulum. */
const FEW_ROLLERS = 2;

/** What an omnidirectional wheel has about its rim: hinges that nothing drives, all that hangs on its own; else none. */
export function rollersOf(model: Model, wheel: number): number[] {
  const driven = drivenJoints(model);
  const hanging = jointsOf(model).filter((j) => isCarried(model, j, wheel));
  const isRim =
    driven.has(wheel) &&
    hanging.length > FEW_ROLLERS &&
    hanging.every(
      (j) =>
        turnsEndlessly(model, j) &&
        !driven.has(j) &&
        model.body_parentid[model.jnt_bodyid[j]] === model.jnt_bodyid[wheel],
    );
  return isRim ? hanging : [];
}

/** Hinges that turn without end at the end of a limb, driven by speed or round, and rollers on them: their angle is no pose. */
export function wheelsOf(model: Model): ReadonlySet<number> {
  const joints = jointsOf(model);
  const bySpeed = new Set(
    Array.from({ length: model.nu }, (_, i) => i)
      .filter((i) => isVelocity(model, i))
      .map((i) => jointOf(model, i)),
  );
  const isLast = (j: number) => !joints.some((k) => isCarried(model, k, j));
  const ends = joints.filter((j) => turnsEndlessly(model, j) && isLast(j) && (bySpeed.has(j) || isRound(model, j)));
  const rimmed = joints
    .filter((j) => turnsEndlessly(model, j))
    .flatMap((j) => {
      const rollers = rollersOf(model, j);
      return rollers.length > 0 ? [j, ...rollers] : [];
    });
  return new Set([...ends, ...rimmed]);
}

/** A servo spends a motor's torque on so much of an error (rad); its damping is this part of its stiffness (s), and at least that. */
const SERVO_ERROR = 0.67;
const SERVO_DAMPING = 0.04;
const LEAST_DAMPING = 0.02;
/** What a damper may take of a dof's speed in a physics step: beyond 2 it gains. */
const DAMPED = 0.5;

/** The force of an actuator on its joint that something bounds; 0 of one that is not bounded both ways. */
function most(model: Model, i: number): number {
  const joint = jointOf(model, i);
  const perControl = Math.abs(model.actuator_gear[6 * i] * model.actuator_gainprm[10 * i]);
  const bound = (limited: number, range: ArrayLike<number>, at: number, scale: number) =>
    limited > 0 ? scale * Math.min(-range[2 * at], range[2 * at + 1]) : Infinity;
  // controls of a servo are places, which bound no force
  const isServo = model.actuator_biastype[i] === mjtBias.AFFINE && model.actuator_biasprm[10 * i + 1] !== 0;
  const force = Math.min(
    isServo ? Infinity : bound(model.actuator_ctrllimited[i], model.actuator_ctrlrange, i, perControl),
    bound(model.actuator_forcelimited[i], model.actuator_forcerange, i, Math.abs(model.actuator_gear[6 * i])),
    bound(model.jnt_actfrclimited[joint], model.jnt_actfrcrange, joint, 1),
  );
  return force < Infinity ? Math.max(0, force) : 0;
}

/** The speed (rad/s, m/s) at which friction and damper of its joint take all of an actuator's force; Infinity where nothing bounds it. */
export function fastestOf(model: Model, i: number): number {
  const dof = model.jnt_dofadr[jointOf(model, i)];
  const force = most(model, i);
  if (force === 0 || model.dof_damping[dof] === 0) return Infinity;
  return Math.max(0, force - model.dof_frictionloss[dof]) / model.dof_damping[dof];
}

/** Whether nothing says how strong a motor is. */
const isUnbounded = (model: Model, i: number): boolean =>
  model.actuator_ctrllimited[i] === 0 &&
  model.actuator_forcelimited[i] === 0 &&
  model.jnt_actfrclimited[jointOf(model, i)] === 0;

/**
 * Gains of a servo for a motor that is called something, by its torque where that is bounded, by what its joint needs where nothing
 * says; undefined of other actuators.
 */
function servoFor(model: Model, i: number, name: string, needed: (joint: number) => number): Motor["servo"] {
  if (!isMotor(model, i) || name === "" || model.actuator_gear[6 * i] * model.actuator_gainprm[10 * i] === 0)
    return undefined;
  const force = isUnbounded(model, i) ? needed(jointOf(model, i)) : most(model, i);
  return force > 0 ? servoWithin(model, i, force / SERVO_ERROR) : undefined;
}

/** Gains of a servo for a motor, as stiff as is asked (N m/rad) where physics steps follow that. */
export function servoWithin(model: Model, i: number, asked: number): NonNullable<Motor["servo"]> {
  const inertia = model.dof_M0[model.jnt_dofadr[jointOf(model, i)]];
  const steady = (DAMPED * inertia) / model.opt.timestep;
  const stiffness = Math.min(asked, steady / LEAST_DAMPING);
  return { stiffness, damping: Math.min(SERVO_DAMPING * stiffness, steady) };
}

/** Control of actuators that are no servos, in a pose: what a keyframe says, or the middle; and how far it goes both ways. */
function freeControl(model: Model, i: number, control: number | undefined): { home: number; reach: number } {
  if (model.actuator_ctrllimited[i] === 0) {
    // a force that only its joint bounds, or a speed (rad/s, m/s)
    const force = jointOf(model, i) >= 0 && isMotor(model, i) ? most(model, i) : 0;
    const perControl = Math.abs(model.actuator_gear[6 * i] * model.actuator_gainprm[10 * i]);
    return { home: 0, reach: force > 0 ? force / perControl : isVelocity(model, i) ? SPEED : 1 };
  }
  const [low, high] = model.actuator_ctrlrange.subarray(2 * i, 2 * i + 2);
  const room = control === undefined ? 0 : Math.min(control - low, high - control);
  if (room > 0.1 * (high - low)) return { home: control!, reach: room };
  return { home: (low + high) / 2, reach: (high - low) / 2 };
}

const WHEEL_LAG = 0.05;
/** rad/s or m/s of servos of velocity whose control has no range. */
const SPEED = 10;

/** N upwards for each unit of control of what pushes a body itself, as that lies in the default pose; 0 of other actuators. */
export function upwards(model: Model, i: number): number {
  if (bodyOf(model, i) < 0 || turnsJoints(model, i)) return 0;
  const [x, y, z] = model.actuator_gear.subarray(6 * i, 6 * i + 3);
  const site = model.actuator_trntype[i] === mjtTrn.SITE ? model.actuator_trnid[2 * i] : -1;
  const [qw, qx, qy, qz] = site < 0 ? [1, 0, 0, 0] : model.site_quat.subarray(4 * site, 4 * site + 4);
  const force = 2 * (qx * qz - qw * qy) * x + 2 * (qy * qz + qw * qx) * y + (1 - 2 * (qx * qx + qy * qy)) * z;
  return force * model.actuator_gainprm[10 * i];
}

/** Actuators that push a body up and never down, as rotors do, where all of them together lift what hangs on it; else none. */
export function liftersOf(model: Model, body: number): number[] {
  const rotors = Array.from({ length: model.nu }, (_, i) => i).filter((i) => {
    const on = bodyOf(model, i);
    const isOneWay = model.actuator_ctrllimited[i] > 0 && model.actuator_ctrlrange[2 * i] >= 0;
    return isOneWay && on >= 0 && model.body_weldid[on] === body && upwards(model, i) > 0;
  });
  const most = rotors.reduce((sum, i) => sum + upwards(model, i) * model.actuator_ctrlrange[2 * i + 1], 0);
  return most > 9.81 * model.body_subtreemass[body] ? rotors : [];
}

/** Controls that hold a body up which thrusters carry, where no keyframe says them: each the same part of its range. */
export function hoverOf(model: Model, mass: number, body: number): (number | undefined)[] {
  const lifters = new Set(liftersOf(model, body));
  const thrust = Array.from({ length: model.nu }, (_, i) =>
    lifters.size === 0 || lifters.has(i) ? upwards(model, i) : 0,
  );
  const up = thrust.reduce((sum, f) => sum + Math.max(0, f), 0);
  return thrust.map((f) => (f > 0 ? (mass * 9.81) / up : undefined));
}

/** How far an action moves a servo at most (rad). */
export const MOST_REACH = 0.5;

/**
 * What moves a robot in a pose. `ctrl`: controls that hold it there, where they are known; `needed`: the torque that a joint needs
 * whose motor nothing bounds (N m), 0 where that is not known.
 */
export function motorsOf(
  model: Model,
  qpos: readonly number[],
  ctrl: readonly (number | undefined)[] = [],
  needed: (joint: number) => number = () => 0,
): Motor[] {
  const wheels = wheelsOf(model);
  const names = actuatorNames(model);
  return Array.from({ length: model.nu }, (_, i): Motor => {
    const joint = jointOf(model, i);
    const isScalar = joint >= 0 && [mjtJoint.HINGE, mjtJoint.SLIDE].includes(model.jnt_type[joint] as 2 | 3);
    const kp = model.actuator_gainprm[10 * i];
    const isServo =
      isFixed(model, i) &&
      model.actuator_biastype[i] === mjtBias.AFFINE &&
      kp > 0 &&
      Math.abs(model.actuator_biasprm[10 * i + 1] + kp) < 1e-9 * kp;
    const name = names[i] || String(i);
    const turns = joint >= 0 && model.jnt_type[joint] === mjtJoint.HINGE && !wheels.has(joint);
    const servo = turns ? servoFor(model, i, names[i], needed) : undefined;
    if (!isScalar || wheels.has(joint) || !(isServo || servo)) {
      const hurries = wheels.has(joint) && isVelocity(model, i) && names[i] !== "";
      return { name, isPosition: false, ...freeControl(model, i, ctrl[i]), ...(hurries && { lag: WHEEL_LAG }) };
    }
    const home = qpos[model.jnt_qposadr[joint]];
    const range = model.jnt_limited[joint] > 0 ? model.jnt_range[2 * joint + 1] - model.jnt_range[2 * joint] : Infinity;
    return { name, isPosition: true, home, reach: Math.min(MOST_REACH, range / 4), ...(servo && { servo }) };
  });
}
