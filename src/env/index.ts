// the face of the environment layer; tasks need no more than this and src/trace
export { bodyId } from "./bodies.ts";
export { Draws } from "./draws.ts";
export { Infos } from "./infos.ts";
export type { Autoreset } from "./kernel.ts";
export { makeVec, planVec, planVecKernels, type NamedOptions } from "./make.ts";
export type { Policy, VecOptions } from "./options.ts";
export { list, register } from "./registry.ts";
export { BatchedSpace } from "./batched-space.ts";
export { Box, Discrete, MultiDiscrete, type Space } from "./spaces.ts";
export {
  defineTask,
  type Distribution,
  type Disturbance,
  type Named,
  type ObservationOptions,
  type OptionValue,
  type RandomField,
  type Randomisation,
  type Scene,
  type Start,
  type StartScene,
  type Task,
  type Term,
  type TermOptions,
  type Terms,
  type TermSource,
  type TermValue,
} from "./task.ts";
export type { ActionOptions } from "./action-options.ts";
export * from "./terms/index.ts";
export type { GpuView, GpuViews } from "./gpu-views.ts";
export { VectorEnv, type StepResult, type VecSnapshot } from "./vector-env.ts";
export type { HealthReport } from "./health.ts";
