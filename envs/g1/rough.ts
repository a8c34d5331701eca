// G1Rough: the same humanoid on terrain, whose heights about it it sees; worlds come to harder rows as they walk far
import { defineTask, makeTerrain, terrainHeights, terrainRow } from "../../src/env/index.ts";
import { G1_ON_TERRAIN } from "./shared.ts";

/** Kinds of its ground, a column of patches each. */
export const G1_GROUND = [
  "flat",
  { kind: "rough", height: [0.005, 0.04], spacing: 0.4 },
  { kind: "slope-up", angle: [0, 0.25] },
  { kind: "slope-down", angle: [0, 0.25] },
  { kind: "stairs-up", rise: [0.02, 0.12], tread: 0.4 },
  { kind: "stairs-down", rise: [0.02, 0.12], tread: 0.4 },
  { kind: "waves", height: [0.02, 0.15] },
] as const;

// feet catch at edges between a field's triangles, so that these are large; episodes do not lead over the border
const ground = makeTerrain({ seed: 1, rows: 8, columns: G1_GROUND, cell: 0.2, middle: 1.6, border: 16 });

export const g1Rough = defineTask({
  ...G1_ON_TERRAIN,
  id: "G1Rough",
  terrain: {
    ground,
    geom: "floor",
    // soft feet sink into a field, whose inner edges then stop them
    priority: 1,
    solref: [0.01, 1],
    promote: "length(qpos[0:2]) > 3",
    demote: "length(qpos[0:2]) < 1",
  },
  values: { ...G1_ON_TERRAIN.values, under: terrainHeights("pelvis", { size: [0, 0], counts: [1, 1] }) },
  observe: {
    ...G1_ON_TERRAIN.observe,
    heights: {
      value: terrainHeights("pelvis", { size: [1.2, 0.8], counts: [7, 5] }),
      noise: { uniform: [-0.02, 0.02] },
      clip: [-1.2, 0],
    },
  },
  terminated: { fallen: "under > -0.4 || down.z > -0.7" },
  info: { ...G1_ON_TERRAIN.info, row: terrainRow() },
});
