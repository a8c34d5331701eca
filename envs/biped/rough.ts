// BipedRough: the same biped on terrain, whose heights about it it sees; episodes begin on any of its rows
import { defineTask, terrainHeights, terrainRow } from "../../src/env/index.ts";
import { onAllRows, under } from "../rough.ts";
import { BIPEDS_ON_TERRAIN } from "../training.ts";
import { BIPED_ON_TERRAIN } from "./shared.ts";

/** Kinds of its ground, a column of patches each: steps as high for what its knees hold as the G1's. */
export const BIPED_GROUND = [
  "flat",
  { kind: "squares", height: [0.01, 0.03] },
  { kind: "slope-up", angle: [0, 0.2] },
  { kind: "slope-down", angle: [0, 0.2] },
  { kind: "stairs-up", rise: [0.01, 0.055], tread: 0.4 },
  { kind: "stairs-down", rise: [0.01, 0.055], tread: 0.4 },
  { kind: "boxes", height: [0.01, 0.05], count: 20 },
] as const;

export const bipedRough = defineTask({
  ...BIPED_ON_TERRAIN,
  id: "BipedRough",
  training: { ppo: BIPEDS_ON_TERRAIN },
  terrain: onAllRows(BIPED_GROUND),
  values: { ...BIPED_ON_TERRAIN.values, under: under("torso") },
  observe: {
    ...BIPED_ON_TERRAIN.observe,
    heights: {
      value: terrainHeights("torso", { size: [0.9, 0.6], counts: [7, 5] }),
      noise: { uniform: [-0.02, 0.02] },
      clip: [-1, 0],
    },
  },
  info: { ...BIPED_ON_TERRAIN.info, row: terrainRow() },
});
