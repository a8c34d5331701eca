// PickAndPlace: an arm with a gripper picks up a cube and holds it where the episode wants it
import { actionRateCost, Box, command, defineTask, startAround, tracking, velocityCost } from "../../src/env/index.ts";
import { cos, sin } from "../../src/trace/math.ts";
import { mul } from "../../src/trace/scalar.ts";
import { spread } from "../shared.ts";
import { VARIED } from "../training.ts";

/** What an action turns, beside the fingers. */
const ARM = ["turn", "lift", "elbow", "wrist", "roll"];
/** Places of the arm in qpos; its fingers and the cube follow. */
const home = startAround({ key: "home" });

export const pickAndPlace = defineTask({
  id: "PickAndPlace",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 8,
  maxEpisodeSteps: 150,
  training: { ppo: { numEnvs: 512, steps: 6_000_000, config: VARIED } },
  defaults: {
    /** Goals are at most so high above the table (m). */
    goal_height: 0.25,
    /** The cube is placed within this distance of the goal (m). */
    success_distance: 0.025,
  },
  // servos go for angles near where the arm is; the fingers are open at 1 and shut at -1
  actionSpace: () => new Box({ low: -1, high: 1, shape: [ARM.length + 1] }),
  action: { clip: [-1, 1] },
  control: `[qpos(${ARM.join(", ")}) + 0.2 * action[0:5], vec2(0.02 + 0.02 * action[5])]`,

  values: {
    grip: "site_xpos(site.grip)",
    cube: "xpos(body.cube)",
    // one for each episode, on the table or above it
    goal: command([
      [0.22, 0.38],
      [-0.15, 0.15],
      [0.02, "option.goal_height"],
    ]),
    near: tracking("grip", "cube", 0.03),
    placed: tracking("cube", "goal", 0.2),
    missing: "distance(cube, goal)",
  },
  observe: {
    angles: `qpos(${ARM.join(", ")})`,
    velocities: { value: `qvel(${ARM.join(", ")})`, scale: 0.2 },
    fingers: { value: "qpos(left, right)", scale: 25 },
    grip: "grip",
    cube: { value: "cube - grip", scale: 5 },
    // two of its axes
    cube_axes: "[xmat(body.cube)[0:2], xmat(body.cube)[3:5], xmat(body.cube)[6:8]]",
    cube_velocity: { value: "qvel(cube)", scale: 0.2 },
    goal: { value: "goal - cube", scale: 5 },
  },
  reward: {
    reach: { value: tracking("grip", "cube", 0.15), weight: 1 },
    lift: { value: "near * saturate((cube.z - 0.02) / 0.05)", weight: 2 },
    carry: { value: "near * placed", weight: 4 },
    place: { value: tracking("cube", "goal", 0.03), weight: 4 },
    rate: { value: actionRateCost(), weight: -0.01 },
    haste: { value: velocityCost(ARM), weight: -0.001 },
  },
  terminated: { lost: "cube.z < -0.1 || length(cube.xy) > 0.7" },
  info: { distance: "missing", success: "missing < option.success_distance" },
  reset: (s) => {
    const { qpos } = home(s);
    const [x, y, turn] = s.random.uniforms(3);
    const half = mul(spread(turn, -Math.PI / 4, Math.PI / 4), 0.5);
    return {
      qpos: [...qpos!.slice(0, 7), spread(x, 0.24, 0.36), spread(y, -0.12, 0.12), 0.02, cos(half), 0, 0, sin(half)],
    };
  },
});
