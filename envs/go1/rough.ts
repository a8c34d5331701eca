// Go1Rough: the same quadruped on terrain, whose heights about it it sees; it acts about a trot whose feet follow the ground
import { Box, defineTask, terrainHeights, terrainRow, type Scene } from "../../src/env/index.ts";
import { add, mul, type Scalar } from "../../src/trace/scalar.ts";
import { onGround, under } from "../rough.ts";
import { ON_TERRAIN } from "../training.ts";
import { JOYSTICK, standing } from "./shared.ts";
import { clock, footholds, landings, trot } from "./trot.ts";

/** Height of the trunk at the start (m), from which feet of any pose drawn are above the ground. */
const STARTS_AT = 0.32;
/** How far an action of 1 moves a servo's target (rad). */
const ACTS = 0.3;
const { action: _about_standing, ...FOLLOWS } = JOYSTICK;

/** Kinds of its ground, a column of patches each: as high as legs of 0.43 m step over. */
export const GO1_GROUND = [
  "flat",
  { kind: "squares", height: [0.01, 0.06] },
  { kind: "slope-up", angle: [0, 0.35] },
  { kind: "slope-down", angle: [0, 0.35] },
  { kind: "boxes", height: [0.02, 0.1], count: 20 },
  { kind: "stairs-up", rise: [0.02, 0.12], tread: 0.4 },
  { kind: "stairs-down", rise: [0.02, 0.12], tread: 0.4 },
] as const;

export const go1Rough = defineTask({
  ...FOLLOWS,
  id: "Go1Rough",
  training: { ppo: { ...ON_TERRAIN, config: { ...ON_TERRAIN.config, initialLogStd: -1 } } },
  actionSpace: () => new Box({ low: -3, high: 3, shape: [12] }),
  // actions move the targets of servos about those of the trot
  control: (s: Scene): Scalar[] => trot(s).map((x, i) => add(x, mul(ACTS, s.action[i]))),
  terrain: onGround(GO1_GROUND),
  values: { ...JOYSTICK.values, under: under("trunk") },
  observe: {
    ...JOYSTICK.observe,
    clock,
    landings,
    ground: footholds,
    heights: {
      value: terrainHeights("trunk", { size: [1.6, 1], counts: [9, 6] }),
      noise: { uniform: [-0.02, 0.02] },
      clip: [-1, 0.5],
    },
  },
  terminated: { fallen: "under > -0.1 || down.z > -0.3" },
  info: { ...JOYSTICK.info, row: terrainRow() },
  // from above the ground: a height field holds feet that begin in it
  reset: standing(STARTS_AT),
});
