// ArmLift: a Panda-like arm grasps a cube and holds it at a point above the floor
import { actionRateCost, command, defineTask, tracking } from "../../src/env/index.ts";
import { VARIED } from "../training.ts";
import { WITH_CUBE } from "./shared.ts";

export const armLift = defineTask({
  ...WITH_CUBE,
  id: "ArmLift",
  model: new URL("./lift.xml", import.meta.url),
  maxEpisodeSteps: 100,
  training: { ppo: { numEnvs: 256, steps: 2_000_000, config: { ...VARIED, initialLogStd: -0.5 } } },
  defaults: {
    /** The cube is there within this distance of its goal (m). */
    success_distance: 0.025,
  },
  values: {
    ...WITH_CUBE.values,
    // one for each episode (m)
    goal: command([
      [0.42, 0.6],
      [-0.15, 0.15],
      [0.1, 0.3],
    ]),
    raised: "saturate((cube.z - 0.02) / 0.02) * (away < 0.05 ? 1.0 : 0.0)",
  },
  // stages, as in ManiSkill's PickCube and Playground's PandaPickCube: at the cube, held, up, at its goal
  reward: {
    reach: "1 - tanh(10 * away)",
    hold: "held",
    lift: { value: "raised", weight: 2 },
    carry: { value: "raised * (1 - tanh(5 * missing))", weight: 3 },
    there: { value: tracking("cube", "goal", 0.03), weight: 3 },
    rate: { value: actionRateCost(), weight: -0.005 },
  },
  info: { distance: "missing", success: "missing < option.success_distance" },
});
