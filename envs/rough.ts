// what walkers on terrain have in common: ground of boxes in rows of rising difficulty, and heights about them
import { makeTerrain, terrainHeights, type TerrainOptions } from "../src/env/index.ts";

/** Ground of a column of patches for each kind; each episode begins on any row of it. */
export const onAllRows = (columns: TerrainOptions["columns"]) => ({
  // feet catch at edges between a field's triangles; episodes do not lead over the border
  ground: makeTerrain({ seed: 1, rows: 8, columns, cell: 0.2, middle: 1.6, border: 16, as: "boxes" }),
  geom: "floor",
  // soft feet sink in, and the sides of boxes then stop them
  priority: 1,
  solref: [0.01, 1] as const,
});

/** The same, on all of whose rows robots begin, since they walk about a gait, and then go on to harder ones or easier ones. */
export const onGround = (columns: TerrainOptions["columns"]) => ({
  ...onAllRows(columns),
  startRows: 8,
  promote: "length(qpos[0:2]) > 3",
  demote: "length(qpos[0:2]) < 1",
});

/** The height of the ground under a body. */
export const under = (body: string) => terrainHeights(body, { size: [0, 0], counts: [1, 1] });
