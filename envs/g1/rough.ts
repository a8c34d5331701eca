// G1Rough: the same humanoid on terrain, whose heights about it it sees; episodes begin on any of its rows
import { defineTask, terrainHeights, terrainRow } from "../../src/env/index.ts";
import { onAllRows, under } from "../rough.ts";
import { BIPEDS_ON_TERRAIN } from "../training.ts";
import { G1_ON_TERRAIN } from "./shared.ts";

/** Kinds of its ground, a column of patches each. */
export const G1_GROUND = [
  "flat",
  { kind: "squares", height: [0.01, 0.06] },
  { kind: "slope-up", angle: [0, 0.25] },
  { kind: "slope-down", angle: [0, 0.25] },
  { kind: "stairs-up", rise: [0.02, 0.12], tread: 0.4 },
  { kind: "stairs-down", rise: [0.02, 0.12], tread: 0.4 },
  { kind: "boxes", height: [0.02, 0.1], count: 20 },
] as const;

export const g1Rough = defineTask({
  ...G1_ON_TERRAIN,
  id: "G1Rough",
  training: { ppo: BIPEDS_ON_TERRAIN },
  terrain: onAllRows(G1_GROUND),
  values: { ...G1_ON_TERRAIN.values, under: under("pelvis") },
  observe: {
    ...G1_ON_TERRAIN.observe,
    heights: {
      value: terrainHeights("pelvis", { size: [1.2, 0.8], counts: [7, 5] }),
      noise: { uniform: [-0.02, 0.02] },
      clip: [-1.2, 0],
    },
  },
  info: { ...G1_ON_TERRAIN.info, row: terrainRow() },
});
