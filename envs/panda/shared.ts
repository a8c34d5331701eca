// what the tasks of the Panda-like arm have in common
import { Box, startAround, uniformNoise, type Scene, type StartScene } from "../../src/env/index.ts";
import { cos, sin } from "../../src/trace/math.ts";
import { add, mul, sub, type Scalar } from "../../src/trace/scalar.ts";
import type { Mat3 } from "../../src/trace/vector.ts";
import { spread } from "../shared.ts";
import { hingeSteps, poseOf, turnTo } from "./kinematics.ts";

/** Its hinges, from the base on. */
export const ARM = ["joint1", "joint2", "joint3", "joint4", "joint5", "joint6", "joint7"] as const;

const home = startAround({ key: "home" });

/** Positions at home, the hinges within `noise` (rad) of it. */
export function startNearHome(s: StartScene, noise: number): Scalar[] {
  const { qpos } = home(s);
  return [...uniformNoise(s, qpos!.slice(0, ARM.length), noise), ...qpos!.slice(ARM.length)];
}

/** Axes of a gripper that points down, its fingers before and behind. */
const DOWN: Mat3 = [0, 1, 0, 1, 0, 0, 0, 0, -1];
/** How far an action moves the gripper's target (m), and how fast hinges go home where the gripper does not mind. */
const [STRIDE, HOMING] = [0.04, 0.05];
/** Against leaps of the hinges near poses that they cannot move the gripper from (m/rad). */
const DAMPING = 0.05;

/** How far each finger is open where an action says nothing of it (m): wide enough for the cube. */
const OPEN = 0.03;

/** Controls that move the gripper by three numbers of the action, pointing down, and open it by the fourth, or shut it. */
function gripperControl({ action, d, model }: Scene): Scalar[] {
  const q = d.qpos.run(0, ARM.length);
  const pose = poseOf(model, ARM, "gripper", q);
  const rest = q.map((x, i) => mul(sub(model.key_qpos[i], x), HOMING));
  const along = [0, 1, 2].map((k) => mul(action[k], STRIDE));
  const steps = hingeSteps(pose, [...along, ...turnTo(pose.frame, DOWN)], rest, DAMPING);
  return [...q.map((x, i) => add(x, steps[i])), add(OPEN, mul(action[3], 0.06))];
}

/** The cube somewhere before the arm, turned a little. */
export function startWithCube(s: StartScene) {
  const qpos = startNearHome(s, 0.05);
  const [x, y, turn] = s.random.uniforms(3);
  const half = mul(spread(turn, -0.2, 0.2), 0.5);
  return {
    qpos: [...qpos.slice(0, 9), spread(x, 0.44, 0.58), spread(y, -0.1, 0.1), 0.02, cos(half), 0, 0, sin(half)],
  };
}

/** What lifting and placing have in common. */
export const WITH_CUBE = {
  frameSkip: 8,
  // the gripper moves along x, y, z; it opens by 1 and shuts by -1
  actionSpace: () => new Box({ low: -1, high: 1, shape: [4] }),
  action: { clip: [-1, 1] },
  control: gripperControl,
  values: {
    grip: "site_xpos(site.gripper)",
    cube: "xpos(body.cube)",
    away: "distance(grip, cube)",
    missing: "distance(cube, goal)",
    squeeze: "min(length(cfrc_ext(body.left_finger)[3:6]), length(cfrc_ext(body.right_finger)[3:6]))",
    // between both pads, by how fast: firmly enough that a wavering hand does not drop it
    held: "away < 0.03 ? saturate(squeeze / 4) : 0.0",
  },
  observe: {
    grip: "grip",
    velocities: { value: `qvel(${ARM.join(", ")})`, scale: 0.2 },
    fingers: { value: "qpos(finger_joint1)", scale: 25 },
    held: "held",
    cube: { value: "cube - grip", scale: 5 },
    // two of its axes
    cube_axes: "[xmat(body.cube)[0:2], xmat(body.cube)[3:5], xmat(body.cube)[6:8]]",
    cube_velocity: { value: "qvel(cube)", scale: 0.2 },
    goal: { value: "goal - cube", scale: 5 },
  },
  terminated: { lost: "cube.z < -0.1 || length(cube.xy) > 0.9 || length(cube.xy) < 0.2" },
  reset: startWithCube,
} as const;
