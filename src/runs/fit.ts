// a training run that fits its device's budget as a whole, or fewer worlds of it
import { checked } from "../core/options.ts";
import { oneOf } from "../core/schema.ts";
import { formatBytes, formatCount } from "../core/units.ts";
import { withLimit } from "../batch/device.ts";
import { isHostDevice, withDevice } from "../batch/devices.ts";
import type { PlacementOptions } from "../batch/options.ts";
import { shareDevice } from "../gpu/shared-device.ts";
import type { Budget } from "../memory/budget.ts";
import { createBudget } from "../memory/device-budget.ts";
import { hostBudget } from "../memory/host-budget.ts";
import { AllocationRefusedError, BudgetExceededError } from "../memory/errors.ts";
import { refusalOf } from "../memory/plan.ts";
import type { PlanLimits } from "../memory/request.ts";
import { bytesOf, RunPlanner } from "./plan.ts";
import type { TrainOptions } from "./options.ts";
import { evalEnvsOf, settle } from "./settings.ts";

const FITTING = oneOf("throw", "shrink");

/** More than the constants of any kernels take: kernels are traced early only if the rest comes this close to the budget. */
const KERNEL_CONSTANTS = 2 ** 26;

/**
 * Makes something of a run's options: as they are where all of the run fits its device's budget and limits, else with the
 * most worlds that do if the options say "shrink". Listeners of the budget are called first, and may free memory.
 * @throws CorralError bad-option; BudgetExceededError and LimitExceededError with the plan of the run, before anything is
 *   allocated; what `make` throws
 */
export async function makeFitting<T>(
  id: string,
  { onOverBudget: asked, onShrink, ...given }: TrainOptions,
  make: (options: TrainOptions) => Promise<T>,
): Promise<T> {
  const { onOverBudget: ofEnv, ...asIs } = (given.env ?? {}) as PlacementOptions;
  const env = await withDevice(asIs);
  const options: TrainOptions = { ...given, env };
  const onOverBudget = checked("onOverBudget", FITTING, asked ?? ofEnv ?? "throw");
  const { device, adapter, budget: limit } = env;
  // JavaScript is refused by the learner
  if (isHostDevice(device) && device !== "wasm") return make(options);

  const shrink = (numEnvs: number, why: string): TrainOptions => {
    const { numEnvs: before } = settle(id, options);
    const text = `${id}: ${formatCount(before)} worlds do not fit (${why}); ${formatCount(numEnvs)} train.`;
    if (onShrink) onShrink(text);
    else process.emitWarning(text, { code: "corral-shrunk" });
    return { ...options, numEnvs, evalEnvs: evalEnvsOf(options, numEnvs) };
  };
  const lease = device === "gpu" ? await shareDevice(adapter) : undefined;
  const gpu = device === "gpu" ? lease!.gpu : device;
  try {
    const budget = gpu === "wasm" ? hostBudget() : await createBudget(gpu);
    const limits = gpu === "wasm" ? undefined : gpu.limits;
    return await withLimit(budget, limit, async () => {
      let now = (await fewer(id, options, limits, budget, onOverBudget, shrink)) ?? options;
      for (;;) {
        try {
          return await make(now);
        } catch (error) {
          // the driver may have less than the budget
          const { numEnvs } = settle(id, now);
          if (onOverBudget === "throw" || !(error instanceof AllocationRefusedError) || numEnvs === 1) throw error;
          now = shrink(Math.floor(numEnvs / 2), `the driver refused ${formatBytes(Number(error.details.size))}`);
        }
      }
    });
  } finally {
    lease?.release();
  }
}

/** Options with fewer worlds if the run does not fit; undefined if it does. */
async function fewer(
  id: string,
  options: TrainOptions,
  limits: PlanLimits | undefined,
  budget: Budget,
  onOverBudget: "throw" | "shrink",
  shrink: (numEnvs: number, why: string) => TrainOptions,
): Promise<TrainOptions | undefined> {
  const planner = await RunPlanner.create(id, options, limits);
  const { numEnvs } = settle(id, options);
  const rough = planner.parts(numEnvs, false);
  const free = await budget.makeRoom(bytesOf(rough), `training ${id}`);
  if (rough.every(({ plan }) => plan.problems.length === 0) && bytesOf(rough) + KERNEL_CONSTANTS <= free)
    return undefined;

  const plan = planner.plan(numEnvs, { limit: budget.limit, live: budget.live, source: budget.source });
  if (plan.problems.length === 0) return undefined;
  const { largestNumEnvs } = plan;
  if (onOverBudget === "shrink" && largestNumEnvs > 0 && largestNumEnvs < numEnvs)
    return shrink(largestNumEnvs, plan.problems[0].text);
  const refusal = refusalOf(plan);
  throw refusal instanceof BudgetExceededError ? new BudgetExceededError(plan, budget.report().holders) : refusal;
}
