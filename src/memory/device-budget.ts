// the one budget of a device, made on first use from what can be known of its memory
import type { Bytes } from "../core/units.ts";
import { parseBytes } from "../core/units.ts";
import { assertDevice, type GpuDevice } from "../gpu/device.ts";
import { memoryInfo, ofHost } from "../gpu/memory-info.ts";
import type { BudgetOptions } from "./budget.ts";
import { Budget, checkBudgetOptions } from "./budget.ts";
import type { BudgetView } from "./request.ts";

const budgets = new WeakMap<GpuDevice, Promise<Budget>>();

/**
 * The one budget that all holders on the device share. The first call makes it, by default with `memoryInfo`'s limit; later
 * calls change its limit and watermarks and add their listener, if given. Throws `bad-bytes`, `budget-too-large`,
 * `budget-below-live`, `bad-watermark`, `bad-option` or `unknown-option`, with nothing changed.
 */
export async function createBudget(gpu: GpuDevice, options: Partial<BudgetOptions> = {}): Promise<Budget> {
  assertDevice(gpu);
  checkBudgetOptions(options);
  const known = budgets.get(gpu);
  if (known !== undefined) {
    const budget = await known;
    budget.change(options);
    return budget;
  }

  const making = makeBudget(gpu, options);
  budgets.set(gpu, making);

  // a refused option must not be remembered
  making.catch(() => budgets.delete(gpu));
  return making;
}

async function makeBudget(gpu: GpuDevice, options: Partial<BudgetOptions>): Promise<Budget> {
  const { bytes, available, source } = await memoryInfo(gpu.info);
  const given = options.limit !== undefined;
  return new Budget({
    available,
    ...options,
    limit: options.limit ?? bytes,
    source: options.source ?? (given ? "the option" : source),
  });
}

/** A budget to plan with if no device is open. A part such as `0.5` is of this machine's memory. Throws `bad-bytes`. */
export function plannedBudget(limit: Bytes): BudgetView {
  const { available, source } = ofHost();
  const part = typeof limit === "number" ? limit > 0 && limit < 1 : /^0?\.|%$/.test(limit);
  return { limit: parseBytes(limit, "budget", available), live: 0, source: part ? source : "the option" };
}
