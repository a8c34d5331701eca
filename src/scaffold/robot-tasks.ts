// tasks for a robot of one's own: walking as commanded, and reaching
import { nameOf } from "../model/model.ts";
import { baseOf, tipOf, type Robot } from "./robot.ts";

/** Where a task's file finds things: the library, and the model as a URL relative to itself. */
export interface Places {
  readonly library: string;
  readonly model: string;
}

export const number = (x: number): string => String(Number(x.toPrecision(4)));
export const numbers = (list: readonly number[]): string => `[${list.map(number).join(", ")}]`;
export const text = (x: string | number): string => JSON.stringify(x);
/** One significant digit, for what a user is to tune. */
export const about = (x: number): string => String(Number(x.toPrecision(1)));

/** Seconds of a control step. */
export const CONTROL = 0.02;
export const frameSkipOf = ({ model }: Robot): number => Math.max(1, Math.round(CONTROL / model.opt.timestep));

/** Controls from actions in [-1, 1], in code. */
export function actionOf({ motors }: Robot): string {
  const servos = motors.filter(({ isPosition }) => isPosition).length;
  const what = servos === motors.length ? "angles about those of the start" : "controls about those of the start";
  return `  // actions in [-1, 1] are ${what}, one for each actuator
  action: {
    clip: [-1, 1],
    scale: ${numbers(motors.map(({ reach }) => reach))},
    offset: ${numbers(motors.map(({ home }) => home))},
  },`;
}

/** What makes servos of motors, in code: a line with its comma, or nothing where there is none. */
export function servosOf({ motors }: Robot): string {
  const gains = new Map<string, string[]>();
  for (const { name, servo } of motors) {
    if (!servo) continue;
    const made = `servo({ stiffness: ${number(servo.stiffness)}, damping: ${number(servo.damping)} })`;
    gains.set(made, [...(gains.get(made) ?? []), name]);
  }
  if (gains.size === 0) return "";
  const lines = [...gains].flatMap(([made, names]) => names.map((name) => `    ${text(name)}: { network: ${made} },`));
  return `  // motors as servos of position, whose torque the model bounds: a spring and a damper in each physics step
  actuators: {
${lines.join("\n")}
  },
`;
}

const startOf = ({ key }: Robot, qpos: number, qvel: number): string =>
  `startAround({ ${key === undefined ? "" : `key: ${text(key)}, `}qpos: ${qpos}, qvel: ${qvel} })`;

/**
 * A base that follows commands of velocity on its feet.
 * @throws CorralError no-free-base, no-ground
 */
export function velocityTask(name: string, robot: Robot, { library, model: path }: Places): string {
  const { model, qpos, motors, mass, span } = robot;
  const base = baseOf(robot);
  const named = (body: number): string | number => nameOf(model, "body", body) || body;
  const trunk = text(named(base.body));
  const [q0, q1] = base.qpos;
  const [v0, v1] = base.qvel;
  // what standing takes of each actuator, about
  const torque = (mass * 9.81 * 0.25 * Math.max(base.height, 0.1)) / Math.max(1, base.feet.length);
  const speed = about(Math.max(0.3, Math.min(1.5, 2 * span)));
  const feet = base.feet.map(
    (body, i) =>
      `    air_${i}: { value: touchdown(${text(named(body))}, 0.2), weight: ${about(2 / base.feet.length)} },`,
  );
  return `// ${name}: a robot walks as it is commanded, pushed and randomised
import {
  actionRateCost,
  angularVelocity,
  command,
  defineTask,
  height,
  linearVelocity,
  outside,
  projectedGravity,
  push,${servosOf(robot) === "" ? "" : "\n  servo,"}
  startAround,
  tilt,
  torqueCost,
  touchdown,
  tracking,
} from ${text(library)};

const BASE = ${trunk};
/** Joints in the pose that episodes start in. */
const HOME = ${text(numbers(qpos.slice(q0, q1)))};

export default defineTask({
  id: ${text(name)},
  model: new URL(${text(path)}, import.meta.url),
  frameSkip: ${frameSkipOf(robot)},
  maxEpisodeSteps: 1000,
  training: {
    ppo: {
      numEnvs: 256,
      steps: 4_000_000,
      config: {
        rolloutSteps: 32,
        minibatches: 8,
        epochs: 5,
        learningRate: 1e-3,
        valueClip: 0.2,
        initialLogStd: -0.5,
        hidden: [128, 128],
        activation: "elu",
      },
    },
  },
  /** Forward speed that is commanded (m/s) and turning (rad/s); a curriculum raises them. */
  params: { speed: ${speed}, turn: 1 },
${actionOf(robot)}
${servosOf(robot)}  values: {
    wanted: command(
      [
        ["-0.5 * param.speed", "param.speed"],
        ["-0.5 * param.speed", "0.5 * param.speed"],
        ["-param.turn", "param.turn"],
      ],
      { every: [3, 6] },
    ),
    linear: linearVelocity(BASE),
    angular: angularVelocity(BASE),
    joints: \`qpos[${q0}:${q1}] - \${HOME}\`,
  },

  // what sensors tell; critics also see what is true
  observe: {
    policy: {
      linear: { value: "linear", noise: 0.05 },
      angular: { value: "angular", noise: 0.1, scale: 0.25 },
      gravity: { value: projectedGravity(BASE), noise: 0.02 },
      command: "wanted",
      joints: { value: "joints", noise: 0.01 },
      velocities: { value: "qvel[${v0}:${v1}]", noise: 0.5, scale: 0.05 },
      last_action: "action",
    },
    critic: {
      linear: "linear",
      angular: { value: "angular", scale: 0.25 },
      gravity: projectedGravity(BASE),
      command: "wanted",
      joints: "joints",
      velocities: { value: "qvel[${v0}:${v1}]", scale: 0.05 },
      last_action: "action",
      height: height(BASE),
    },
  },
  reward: {
    track_linear: { value: tracking("linear.xy", "wanted.xy", 0.5), weight: 1.5 },
    track_turn: { value: tracking("angular.z", "wanted.z", 0.5), weight: 0.75 },
    alive: { value: "1.0", weight: 0.25 },
    bounce: { value: "square(linear.z)", weight: -1 },
    sway: { value: "dot(angular.xy, angular.xy)", weight: -0.05 },
    pose: { value: "dot(joints, joints)", weight: ${about(-0.5 / Math.max(1, q1 - q0))} },
    torque: { value: torqueCost(), weight: ${about(-0.02 / (motors.length * torque * torque))} },
    rate: { value: actionRateCost(), weight: ${about(-0.1 / motors.length)} },
${feet.join("\n")}
  },
  terminated: {
    low: outside(height(BASE), ${number(0.5 * base.height)}, Infinity),
    tipped: outside(tilt(BASE), 0, 1),
  },
  randomise: {
    ground: { field: "geom_friction", element: 0, scale: [0.6, 1.4], shared: true },
    load: { field: ["body_mass", "body_inertia"], of: BASE, scale: [0.8, 1.2] },
  },
  events: { push: push(${text(base.joint)}, { every: [4, 8], velocity: [0.3, 0.3, 0, 0, 0, 0.2] }) },
  reset: ${startOf(robot, 0.02, 0.1)},
});
`;
}

/** The end of an arm goes where it is commanded. */
export function reachTask(name: string, robot: Robot, { library, model: path }: Places): string {
  const { model, motors } = robot;
  const { expression, at, reach } = tipOf(robot);
  // goals that servos half a radian about home come to, in the corners too, over the ground
  const box = Math.max(0.05, 0.2 * reach);
  const ranges = at.map((x, i) => [i === 2 ? Math.max(0.05, x - box) : x - box, x + box]);
  return `// ${name}: the end of a robot goes where it is commanded
import { actionRateCost, command, defineTask, ${servosOf(robot) === "" ? "" : "servo, "}startAround, torqueCost, tracking } from ${text(library)};

export default defineTask({
  id: ${text(name)},
  model: new URL(${text(path)}, import.meta.url),
  frameSkip: ${frameSkipOf(robot)},
  maxEpisodeSteps: 200,
  training: {
    ppo: {
      numEnvs: 256,
      steps: 2_000_000,
      config: { rolloutSteps: 32, minibatches: 8, epochs: 5, learningRate: 1e-3, initialLogStd: -0.5 },
    },
  },
${actionOf(robot)}
${servosOf(robot)}  values: {
    tip: ${text(expression)},
    // m, drawn for each episode about where the tip is at the start
    goal: command([
${ranges.map((range) => `      ${numbers(range)},`).join("\n")}
    ]),
    missing: "distance(tip, goal)",
  },
  observe: { positions: "qpos", velocities: { value: "qvel", scale: 0.1, clip: [-5, 5] }, towards: "goal - tip", last_action: "action" },
  reward: {
    near: { value: "missing", weight: ${about(-1 / Math.max(reach, 0.05))} },
    there: tracking("tip", "goal", ${number(0.1 * Math.max(reach, 0.1))}),
    rate: { value: actionRateCost(), weight: ${about(-0.1 / motors.length)} },
    torque: { value: torqueCost(), weight: ${about(-0.01 / (motors.length * Math.max(0.01, (robot.mass * 9.81 * reach * 0.25) ** 2)))} },
  },
  info: { missing: "missing", success: "missing < ${number(0.05 * Math.max(reach, 0.1))}" },
  reset: ${startOf(robot, model.nkey > 0 ? 0.02 : 0.05, 0.05)},
});
`;
}
