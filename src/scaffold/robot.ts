// what a task must know of a robot: what floats, what moves it, how it stands, what it stands on and reaches with
import { CorralError } from "../core/errors.ts";
import { mjtJoint } from "../model/enums.ts";
import { describe, nameOf, type Model } from "../model/model.ts";
import { withRobot } from "./with-robot.ts";
import { listen } from "../model/mujoco.ts";
import { drivenBase, feetOf, flies, jointsBelow, limbEnds, rollsOn, slidingBase } from "./feet.ts";
import { whatHolds } from "./free-base.ts";
import { homeKey, type PassedKey } from "./home-key.ts";
import { bodyOf, drivenJoints, hoverOf, motorsOf, rollersOf, upwards, wheelsOf, type Motor } from "./motors.ts";
import { floatingBody } from "./planar.ts";
import { forceOf, standingOn } from "./scene-servos.ts";
import { floorOf, hasGround, lowestOf, meetsGround } from "./stance.ts";
import { upright } from "./upright-servos.ts";

export interface Robot {
  readonly model: Model;
  /** The keyframe to start from; undefined for the default pose. */
  readonly key: string | undefined;
  /** Keyframes that were passed over, in which it does not stand on its feet. */
  readonly passed: readonly PassedKey[];
  readonly qpos: readonly number[];
  readonly motors: readonly Motor[];
  /** Of what floats, or of all: kg, and the height that it spans (m). */
  readonly mass: number;
  readonly span: number;
  /** Its weight times its height as it stands, or the height that it spans (N m). */
  readonly carries: number;
  /** World positions of bodies, sites and geoms in the pose it starts in, 3 numbers each. */
  readonly xpos: Float64Array;
  readonly site_xpos: Float64Array;
  readonly geom_xpos: Float64Array;
  /** Axes of bodies there, 9 numbers each. */
  readonly xmat: Float64Array;
  /** How far what floats is raised from that pose to stand on the floor, or to hover over it (m). */
  readonly lift: number;
  /** Height of the floor (m). */
  readonly floor: number;
}

/** A body that floats and is moved by actuators. */
export interface Base {
  readonly body: number;
  readonly joint: string | number;
  /** Over the floor, and over its lowest limb (m). */
  readonly height: number;
  readonly legs: number;
  /** Rotors carry it, or nothing but thrusters moves it. */
  readonly flies: boolean;
  /** Limbs end in wheels; in ones with rollers, which go sideways too. */
  readonly rolls: boolean;
  readonly glides: boolean;
  /** The body that is fixed to it, or it itself, whose mass is drawn; undefined where none has one. */
  readonly load: number | undefined;
  /** Places in qpos of joints that have a pose: neither wheels nor castors. */
  readonly posed: readonly number[];
  /** Its first place in qpos and in qvel behind the free joint, and those after its last joint. */
  readonly qpos: readonly [number, number];
  readonly qvel: readonly [number, number];
  /** Places in qvel of its joints, but for rollers on wheels. */
  readonly turned: readonly number[];
  /** Bodies that end its limbs and are lowest. */
  readonly feet: readonly number[];
}

const refuse = (code: string, text: string): CorralError => new CorralError(code, text);

/**
 * Looks at a model in the pose that it starts in: its keyframe of home or standing, the first one, or the default pose; a
 * keyframe in which what stands on feet by default has some of them in the air is passed over.
 * @throws CorralError no-actuators
 */
export async function robotOf(model: Model): Promise<Robot> {
  if (model.nu === 0)
    throw refuse(
      "no-actuators",
      "the model has no actuators; nothing can be learnt. Add <actuator> to the MJCF: servos are written for hinges and slides that have names, of a file that lies in no zip.",
    );
  const { key, passed } = await homeKey(model);
  const pose = key < 0 ? model.qpos0 : model.key_qpos.subarray(key * model.nq, (key + 1) * model.nq);
  const qpos = Array.from(pose);
  // a keyframe without a name cannot be started from
  const name = key < 0 ? undefined : nameOf(model, "key", key) || undefined;
  const start = name === undefined ? Array.from(model.qpos0) : qpos;
  const base = floatingBody(model);
  // of what floats its own, without what stands about it
  const mass = model.body_subtreemass[base ?? 0];
  const isFlyer = base !== undefined && flies(model, base);
  const { xpos, xmat, site_xpos, geom_xpos, floor, lowest } = await withRobot(model, (oracle) => {
    oracle.write("qpos", start);
    listen(() => oracle.mujoco.mj_kinematics(oracle.model, oracle.data));
    const places = { geom_xpos: oracle.read("geom_xpos"), geom_xmat: oracle.read("geom_xmat") };
    return {
      xpos: oracle.read("xpos"),
      xmat: oracle.read("xmat"),
      geom_xpos: places.geom_xpos,
      site_xpos: model.nsite > 0 ? oracle.read("site_xpos") : new Float64Array(),
      floor: floorOf(model, places),
      lowest: base === undefined ? undefined : lowestOf(model, base, places),
    };
  });
  const own = Array.from({ length: model.nbody - 1 }, (_, i) => i + 1).filter(
    (b) => base === undefined || model.body_rootid[b] === model.body_rootid[base],
  );
  const heights = own.map((b) => xpos[3 * b + 2]);
  const gap = floor === undefined || lowest === undefined ? 0 : lowest - floor;
  const wanted = isFlyer && base !== undefined ? Math.max(0, HOVER - (xpos[3 * base + 2] - (floor ?? 0))) : -gap;
  // a keyframe's controls, where it says any
  const said = name === undefined ? [] : Array.from(model.key_ctrl.subarray(key * model.nu, (key + 1) * model.nu));
  const ctrl = said.some((x) => x !== 0) ? said : isFlyer ? hoverOf(model, mass, base) : [];
  const span = Math.max(...heights) - Math.min(...heights);
  const feet = base === undefined ? [] : feetOf(model, base, xpos);
  const lift = wanted > SUNK || wanted < -HIGH ? wanted : 0;
  const above = base === undefined ? 0 : xpos[3 * base + 2] + lift - (floor ?? 0);
  const carries = 9.81 * mass * Math.max(above, span);
  const standing = feet.length > 1 ? standingOn(model, feet, carries) : {};
  const needed = (joint: number) => forceOf(model, joint, standing);
  return {
    model,
    key: name,
    passed,
    qpos: start,
    motors: upright(model, motorsOf(model, start, ctrl, needed), feet, carries),
    mass,
    span,
    carries,
    xpos,
    site_xpos,
    geom_xpos,
    xmat,
    lift,
    floor: floor ?? 0,
  };
}

/** m over the floor of what flies. */
const HOVER = 1;
/** m that a robot may stand in the floor, and over it, where it starts. */
const SUNK = 0.002;
const HIGH = 0.02;

/** What a robot stands on, if it floats or goes in a plane: none of what rolls or flies, undefined where nothing floats. */
export function standsOn({ model, xpos }: Robot): number[] | undefined {
  const body = floatingBody(model);
  return body === undefined ? undefined : feetOf(model, body, xpos);
}

/** Of the body and what is fixed to it, the one with most mass. */
export function loadOf(model: Model, body: number): number | undefined {
  const fixed = Array.from({ length: model.nbody }, (_, b) => b).filter((b) => model.body_weldid[b] === body);
  const heaviest = fixed.toSorted((a, b) => model.body_mass[b] - model.body_mass[a])[0];
  return model.body_mass[body] > 0 ? body : model.body_mass[heaviest] > 0 ? heaviest : undefined;
}

/** Why nothing of a model goes anywhere, and what to do. */
function noBase(model: Model): string {
  const slides = slidingBase(model);
  if (slides) {
    const holds = whatHolds(model, slides);
    const where = `${describe(model, "body", slides.body)} floats by three slides and ${slides.hasBall ? "a ball joint" : "three hinges"}, not by a free joint`;
    if (holds !== undefined)
      return `${where}, and ${holds}. Where it is to walk, take that out; where it is mounted, take --kind reach.`;
    return `${where}. Put <freejoint/> in their place; in keyframes its qpos is where it is and a quaternion, not how far slides are from the body's pos.`;
  }
  const where = whereToFloat(model);
  return `no body that actuators move floats, by a free joint, or in a vertical plane by two slides and a hinge that nothing drives: there is nothing to walk.${where} ${where ? "where" : "Where"} it is mounted, take --kind reach, or track for a motion of it.`;
}

/** Where a free joint would go, in words. */
function whereToFloat(model: Model): string {
  const [root, ...others] = rootsOf(model);
  if (root === undefined) return "";
  const called = (body: number) => describe(model, "body", body);
  if (others.length > 0 && model.body_jntnum[root] > 0)
    return ` ${others.length + 1} limbs hang on the world, as ${called(root)} and ${called(others[0])}. Where it is to walk, put them and the geoms of its trunk into a <body> with a <freejoint/> and the trunk's <inertial>;`;
  return ` Where it is to walk, put <freejoint/> ${model.body_jntnum[root] > 0 ? "in place of the joints of" : "into"} ${called(root)};`;
}

/** Bodies of the world on which actuators act, those of most first. */
function rootsOf(model: Model): number[] {
  const counts = new Map<number, number>();
  for (let i = 0; i < model.nu; i++) {
    const root = model.body_rootid[Math.max(0, bodyOf(model, i))];
    if (root > 0) counts.set(root, (counts.get(root) ?? 0) + 1);
  }
  return [...counts].toSorted((a, b) => b[1] - a[1]).map(([root]) => root);
}

/**
 * Whether what floats has ground, and meets it.
 * @throws CorralError no-ground, no-contact
 */
export function checkStands(model: Model, body: number, isFlyer: boolean): void {
  if (!hasGround(model))
    throw refuse(
      "no-ground",
      "the model has no floor: no plane, box or height field of the world that collides. Name the scene that has one (often scene.xml beside the robot).",
    );
  if (!isFlyer && !meetsGround(model, body))
    throw refuse(
      "no-contact",
      "nothing of the robot meets the ground, so it falls through it. Give its links geometry that collides: <collision> in a URDF, contype and conaffinity or a <pair> in an MJCF.",
    );
}

/**
 * The floating body that most actuators move.
 * @throws CorralError no-free-base, no-lift, no-ground, no-contact
 */
export function baseOf({ model, xpos, lift, floor }: Robot): Base {
  const best = drivenBase(model);
  if (best === undefined) throw refuse("no-free-base", noBase(model));
  const body = model.jnt_bodyid[best];
  const isFlyer = flies(model, body);
  if (isFlyer && !Array.from({ length: model.nu }, (_, i) => upwards(model, i)).some((force) => Math.abs(force) > 0))
    throw refuse(
      "no-lift",
      `no actuator turns a joint of ${describe(model, "body", body)}, or pushes it up: it can neither walk, drive nor fly as it is commanded. Give it what does (<motor> of a joint, or of a site with gear="0 0 1 0 0 0"), or write a task of your own, as for a boat: corral new-task NAME without --robot.`,
    );
  checkStands(model, body, isFlyer);
  const joints = jointsBelow(model, body).filter((j) => j !== best);
  const width = (j: number, of: "qpos" | "qvel") => (model.jnt_type[j] === mjtJoint.BALL ? (of === "qpos" ? 4 : 3) : 1);
  const last = joints.at(-1);
  const places = (of: "qpos" | "qvel", from: ArrayLike<number>): [number, number] => {
    const first = from[best] + (of === "qpos" ? 7 : 6);
    return [first, last === undefined ? first : from[last] + width(last, of)];
  };
  const driven = drivenJoints(model);
  const wheels = wheelsOf(model);
  const turns = (j: number): boolean =>
    wheels.has(j) ||
    (model.jnt_type[j] === mjtJoint.BALL && !driven.has(j) && jointsBelow(model, model.jnt_bodyid[j]).length === 1);
  const z = (b: number): number => xpos[3 * b + 2];
  const ends = limbEnds(model, body).filter((b) => z(b) < z(body));
  const lowest = ends.length > 0 ? Math.min(...ends.map(z)) : z(body);
  const rollers = new Set(joints.flatMap((j) => rollersOf(model, j)));
  return {
    body,
    joint: nameOf(model, "joint", best) || best,
    height: z(body) + lift - floor,
    legs: z(body) - lowest,
    flies: isFlyer,
    rolls: rollsOn(model, body),
    glides: rollers.size > 0,
    load: loadOf(model, body),
    qpos: places("qpos", model.jnt_qposadr),
    qvel: places("qvel", model.jnt_dofadr),
    posed: joints
      .filter((j) => !turns(j))
      .flatMap((j) => Array.from({ length: width(j, "qpos") }, (_, k) => model.jnt_qposadr[j] + k)),
    turned: joints
      .filter((j) => !rollers.has(j))
      .flatMap((j) => Array.from({ length: width(j, "qvel") }, (_, k) => model.jnt_dofadr[j] + k)),
    feet: feetOf(model, body, xpos),
  };
}
