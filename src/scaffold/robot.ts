// what a task must know of a robot: what floats, what moves it, how it stands, what it stands on and reaches with
import { CorralError } from "../core/errors.ts";
import { mjtBias, mjtDyn, mjtGain, mjtGeom, mjtJoint, mjtTrn } from "../model/enums.ts";
import { nameOf, type Model } from "../model/model.ts";
import { withMuJoCo } from "../model/oracle.ts";
import { listen } from "../model/mujoco.ts";

/** An actuator, and the control that it has in the pose that the robot starts in. */
export interface Motor {
  readonly name: string;
  /** A position actuator of one joint, whose control is an angle or length; or a motor that tasks make one of. */
  readonly isPosition: boolean;
  /** Of a motor of a hinge whose torque is bounded: gains of a servo for it (N m/rad, N m s/rad). */
  readonly servo?: { readonly stiffness: number; readonly damping: number };
  readonly home: number;
  /** How far from home its control goes in a task. */
  readonly reach: number;
}

export interface Robot {
  readonly model: Model;
  /** The keyframe to start from; undefined for the default pose. */
  readonly key: string | undefined;
  readonly qpos: readonly number[];
  readonly motors: readonly Motor[];
  /** kg, and the height that it spans (m). */
  readonly mass: number;
  readonly span: number;
  /** World positions of bodies and sites in the pose it starts in, 3 numbers each. */
  readonly xpos: Float64Array;
  readonly site_xpos: Float64Array;
  /** Least distance of a contact in that pose (m); undefined if nothing touches. */
  readonly contact: number | undefined;
}

/** A body that floats and is moved by actuators. */
export interface Base {
  readonly body: number;
  readonly joint: string | number;
  readonly height: number;
  /** Its first place in qpos and in qvel behind the free joint, and those after its last joint. */
  readonly qpos: readonly [number, number];
  readonly qvel: readonly [number, number];
  /** Bodies that end its limbs and are lowest. */
  readonly feet: readonly number[];
}

const refuse = (code: string, text: string): CorralError => new CorralError(code, text);

/** How a pose is called that robots stand in. */
const HOME = /home|stand|stance|default|rest|knees_bent/i;

/** What a robot stands on that does not stand on all its feet, as in "stand_on_left_leg". */
const ON_SOME = /left|right|one_|single/i;

function homeKey(model: Model): number {
  const named = model.names.key.findIndex((name) => HOME.test(name ?? "") && !ON_SOME.test(name ?? ""));
  return named >= 0 ? named : model.nkey > 0 ? 0 : -1;
}

function motorsOf(model: Model, qpos: readonly number[]): Motor[] {
  return Array.from({ length: model.nu }, (_, i): Motor => {
    const joint = model.actuator_trnid[2 * i];
    const isJoint = model.actuator_trntype[i] === mjtTrn.JOINT;
    const isScalar = isJoint && [mjtJoint.HINGE, mjtJoint.SLIDE].includes(model.jnt_type[joint] as 2 | 3);
    const kp = model.actuator_gainprm[10 * i];
    const isServo =
      model.actuator_gaintype[i] === mjtGain.FIXED &&
      model.actuator_biastype[i] === mjtBias.AFFINE &&
      kp > 0 &&
      Math.abs(model.actuator_biasprm[10 * i + 1] + kp) < 1e-9 * kp;
    const isLimited = model.actuator_ctrllimited[i] > 0;
    const [low, high] = isLimited ? model.actuator_ctrlrange.subarray(2 * i, 2 * i + 2) : [-1, 1];
    const name = nameOf(model, "actuator", i) || String(i);
    const servo = isJoint && model.jnt_type[joint] === mjtJoint.HINGE ? servoFor(model, i) : undefined;
    if (!isScalar || !(isServo || servo))
      return { name, isPosition: false, home: (low + high) / 2, reach: (high - low) / 2 };
    const home = qpos[model.jnt_qposadr[joint]];
    const range = model.jnt_limited[joint] > 0 ? model.jnt_range[2 * joint + 1] - model.jnt_range[2 * joint] : Infinity;
    return { name, isPosition: true, home, reach: Math.min(0.5, range / 4), ...(servo && { servo }) };
  });
}

/** A servo spends a motor's torque on so much of an error (rad); its damping is this part of its stiffness (s). */
const SERVO_ERROR = 0.67;
const SERVO_DAMPING = 0.02;

/** Gains of a servo for a named motor without a gear and with bounded torque; undefined of other actuators. */
function servoFor(model: Model, i: number): Motor["servo"] {
  const isMotor =
    model.actuator_gaintype[i] === mjtGain.FIXED &&
    model.actuator_biastype[i] === mjtBias.NONE &&
    model.actuator_dyntype[i] === mjtDyn.NONE;
  const isDirect = model.actuator_gear[6 * i] === 1 && nameOf(model, "actuator", i) !== "";
  if (!isMotor || !isDirect || model.actuator_ctrllimited[i] === 0) return undefined;
  const most = model.actuator_ctrlrange[2 * i + 1] * model.actuator_gainprm[10 * i];
  const stiffness = most / SERVO_ERROR;
  return stiffness > 0 ? { stiffness, damping: SERVO_DAMPING * stiffness } : undefined;
}

/**
 * Looks at a model in the pose that it starts in: its keyframe of home or standing, the first one, or the default pose.
 * @throws CorralError no-actuators
 */
export async function robotOf(model: Model): Promise<Robot> {
  if (model.nu === 0)
    throw refuse("no-actuators", "the model has no actuators; nothing can be learnt. Add <actuator> to the MJCF.");
  const key = homeKey(model);
  const pose = key < 0 ? model.qpos0 : model.key_qpos.subarray(key * model.nq, (key + 1) * model.nq);
  const qpos = Array.from(pose);
  // a keyframe without a name cannot be started from
  const name = key < 0 ? undefined : nameOf(model, "key", key) || undefined;
  const start = name === undefined ? Array.from(model.qpos0) : qpos;
  const { xpos, site_xpos, contact } = await withMuJoCo(model, (oracle) => {
    oracle.write("qpos", start);
    listen(() => oracle.mujoco.mj_forward(oracle.model, oracle.data));
    const distances = oracle.contacts().map(({ dist }) => dist);
    return {
      xpos: oracle.read("xpos"),
      site_xpos: model.nsite > 0 ? oracle.read("site_xpos") : new Float64Array(),
      contact: distances.length > 0 ? Math.min(...distances) : undefined,
    };
  });
  const heights = Array.from({ length: model.nbody - 1 }, (_, i) => xpos[3 * i + 5]);
  return {
    model,
    key: name,
    qpos: start,
    motors: motorsOf(model, start),
    mass: model.body_mass.reduce((sum, m) => sum + m, 0),
    span: Math.max(...heights) - Math.min(...heights),
    xpos,
    site_xpos,
    contact,
  };
}

/** Whether a body is a descendant of another. */
function isBelow({ body_parentid }: Model, body: number, root: number): boolean {
  for (let b = body; b > 0; b = body_parentid[b]) if (b === root) return true;
  return false;
}

const jointsBelow = (model: Model, root: number): number[] =>
  Array.from({ length: model.njnt }, (_, j) => j).filter((j) => isBelow(model, model.jnt_bodyid[j], root));

/** Bodies below a root that end its limbs: what moves, and has no moving children. */
function limbEnds(model: Model, root: number): number[] {
  const moving = [...new Set(jointsBelow(model, root).map((j) => model.jnt_bodyid[j]))].filter((b) => b !== root);
  return moving.filter((b) => !moving.some((other) => other !== b && isBelow(model, other, b)));
}

/** Whether something of the world itself can be stood on. */
const hasGround = (model: Model): boolean =>
  Array.from({ length: model.ngeom }, (_, g) => g).some(
    (g) =>
      model.geom_bodyid[g] === 0 &&
      ([mjtGeom.PLANE, mjtGeom.HFIELD, mjtGeom.BOX] as number[]).includes(model.geom_type[g]) &&
      (model.geom_contype[g] > 0 || model.geom_conaffinity[g] > 0),
  );

/** How much higher than the lowest end of a limb another may be to be a foot too, in parts of the height of the base. */
const FOOT_HEIGHT = 0.2;

/** The free joint of the body that most actuators move; undefined where none moves one that floats. */
export function drivenBase(model: Model): number | undefined {
  const free = Array.from({ length: model.njnt }, (_, j) => j).filter((j) => model.jnt_type[j] === mjtJoint.FREE);
  const driven = (j: number): number =>
    Array.from({ length: model.nu }, (_, i) => i).filter(
      (i) =>
        model.actuator_trntype[i] === mjtTrn.JOINT &&
        isBelow(model, model.jnt_bodyid[model.actuator_trnid[2 * i]], model.jnt_bodyid[j]),
    ).length;
  const best = free.toSorted((a, b) => driven(b) - driven(a))[0];
  return best === undefined || driven(best) === 0 ? undefined : best;
}

/**
 * The floating body that most actuators move.
 * @throws CorralError no-free-base, no-ground
 */
export function baseOf({ model, xpos }: Robot): Base {
  const best = drivenBase(model);
  if (best === undefined)
    throw refuse(
      "no-free-base",
      "no body floats (a free joint) that actuators move, so there is nothing to walk. Take --kind reach for an arm.",
    );
  if (!hasGround(model))
    throw refuse(
      "no-ground",
      "the model has no floor: no plane, box or height field of the world that collides. Name the scene that has one (often scene.xml beside the robot).",
    );
  const body = model.jnt_bodyid[best];
  const joints = jointsBelow(model, body).filter((j) => j !== best);
  const [first, last] = [joints[0], joints.at(-1)!];
  const sizes = (of: "qpos" | "qvel") => (model.jnt_type[last] === mjtJoint.BALL ? (of === "qpos" ? 4 : 3) : 1);
  const z = (b: number): number => xpos[3 * b + 2];
  const ends = limbEnds(model, body).filter((b) => z(b) < z(body));
  const lowest = Math.min(...ends.map(z));
  return {
    body,
    joint: nameOf(model, "joint", best) || best,
    height: z(body),
    qpos: [model.jnt_qposadr[first], model.jnt_qposadr[last] + sizes("qpos")],
    qvel: [model.jnt_dofadr[first], model.jnt_dofadr[last] + sizes("qvel")],
    feet: ends.filter((b) => z(b) - lowest < FOOT_HEIGHT * (z(body) - lowest)),
  };
}

/** How the end of an arm is called. */
const TIP = /attachment|grip|pinch|tcp|tool|end_?eff|ee_?(site|pos)?$|tip|hand/i;

/** What an arm reaches with, by expression, and where it is at the start. */
export function tipOf({ model, site_xpos, xpos }: Robot): { expression: string; at: number[]; reach: number } {
  const named = model.names.site.findIndex((name) => TIP.test(name ?? ""));
  const moving = [...new Set(Array.from({ length: model.njnt }, (_, j) => model.jnt_bodyid[j]))];
  const depth = (b: number): number => (b === 0 ? 0 : 1 + depth(model.body_parentid[b]));
  const last = moving.toSorted((a, b) => depth(b) - depth(a))[0];
  const at = [...(named >= 0 ? site_xpos.subarray(3 * named, 3 * named + 3) : xpos.subarray(3 * last, 3 * last + 3))];
  const root = moving.toSorted((a, b) => depth(a) - depth(b))[0];
  const reach = Math.hypot(...at.map((x, i) => x - xpos[3 * root + i]));
  const place = (kind: "site" | "body", id: number) => `${kind}[${JSON.stringify(nameOf(model, kind, id))}]`;
  const byName = named >= 0 ? `site_xpos(${place("site", named)})` : `xpos(${place("body", last)})`;
  const expression = named >= 0 || nameOf(model, "body", last) !== "" ? byName : `xpos[${3 * last}:${3 * last + 3}]`;
  return { expression, at, reach };
}
