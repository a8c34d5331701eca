/** The one budget of a device, made on first use from what can be known of its memory. */
import type { GpuDevice } from "../gpu/device.ts";
import { memoryInfo } from "../gpu/memory-info.ts";
import type { BudgetOptions } from "./budget.ts";
import { Budget } from "./budget.ts";

const budgets = new WeakMap<GpuDevice, Promise<Budget>>();

/**
 * The one budget that all holders on the device share. The first call makes it, by default with `memoryInfo`'s limit; later
 * calls change its limit and watermarks and add their listener, where given. Throws `bad-bytes`, `budget-too-large`,
 * `budget-below-live` or `bad-watermark`, with nothing changed.
 */
export async function createBudget(gpu: GpuDevice, options: Partial<BudgetOptions> = {}): Promise<Budget> {
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
