// QuadrupedVelocity: four legs follow commands of velocity, pushed and randomised
import {
  actionRateCost,
  angularVelocity,
  command,
  defineTask,
  linearVelocity,
  projectedGravity,
  push,
  startAround,
  torqueCost,
  touchdown,
  tracking,
  type Scene,
} from "../../src/env/index.ts";
import { square } from "../../src/trace/scalar.ts";
import { VARIED } from "../training.ts";

/** Angles of standing, hip and knee of each leg (rad). */
const STAND = [0.55, -1.1, 0.55, -1.1, 0.55, -1.1, 0.55, -1.1];
const HINGES = "qpos[7:]";

/** Forward, sideways (m/s), turning (rad/s); another command every few seconds. */
const wanted = command(
  [
    ["-param.speed", "param.speed"],
    ["-0.5 * param.speed", "0.5 * param.speed"],
    ["-param.turn", "param.turn"],
  ],
  { every: [3, 6] },
);
const linear = linearVelocity("trunk");
const angular = angularVelocity("trunk");
const planar = (s: Scene) => linear(s).slice(0, 2);
const turning = (s: Scene) => angular(s).slice(2);

export const quadruped = defineTask({
  id: "QuadrupedVelocity",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 4,
  maxEpisodeSteps: 1000,
  training: { ppo: { numEnvs: 256, steps: 4_000_000, config: { ...VARIED, initialLogStd: -0.5 } } },
  /** A curriculum raises them, for some worlds or all. */
  params: { speed: 1, turn: 1 },
  // actions are angles about those of standing
  action: { clip: [-1, 1], scale: 0.4, offset: STAND },

  observe: {
    linear: { value: linear, noise: 0.05 },
    angular: { value: angular, noise: 0.1, scale: 0.25 },
    gravity: { value: projectedGravity("trunk"), noise: 0.02 },
    command: wanted,
    angles: { value: `${HINGES} - vec(${STAND.join(", ")})`, noise: 0.01 },
    velocities: { value: "qvel[6:]", noise: 0.5, scale: 0.05 },
    last_action: "action",
  },
  reward: {
    track_linear: { value: tracking(planar, (s) => wanted(s).slice(0, 2), 0.5), weight: 1.5 },
    track_turn: { value: tracking(turning, (s) => wanted(s).slice(2), 0.5), weight: 0.75 },
    bounce: { value: (s) => square(linear(s)[2]), weight: -1 },
    torque: { value: torqueCost(), weight: -2e-4 },
    rate: { value: actionRateCost(), weight: -0.01 },
    air_fl: { value: touchdown("shank_fl", 0.2), weight: 0.5 },
    air_fr: { value: touchdown("shank_fr", 0.2), weight: 0.5 },
    air_rl: { value: touchdown("shank_rl", 0.2), weight: 0.5 },
    air_rr: { value: touchdown("shank_rr", 0.2), weight: 0.5 },
  },
  terminated: { fallen: "xpos(body.trunk).z < 0.18 || xmat(body.trunk)[8] < 0.5" },
  randomise: {
    floor: { field: "geom_friction", of: ["floor", "foot_*"], element: 0, set: [0.4, 1.2], shared: true },
    load: { field: ["body_mass", "body_inertia"], of: "trunk", scale: [0.8, 1.3] },
    joints: { field: "dof_damping", of: ["hip_*", "knee_*"], scale: [0.7, 1.3] },
  },
  events: { push: push("root", { every: [4, 8], velocity: [0.5, 0.5, 0, 0, 0, 0.3] }) },
  reset: startAround({ key: "stand", qpos: 0.02, qvel: 0.1 }),
});
