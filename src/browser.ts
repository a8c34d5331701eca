// corral's public API in a browser, and the part of index.ts that needs no files
// environments register themselves by id
import "../envs/index.ts";

export { CorralError, DeviceLostError } from "./core/errors.ts";
export { formatBytes, parseBytes } from "./core/units.ts";
export { philox4x32, RandomStream, seedKey } from "./core/rng.ts";

export { openDevice, type AdapterInfo, type GpuDevice, type GpuDeviceOptions } from "./gpu/index.ts";
export {
  AllocationRefusedError,
  BudgetExceededError,
  createBudget,
  LimitExceededError,
  planTable,
  reportMetrics,
  reportText,
  type Budget,
  type BudgetOptions,
  type BudgetReport,
  type Plan,
  type PlanLimits,
  type PressureEvent,
  type PressureListener,
} from "./memory/index.ts";
export { hostBudget } from "./memory/host-budget.ts";
export { plan, type PlanOptions, type PlanWithSavings } from "./sizing/plan.ts";

export {
  idOf,
  loadModel,
  nameOf,
  withOptions,
  type LoadOptions,
  type Model,
  type OptionOverrides,
} from "./model/model.ts";
export { makeTerrain, type Terrain, type TerrainColumn, type TerrainOptions } from "./model/terrain/terrain.ts";
export { terrainFromImage, type ImageTerrainOptions } from "./model/terrain/image.ts";
export { withChanges } from "./model/changes.ts";
export { fullM, jacobian, type JacobianInput, type JacobianOf } from "./model/dense.ts";
export type { ModelChange } from "./model/model-data.ts";
export { createOracle, withMuJoCo, type Oracle } from "./model/oracle.ts";
export { checkSupported, unsupportedFeatures, type UnsupportedFeature } from "./model/supported.ts";
export { fieldShape, fieldsOf, type FieldName } from "./model/fields.ts";

export {
  createSimulation,
  planSimulation,
  Simulation,
  type SimulationOptions,
  type StateArrays,
  type StateValues,
} from "./batch/simulation.ts";
export type { RecorderOptions } from "./record/options.ts";
export type { Snapshot } from "./batch/simulation.ts";
export type { JointLimit, JointLimits, LimitEnd } from "./model/limits.ts";
export { Status, statusNames, type StatusName } from "./physics/status.ts";

export { defineJsEnv, makeJsVec, type JsEnv, type JsVec, type JsVecOptions, type JsVecStep } from "./env/js-env.ts";
export type { JsStart, JsStep, JsWorld } from "./env/js-world.ts";
export {
  actuatorNetwork,
  Box,
  defineTask,
  Discrete,
  list,
  loadMotion,
  makeVec,
  Motion,
  MultiDiscrete,
  planVec,
  register,
  servo,
  VectorEnv,
  type ActionOptions,
  type ActuatorNetwork,
  type ActuatorNetworkOptions,
  type ActuatorRealities,
  type ActuatorReality,
  type Autoreset,
  type Distribution,
  type Disturbance,
  type GpuView,
  type MotionOptions,
  type MotionSource,
  type ObservationOptions,
  type Randomisation,
  type Scene,
  type ServoGains,
  type Space,
  type StepResult,
  type Task,
  type Term,
  type TermOptions,
  type VecOptions,
  type VecSnapshot,
} from "./env/index.ts";

export {
  Dqn,
  DQN_OPTIONS,
  planDqn,
  planSacDiscrete,
  SacDiscrete,
  SAC_DISCRETE_OPTIONS,
  Ppo,
  planPpo,
  joinColumns,
  mirrorColumns,
  planSac,
  PPO_OPTIONS,
  Sac,
  SAC_OPTIONS,
  type Algorithm,
  type DqnConfig,
  type SacDiscreteConfig,
  type SacDiscreteOptions,
  type SacDiscreteSnapshot,
  type DqnMetrics,
  type DqnOptions,
  type DqnPlan,
  type DqnSnapshot,
  type Evaluation,
  type Metrics,
  type PpoConfig,
  type PpoOptions,
  type PpoPlan,
  type PpoSnapshot,
  type SacConfig,
  type SacMetrics,
  type SacOptions,
  type SacSnapshot,
} from "./rl/index.ts";
export { recordEpisodes, type Act } from "./runs/record-episodes.ts";
export { readPolicy } from "./export/read-policy.ts";
export { AppliedPolicy } from "./rl/networks/apply-policy.ts";
export type { Policy } from "./rl/networks/policy.ts";
// the library of terms, and arithmetic for terms that are functions
export * from "./env/task/terms/index.ts";
export * as scalar from "./trace/scalar.ts";
export * as functions from "./trace/math.ts";

export type { DriftReport, DriftSample } from "./monitor/drift.ts";
export type { MonitorOptions } from "./monitor/options.ts";
