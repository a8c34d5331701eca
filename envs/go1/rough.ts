// Go1Rough: the same quadruped on terrain, whose heights about it it sees; worlds come to harder rows as they walk far
import { defineTask, makeTerrain, terrainHeights, terrainRow } from "../../src/env/index.ts";
import { JOYSTICK } from "./shared.ts";

/** Kinds of its ground, a column of patches each. */
export const GO1_GROUND = [
  "flat",
  "rough",
  "slope-up",
  "slope-down",
  "boxes",
  "stairs-up",
  "stairs-down",
  "waves",
] as const;

const ground = makeTerrain({ seed: 1, rows: 8, columns: GO1_GROUND });

export const go1Rough = defineTask({
  ...JOYSTICK,
  id: "Go1Rough",
  terrain: {
    ground,
    geom: "floor",
    // in the easiest rows heights are little but their noise
    startRows: 4,
    promote: "length(qpos[0:2]) > 3",
    demote: "length(qpos[0:2]) < 1",
  },
  values: { ...JOYSTICK.values, under: terrainHeights("trunk", { size: [0, 0], counts: [1, 1] }) },
  observe: {
    ...JOYSTICK.observe,
    heights: {
      value: terrainHeights("trunk", { size: [1.6, 1], counts: [9, 6] }),
      noise: { uniform: [-0.02, 0.02] },
      clip: [-1, 0.5],
    },
  },
  terminated: { fallen: "under > -0.13 || down.z > -0.3" },
  info: { ...JOYSTICK.info, row: terrainRow() },
});
