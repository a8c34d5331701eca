// the face of the environment layer; tasks need no more than this and src/trace
export {
  actuatorNetwork,
  servo,
  type ActuatorNetwork,
  type ActuatorNetworkOptions,
  type ServoGains,
} from "./task/actuator-network.ts";
export { bodyId } from "./task/bodies.ts";
export { Draws } from "./task/draws.ts";
export { Infos } from "./host/infos.ts";
export type { Autoreset } from "./kernel/env-kernel.ts";
export { makeVec, planVec, planVecKernels, type NamedOptions } from "./make.ts";
export type { ActionOptions, ObservationOptions } from "./task/options.ts";
export type { Policy, VecOptions } from "./host/options.ts";
export { makeTerrain, type Terrain, type TerrainOptions } from "../model/terrain/terrain.ts";
export { list, register } from "./registry.ts";
export { BatchedSpace } from "./space/batched-space.ts";
export { loadMotion, Motion, type At, type MotionOptions } from "./task/motion.ts";
export type { MotionSource } from "./task/motion-frames.ts";
export { Box, Discrete, MultiDiscrete, type Space } from "./space/spaces.ts";
export {
  defineTask,
  type ActuatorRealities,
  type ActuatorReality,
  type Amount,
  type Distribution,
  type Disturbance,
  type Named,
  type OptionValue,
  type RandomField,
  type Randomisation,
  type Scene,
  type Start,
  type StartScene,
  type Task,
  type TaskTerrain,
  type Term,
  type TrainingDefaults,
  type TermOptions,
  type Terms,
  type TermSource,
  type TermValue,
} from "./task/task.ts";

export * from "./task/terms/index.ts";
export { carried, leaning, stepping, stride, turned } from "./task/terms/stepping.ts";
export type { ArenaView, GpuView, GpuViews, WasmViews } from "./host/gpu-views.ts";
export { VectorEnv, type StepResult, type VecSnapshot } from "./host/vector-env.ts";
export type { HealthReport } from "./host/health.ts";
