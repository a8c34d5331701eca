// the memory layer: plan, budget, reservation, shards, and faults to test them with

export {
  Budget,
  type BudgetOptions,
  type BudgetReport,
  type HolderReport,
  type Hold,
  type PressureEvent,
  type PressureListener,
} from "./budget.ts";
export type { Bound } from "./cost.ts";
export { createBudget, plannedBudget } from "./device-budget.ts";
export { drain } from "./drain.ts";
export { AllocationRefusedError, BudgetExceededError, LimitExceededError } from "./errors.ts";
export { type FaultPlan, type FaultPoint, Faults, injectFaults } from "./faults.ts";
export { type ArenaLayout, bufferBytes, type FieldLayout, sharedIndex, worldIndex } from "./layout.ts";
export { type BufferPlan, type FieldPlan, fitPlan, type Plan, planBatch, type ShardPlan } from "./plan.ts";
export {
  type Access,
  type ArenaRequest,
  type BudgetView,
  defaultLimits,
  type FieldRequest,
  type PlanLimits,
  type PlanRequest,
} from "./request.ts";
export { reportMetrics, reportText } from "./report.ts";
export { Reservation, reserve } from "./reserve.ts";
export { locateWorld, type Shard, type WorldPlace } from "./shards.ts";
export { boundText, planTable } from "./table.ts";
