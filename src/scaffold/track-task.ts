// a task for a robot that follows a reference motion, and a motion to begin with
import { CorralError } from "../core/errors.ts";
import { mjtJoint } from "../model/enums.ts";
import { nameOf, type Model } from "../model/model.ts";
import { withRobot } from "./with-robot.ts";
import { listen } from "../model/mujoco.ts";
import {
  about,
  actionOf,
  CONTROL,
  entriesOf,
  frameSkipOf,
  number,
  numbers,
  hasServos,
  servosOf,
  text,
  type Places,
} from "./robot-tasks.ts";
import { followersOf } from "./motors.ts";
import { drivenBase } from "./feet.ts";
import { rateOf } from "./many-actions.ts";
import { baseOf, type Base, type Robot } from "./robot.ts";

/** A motion that a task reads: where its file is, as a URL relative to the task, and how. */
export interface MotionFile {
  readonly file: string;
  /** Undefined: an npz says it itself. */
  readonly fps: number | undefined;
  readonly cyclic: boolean;
  /** The order of its quaternions; undefined: MuJoCo's. */
  readonly quaternions?: "wxyz" | "xyzw" | undefined;
}

/** Frames in a second of the motion that is written, and how long a cycle of it takes (s). */
export const SWAY_FPS = 30;
const SWAY_SECONDS = 2;
/** How far joints sway (rad; a tenth of their range if that is less). */
const SWAY = 0.15;

/**
 * A cycle in which the joints of servos and motors sway about the pose that the robot starts in, its feet kept at their
 * height: rows of qpos. A motion to try a task with, before there is a better one.
 */
export async function swayOf(robot: Robot): Promise<number[][]> {
  const { model, qpos } = robot;
  const base = drivenBase(model) === undefined ? undefined : baseOf(robot);
  const swings = new Map<number, number>();
  for (let i = 0; i < model.nu; i++) {
    const joint = model.actuator_trnid[2 * i];
    if (model.actuator_trntype[i] !== 0 || model.jnt_type[joint] < mjtJoint.SLIDE) continue;
    const at = model.jnt_qposadr[joint];
    const [low, high] = model.jnt_limited[joint] > 0 ? model.jnt_range.subarray(2 * joint, 2 * joint + 2) : [-9, 9];
    // into its range, where the pose lies at an end of it
    const inward = qpos[at] > (low + high) / 2 ? -1 : 1;
    const isSlide = model.jnt_type[joint] === mjtJoint.SLIDE;
    swings.set(at, inward * Math.min(isSlide ? SWAY / 5 : SWAY, 0.1 * (high - low)));
  }
  const count = SWAY_SECONDS * SWAY_FPS;
  const rows = Array.from({ length: count + 1 }, (_, f) => {
    const part = (1 - Math.cos((2 * Math.PI * f) / count)) / 2;
    return qpos.map((x, i) => x + part * (swings.get(i) ?? 0));
  });
  follow(model, rows);
  return base === undefined ? rows : onFeet(model, base, rows);
}

/** Brings joints that follow others to where equalities want them. */
function follow(model: Model, rows: readonly number[][]): void {
  const { jnt_qposadr: at, qpos0 } = model;
  for (const { joint, of, polynomial } of followersOf(model))
    for (const row of rows) {
      const off = row[at[of]] - qpos0[at[of]];
      row[at[joint]] = qpos0[at[joint]] + polynomial.reduce((sum, a, k) => sum + a * off ** k, 0);
    }
}

/** How far from its place in the motion a base is lost at least, whose frame lies on the floor (m). */
const LEAST_LOST = 0.1;

/** The rows with the base as high as its lowest foot wants, which stays where it is in the first. */
function onFeet(model: Model, base: Base, rows: number[][]): Promise<number[][]> {
  const height = base.qpos[0] - 7 + 2;
  return withRobot(model, (oracle) => {
    const lowest = (row: number[]): number => {
      oracle.write("qpos", row);
      listen(() => oracle.mujoco.mj_kinematics(oracle.model, oracle.data));
      const xpos = oracle.read("xpos");
      return Math.min(...base.feet.map((body) => xpos[3 * body + 2]));
    };
    const stands = base.feet.length > 0 ? lowest(rows[0]) : 0;
    return rows.map((row) => {
      const sinks = base.feet.length > 0 ? lowest(row) - stands : 0;
      return row.map((x, i) => (i === height ? x - sinks : x));
    });
  });
}

/** Rows as a CSV file with the names of joints above them. */
export function csvOf(model: Model, rows: readonly (readonly number[])[]): string {
  const names = Array.from(model.jnt_type).flatMap((type, j) => {
    const name = nameOf(model, "joint", j) || `joint${j}`;
    if (type === mjtJoint.FREE) return ["x", "y", "z", "qw", "qx", "qy", "qz"].map((k) => `${name}_${k}`);
    return type === mjtJoint.BALL ? ["qw", "qx", "qy", "qz"].map((k) => `${name}_${k}`) : [name];
  });
  const cells = names.map((name) => name.replaceAll(/[,;\s]/g, "_"));
  return `${[cells, ...rows.map((row) => row.map((x) => String(Number(x.toFixed(6)))))].map((r) => r.join(",")).join("\n")}\n`;
}

/** Places in qpos of what servos turn or slide, in the order of actuators; undefined where not all actuators are servos. */
function servoed({ model, motors }: Robot): number[] | undefined {
  if (!motors.every(({ isPosition }) => isPosition)) return undefined;
  return motors.map((_, i) => model.jnt_qposadr[model.actuator_trnid[2 * i]]);
}

/** Controls from actions in [-1, 1]: of servos about the motion, which they then follow with no action at all. */
function trackingAction(robot: Robot): string {
  const places = servoed(robot);
  if (places === undefined) return actionOf(robot);
  return `  // actions in [-1, 1] move the targets of the servos about the motion, one for each actuator
  action: { clip: [-1, 1], scale: ${numbers(robot.motors.map(({ reach }) => reach))} },
  control: ${text(`${entriesOf("target", places)} + action`)},`;
}

/**
 * A robot that follows a motion.
 * @throws CorralError no-ground where it floats and there is no floor
 */
export function trackTask(
  name: string,
  robot: Robot,
  { library, model: path, motion }: Places & { readonly motion: MotionFile },
): string {
  const { model, motors } = robot;
  const base = drivenBase(model) === undefined ? undefined : baseOf(robot);
  const [q0, q1] = base?.qpos ?? [0, model.nq];
  if (q0 === q1)
    throw new CorralError("no-joints", "the robot has no joints whose motion could be followed. Take --kind velocity.");
  const [v0, v1] = base?.qvel ?? [0, model.nv];
  const joints = Math.sqrt(Math.max(1, v1 - v0));
  const isServoed = servoed(robot) !== undefined;
  const trunk = base && text(nameOf(model, "body", base.body) || base.body);
  const place =
    base &&
    (nameOf(model, "body", base.body) === ""
      ? `xpos[${3 * base.body}:${3 * base.body + 3}]`
      : "xpos(body[${JSON.stringify(BASE)}])");
  const lost = base
    ? `distance(\${PLACE}, place) > ${number(Math.max(LEAST_LOST, 0.6 * base.height))} || turned > 1`
    : `length(qpos - pose) > ${number(joints)}`;
  return `// ${name}: a robot follows a reference motion, begun anywhere in it, where it fails more often
import { readFileSync } from "node:fs";
import { actionRateCost, defineTask, ${base ? "angularVelocity, linearVelocity, " : ""}loadMotion, ${base ? "projectedGravity, " : ""}${hasServos(robot) ? "servo, " : ""}tracking } from ${text(library)};

const model = new URL(${text(path)}, import.meta.url);
${base ? `const BASE = ${trunk!};\nconst PLACE = \`${place!}\`;\n` : ""}/** Too far from the motion to come back: an episode ends. */
const LOST = \`${lost}\`;
const motion = await loadMotion(readFileSync(new URL(${text(motion.file)}, import.meta.url)), {
  model,${motion.fps === undefined ? "" : `\n  fps: ${number(motion.fps)},`}${motion.quaternions === "xyzw" ? '\n  quaternions: "xyzw",' : ""}
  cyclic: ${motion.cyclic},
  failed: LOST,
});

export default defineTask({
  id: ${text(name)},
  model,
  frameSkip: ${frameSkipOf(robot)},
  maxEpisodeSteps: 500,
  training: {
    ppo: {
      numEnvs: 256,
      steps: 4_000_000,
      config: { rolloutSteps: 32, minibatches: 8, epochs: 5, ${rateOf(motors.length)}, initialLogStd: ${isServoed ? -1.5 : -1}, hidden: [128, 128], activation: "elu" },
    },
  },
${trackingAction(robot)}
${servosOf(robot)}  values: {
    pose: motion.qpos(),${isServoed ? `\n    target: motion.qpos(undefined, { ahead: ${number(CONTROL)} }),` : ""}
    speed: motion.qvel(),
    next: motion.qpos(undefined, { ahead: 0.1 }),
    phase: motion.phase,${
      base
        ? `
    place: motion.xpos(BASE),
    turned: motion.turned(BASE),
    linear: linearVelocity(BASE),
    angular: angularVelocity(BASE),`
        : ""
    }
  },
  observe: {
    joints: "qpos[${q0}:${q1}]",
    velocities: { value: "qvel[${v0}:${v1}]", scale: 0.1, clip: [-5, 5] },${
      base
        ? `
    linear: "linear",
    angular: { value: "angular", scale: 0.25 },
    gravity: projectedGravity(BASE),
    missing: \`place - \${PLACE}\`,`
        : ""
    }
    wanted: "pose[${q0}:${q1}]",
    next: "next[${q0}:${q1}]",
    phase: "[sin(6.2831853 * phase), cos(6.2831853 * phase)]",
    last_action: "action",
  },
  reward: {
    joints: { value: tracking("qpos[${q0}:${q1}]", "pose[${q0}:${q1}]", ${number(0.15 * joints)}), weight: 1 },
    velocities: { value: tracking("qvel[${v0}:${v1}]", "speed[${v0}:${v1}]", ${number(2 * joints)}), weight: 0.2 },${
      base
        ? `
    place: { value: tracking(PLACE, "place", ${number(Math.max(0.1, 0.5 * base.height))}), weight: 0.5 },
    turned: { value: "exp(-square(turned) / 0.16)", weight: 0.5 },`
        : ""
    }
    rate: { value: actionRateCost(), weight: ${about(-0.1 / motors.length)} },
  },
  info: { off: "length(qpos[${q0}:${q1}] - pose[${q0}:${q1}])" },
  terminated: { lost: LOST },
  truncated: { over: motion.over },
  reset: motion.start({ qpos: 0.02, qvel: 0.05 }),
});
`;
}
