// ArmPlace: a Panda-like arm puts a cube on a shelf and lets it go
import { actionRateCost, command, defineTask, tracking } from "../../src/env/index.ts";
import { VARIED } from "../training.ts";
import { WITH_CUBE } from "./shared.ts";

export const armPlace = defineTask({
  ...WITH_CUBE,
  id: "ArmPlace",
  model: new URL("./place.xml", import.meta.url),
  maxEpisodeSteps: 125,
  training: { ppo: { numEnvs: 256, steps: 3_000_000, config: { ...VARIED, initialLogStd: -0.5 } } },
  defaults: {
    /** The cube is there within this distance of its goal (m). */
    success_distance: 0.025,
  },
  values: {
    ...WITH_CUBE.values,
    // one for each episode, at rest on the shelf (m)
    goal: command([
      [0.44, 0.56],
      [0.18, 0.26],
      [0.06, 0.06],
    ]),
    placed: "missing < option.success_distance ? 1.0 : 0.0",
    // higher than the shelf
    raised: "saturate((cube.z - 0.02) / 0.06) * (away < 0.05 ? 1.0 : 0.0)",
    touched: "max(length(cfrc_ext(body.left_finger)[3:6]), length(cfrc_ext(body.right_finger)[3:6])) > 0.1",
  },
  // stages, as in ManiSkill's StackCube: at the cube, held, up, at its goal, let go; each is kept once the cube lies there
  reward: {
    reach: "max(placed, 1 - tanh(10 * away))",
    hold: "max(placed, held)",
    lift: { value: "max(placed, raised)", weight: 2 },
    carry: { value: "max(placed, raised * (1 - tanh(5 * missing)))", weight: 3 },
    there: { value: tracking("cube", "goal", 0.03), weight: 3 },
    release: { value: "touched ? 0.0 : placed", weight: 4 },
    rate: { value: actionRateCost(), weight: -0.005 },
  },
  info: { distance: "missing", success: "!touched && missing < option.success_distance" },
});
