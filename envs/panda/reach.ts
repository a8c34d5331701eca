// ArmReach: a Panda-like arm brings its gripper to a point
import { actionRateCost, Box, command, defineTask, tracking, velocityCost } from "../../src/env/index.ts";
import { VARIED } from "../training.ts";
import { ARM, startNearHome } from "./shared.ts";

export const armReach = defineTask({
  id: "ArmReach",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 8,
  maxEpisodeSteps: 100,
  training: { ppo: { numEnvs: 256, steps: 800_000, config: { ...VARIED, initialLogStd: -0.5 } } },
  defaults: {
    /** The gripper is there within this distance of the target (m). */
    success_distance: 0.02,
  },
  // servos go for angles near where the arm is; the fingers stay open
  actionSpace: () => new Box({ low: -1, high: 1, shape: [7] }),
  action: { clip: [-1, 1] },
  control: `[qpos(${ARM.join(", ")}) + 0.2 * action, 0.04]`,

  values: {
    grip: "site_xpos(site.gripper)",
    // one for each episode (m)
    target: command([
      [0.3, 0.65],
      [-0.35, 0.35],
      [0.1, 0.6],
    ]),
    missing: "distance(grip, target)",
  },
  observe: {
    angles: `qpos(${ARM.join(", ")})`,
    velocities: { value: `qvel(${ARM.join(", ")})`, scale: 0.2 },
    grip: "grip",
    target: "target",
    towards: { value: "target - grip", scale: 5 },
  },
  reward: {
    // seen from afar, as in the staged rewards of robosuite and ManiSkill, and near
    reach: "1 - tanh(5 * missing)",
    there: tracking("grip", "target", 0.03),
    rate: { value: actionRateCost(), weight: -0.005 },
    haste: { value: velocityCost(ARM), weight: -0.002 },
  },
  info: { distance: "missing", success: "missing < option.success_distance" },
  reset: (s) => ({ qpos: startNearHome(s, 0.1) }),
});
