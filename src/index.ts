// corral's public API: what a browser has too, and what reads or writes files
export * from "./browser.ts";

export { makeTerrain, type Terrain, type TerrainColumn, type TerrainOptions } from "./model/terrain/terrain.ts";
export type { TerrainKind } from "./model/terrain/kinds.ts";
export { terrainFromImage, type ImageTerrainOptions } from "./model/terrain/image.ts";
export type { TaskTerrain } from "./env/index.ts";

export { Collector, type CollectedBatch, type CollectorOptions } from "./runs/collector.ts";
export { Overlapped, type OverlappedOptions } from "./runs/overlapped.ts";
export { recordEpisodes, type Act } from "./runs/record-episodes.ts";
export { planRun, type RunContext, type RunPlan } from "./runs/plan.ts";
export {
  sweep,
  type Sweep,
  type SweepAxis,
  type SweepOptions,
  type SweepPoint,
  type SweepPointUnder,
  type SweepUnder,
} from "./runs/sweep.ts";
export { TrainingRun } from "./runs/train.ts";
export type { TrainOptions } from "./runs/options.ts";
export type { TrainListener, TrainProgress, TrainResult } from "./runs/progress.ts";
export { exportPolicy, type Exported, type ExportFormat, type ExportOptions } from "./export/index.ts";

export type { RecorderOptions } from "./record/options.ts";
export type { Bundle } from "./record/bundle.ts";
export { readBundle } from "./record/read-bundle.ts";
export { replay, type ReplayReport } from "./crash/replay.ts";
export { bisect, type BisectReport } from "./crash/bisect.ts";
export { checkModel, type ModelFinding, type ModelReport } from "./crash/check-model.ts";
