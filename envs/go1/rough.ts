// Go1Rough: the same quadruped on terrain, whose heights about it it sees; worlds come to harder rows as they walk far
import { defineTask, makeTerrain, terrainHeights, terrainRow } from "../../src/env/index.ts";
import { JOYSTICK } from "./shared.ts";

/** Kinds of its ground, a column of patches each: as high as legs of 0.43 m step over. */
export const GO1_GROUND = [
  "flat",
  { kind: "rough", height: [0.01, 0.06], spacing: 0.4 },
  { kind: "slope-up", angle: [0, 0.35] },
  { kind: "slope-down", angle: [0, 0.35] },
  { kind: "boxes", height: [0.02, 0.1] },
  { kind: "stairs-up", rise: [0.02, 0.12], tread: 0.4 },
  { kind: "stairs-down", rise: [0.02, 0.12], tread: 0.4 },
  { kind: "waves", height: [0.03, 0.2] },
] as const;

// feet catch at edges between a field's triangles, so that these are large; episodes do not lead over the border
const ground = makeTerrain({ seed: 1, rows: 8, columns: GO1_GROUND, cell: 0.2, middle: 1.6, border: 16 });

export const go1Rough = defineTask({
  ...JOYSTICK,
  id: "Go1Rough",
  terrain: {
    ground,
    geom: "floor",
    // soft feet sink into a field, whose inner edges then stop them
    priority: 1,
    solref: [0.01, 1],
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
  terminated: { fallen: "under > -0.1 || down.z > -0.3" },
  info: { ...JOYSTICK.info, row: terrainRow() },
});
