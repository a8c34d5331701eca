// what Go1Velocity and Go1Rough have in common: a joystick followed, with the rewards of the field (Rudin et al. 2021,
// Zakka et al. 2025)
import {
  actionRateCost,
  angularVelocity,
  jointLimitCost,
  linearVelocity,
  powerCost,
  projectedGravity,
  push,
  torqueCost,
  touchdown,
  tracking,
  uniformNoise,
  valueOf,
  type Scene,
  type StartScene,
} from "../../src/env/index.ts";
import { cos, exp, sin } from "../../src/trace/math.ts";
import { gt, mul, neg, select, square, sub, sum } from "../../src/trace/scalar.ts";
import { joystick, slip } from "../joystick.ts";
import { VARIED } from "../training.ts";

const LEGS = ["FR", "FL", "RR", "RL"] as const;
/** Angles of standing: hip, thigh and calf of each leg (rad). */
export const STAND = LEGS.flatMap(() => [0, 0.9, -1.8]);
/** How much the pose of each joint counts: most of hips, which need not leave it. */
const STIFF = LEGS.flatMap(() => [1, 0.2, 0.1]);
export const HEIGHT = 0.27;

const wanted = joystick("-param.forward");
const moves = (s: Scene) => gt(sum(valueOf(s, "wanted").map(square)), 0.01);
export const offPose = ({ d }: Scene) => STAND.map((angle, i) => sub(d.qpos.at(7 + i), angle));

/** Standing with the trunk at a height (m), turned anywhere, moving a little. */
export const standing = (height: number) => (s: StartScene) => {
  const half = mul(sub(s.random.uniforms(1)[0], 0.5), 2 * Math.PI);
  const joints = uniformNoise(s, STAND, 0.1);
  return {
    qpos: [0, 0, height, cos(half), 0, 0, sin(half), ...joints],
    qvel: [...uniformNoise(s, [0, 0, 0, 0, 0, 0], 0.3), ...STAND.map(() => 0)],
  };
};

export const JOYSTICK = {
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 4,
  maxEpisodeSteps: 1000,
  training: { ppo: { numEnvs: 256, steps: 4_000_000, config: { ...VARIED, initialLogStd: -0.5 } } },
  /** How fast commands are, world by world (m/s, rad/s): a curriculum. */
  params: { forward: 1.2, sideways: 0.6, turn: 1 },
  // actions are angles about those of standing, for servos
  action: { clip: [-2, 2], scale: 0.4, offset: STAND },
  values: {
    linear: linearVelocity("trunk"),
    angular: angularVelocity("trunk"),
    down: projectedGravity("trunk"),
    wanted,
  },
  observe: {
    linear: { value: "linear", noise: { uniform: [-0.1, 0.1] } },
    angular: { value: "angular", noise: { uniform: [-0.2, 0.2] }, scale: 0.25 },
    gravity: { value: "down", noise: { uniform: [-0.05, 0.05] } },
    command: "wanted",
    angles: { value: offPose, noise: { uniform: [-0.03, 0.03] } },
    velocities: { value: "qvel[6:]", noise: { uniform: [-1.5, 1.5] }, scale: 0.05 },
    last_action: "action",
  },
  reward: {
    track_linear: { value: tracking("linear.xy", "wanted.xy", 0.5), weight: 1.5 },
    // a slope where tracking is flat: the velocity along the command, up to the command
    along: {
      value: "min(dot(linear.xy, wanted.xy), dot(wanted.xy, wanted.xy)) / max(length(wanted.xy), 0.1)",
      weight: 1,
    },
    track_turn: { value: tracking("angular.z", "wanted.z", 0.5), weight: 0.75 },
    bounce: { value: "square(linear.z)", weight: -0.5 },
    sway: { value: "sum(square(angular.xy))", weight: -0.05 },
    level: { value: "sum(square(down.xy))", weight: -1 },
    pose: {
      value: (s: Scene) => exp(neg(sum(offPose(s).map((x, i) => mul(square(x), STIFF[i]))))),
      weight: 0.1,
    },
    still: {
      value: (s: Scene) => select(moves(s), 0, sum(offPose(s).map(square)), "f32"),
      weight: -0.5,
    },
    limits: { value: jointLimitCost({ free: 0.95 }), weight: -1 },
    torque: { value: torqueCost(), weight: -2e-4 },
    power: { value: powerCost(), weight: -1e-3 },
    rate: { value: actionRateCost(), weight: -0.01 },
    slip: { value: slip(LEGS.map((leg) => `${leg}_calf`)), weight: -0.1 },
    air: {
      value: (s: Scene) => select(moves(s), sum(LEGS.map((leg) => touchdown(`${leg}_calf`, 0.1)(s))), 0, "f32"),
      weight: 0.5,
    },
  },
  randomise: {
    floor: { field: "geom_friction", of: ["floor", "*_foot"], element: 0, set: [0.4, 1.1], shared: true },
    load: { field: ["body_mass", "body_inertia"], of: "trunk", scale: [0.9, 1.3] },
    centre: { field: "body_ipos", of: "trunk", add: [-0.03, 0.03] },
    friction: { field: "dof_frictionloss", of: "*_*", scale: [0.8, 1.2] },
    armature: { field: "dof_armature", of: "*_*", scale: [1, 1.1] },
  },
  // how far from the command (m/s, rad/s)
  info: { off: "distance(linear.xy, wanted.xy)", off_turn: "abs(angular.z - wanted.z)" },
  events: { push: push("root", { every: [4, 8], velocity: [0.6, 0.6, 0, 0, 0, 0.3] }) },
  reset: standing(HEIGHT),
} as const;
