// actuators for the joints of a robot whose description has none, as a scene has them
import { escaped } from "../core/xml-text.ts";
import { mjtEq, mjtJoint } from "../model/enums.ts";
import { nameOf, type Model } from "../model/model.ts";
import { isBelow, wheelsOf } from "./motors.ts";
import { leastOf } from "./upright-servos.ts";

export interface ServoOptions {
  /** Its weight times its height (N m), where both are known. */
  readonly carries?: number;
  /** How many times as stiff its servos are. */
  readonly stiffer?: number;
  /** Names of the joints of its legs. */
  readonly legs?: ReadonlySet<string>;
  /** The least stiffness of the servos of its legs (N m/rad). */
  readonly least?: number;
  /** Steps take dampers of servos from where a step begins. */
  readonly isExplicit?: boolean;
}

/** A servo spends its force on so much of an error (rad, m); its damping is this part of its stiffness (s). */
const SERVO_ERROR = 0.67;
const SERVO_DAMPING = 0.05;
/** rad/s that wheels are asked for at most, and the error that takes all of their torque. */
const WHEEL_SPEED = 20;
const WHEEL_ERROR = 5;
/**
 * Of a robot that stands free, the part of its weight times its height that servos are stiff enough for at most: motors of Go1,
 * ANYmal and G1 have 0.3 to 0.7 of it. Many URDFs say 100 or 1,000 N m of any joint.
 */
const STANDING = 1;
/** Of a robot that stands free, the part of its weight times its height that a joint of a leg has where nothing says. */
const LEG_FORCE = 0.5;
/** How many times what hangs on a joint, stretched out level, its motor holds where nothing says. */
const SPARE = 2;
/** The part of a link's speed that a damper may take in a step that begins with it. */
const TAKEN = 1;

export const short = (x: number): string => String(Number(x.toPrecision(4)));

/** What the servos are made by of a robot that stands free on its feet; `carries`: its weight times its height (N m). */
export const standingOn = (model: Model, feet: readonly number[], carries: number): ServoOptions => ({
  carries,
  // joints that carry it on its feet
  legs: new Set(
    Array.from({ length: model.njnt }, (_, j) => j)
      .filter((j) => feet.some((foot) => isBelow(model, foot, model.jnt_bodyid[j])))
      .map((j) => model.names.joint[j]),
  ),
  least: leastOf(feet, carries),
});

/** kg of what hangs on a joint, and of all that moves with it: of what floats its own, without what stands about it. */
function massesOf(model: Model, joint: number): { readonly hangs: number; readonly whole: number } {
  const mass = (bodies: (b: number) => boolean) => model.body_mass.reduce((sum, m, b) => sum + (bodies(b) ? m : 0), 0);
  const root = model.body_rootid[model.jnt_bodyid[joint]];
  const floats = model.body_jntnum[root] > 0 && model.jnt_type[model.body_jntadr[root]] === mjtJoint.FREE;
  return {
    hangs: mass((b) => isBelow(model, b, model.jnt_bodyid[joint])),
    whole: mass((b) => !floats || isBelow(model, b, root)),
  };
}

/** What a joint may be moved with (N m, N): what is said of it, or what carries a part of what hangs on it, or stands on it. */
export function forceOf(model: Model, joint: number, { carries, legs }: ServoOptions): number {
  const said = model.jnt_actfrclimited[joint] > 0 ? model.jnt_actfrcrange[2 * joint + 1] : 0;
  if (said > 0) return said;
  if (carries !== undefined && legs?.has(nameOf(model, "joint", joint))) return LEG_FORCE * carries;
  const { hangs, whole } = massesOf(model, joint);
  const dof = model.jnt_dofadr[joint];
  // no lever is longer than the inertia about the joint has it: (sum m r)^2 <= sum m * sum m r^2
  const inertia = Math.max(0, model.dof_M0[dof] - model.dof_armature[dof]);
  const holds = model.jnt_type[joint] === mjtJoint.HINGE ? SPARE * Math.sqrt(hangs * inertia) : 0;
  return 9.81 * Math.max(0.3 * Math.max(hangs, 0.2 * whole), holds);
}

/** A servo of a joint, as its scene has it (N m/rad, N m s/rad), and the inertia of its rotor where it needs one (kg m^2). */
interface SceneServo {
  readonly kp: string;
  readonly kv: string;
  readonly armature?: string;
}

/**
 * The servo of a joint. Legs of robots on two feet are as stiff as hold them upright: where their links are lighter than steps
 * follow that, the motor gets a rotor, which the description says nothing of and real ones have.
 */
function servoOf(model: Model, joint: number, options: ServoOptions): SceneServo {
  const { carries = Infinity, stiffer = 1, isExplicit = false, legs, least = 0 } = options;
  const force = forceOf(model, joint, options);
  const { timestep } = model.opt;
  // stiffer than this for its inertia a free link would swing faster than steps can follow
  const steady = Math.min(0.25 / timestep ** 2, isExplicit ? TAKEN / (SERVO_DAMPING * timestep) : Infinity);
  const inertia = model.dof_M0[model.jnt_dofadr[joint]];
  const asked = (stiffer * Math.min(force, STANDING * carries)) / SERVO_ERROR;
  const holds = legs?.has(nameOf(model, "joint", joint)) ? least : 0;
  const kp = Math.max(Math.min(asked, steady * inertia), holds);
  const rotor = holds > steady * inertia ? { armature: short(holds / steady - inertia) } : {};
  return { kp: short(kp), kv: short(SERVO_DAMPING * kp), ...rotor };
}

/** Joints that are driven, by id: what follows another is moved by it. */
export function drivenIn(model: Model): number[] {
  const held = new Set(
    Array.from(model.eq_type).flatMap((type, e) =>
      type === mjtEq.JOINT && model.eq_active0[e] > 0 ? [model.eq_obj1id[e]] : [],
    ),
  );
  return Array.from({ length: model.njnt }, (_, j) => j).filter(
    (j) =>
      [mjtJoint.HINGE, mjtJoint.SLIDE].includes(model.jnt_type[j] as 2 | 3) &&
      nameOf(model, "joint", j) !== "" &&
      !held.has(j),
  );
}

/** Lines of a scene's actuators: a servo of position for each joint that is driven, and one of velocity for wheels. */
export function actuatorsOf(model: Model, options: ServoOptions): string {
  const wheels = wheelsOf(model);
  const lines = drivenIn(model).map((joint) => {
    const name = escaped(nameOf(model, "joint", joint));
    const force = forceOf(model, joint, options);
    const bound = `forcerange="${short(-force)} ${short(force)}"`;
    if (wheels.has(joint))
      return `<velocity name="${name}" joint="${name}" kv="${short(force / WHEEL_ERROR)}" ctrlrange="-${WHEEL_SPEED} ${WHEEL_SPEED}" ${bound}/>`;
    const { kp, kv, armature } = servoOf(model, joint, options);
    const rotor = armature === undefined ? "" : ` armature="${armature}"`;
    return `<position name="${name}" joint="${name}" kp="${kp}" kv="${kv}"${rotor} ${bound}/>`;
  });
  return lines.map((line) => `    ${line}`).join("\n");
}

/** Gains of all actuators of a scene; undefined of wheels, whose servos hold no pose. */
export function servosIn(model: Model, options: ServoOptions): (readonly [kp: number, kv: number] | undefined)[] {
  const wheels = wheelsOf(model);
  return drivenIn(model).map((j) => {
    if (wheels.has(j)) return undefined;
    const { kp, kv } = servoOf(model, j, options);
    return [Number(kp), Number(kv)];
  });
}
