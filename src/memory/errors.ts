// refusals of memory: each carries the plan, its table and what would help
import { CorralError } from "../core/errors.ts";
import { formatApart, formatBytes, formatCount } from "../core/units.ts";
import type { FieldPlan, Plan } from "./plan-types.ts";
import { planTable } from "./table.ts";

/** A holder's bytes, for the remedy that names who could give some back. */
export interface Holding {
  readonly holder: string;
  readonly live: number;
}

/** `budget-exceeded`: the plan needs more than the budget has left. Thrown before the first buffer. */
export class BudgetExceededError extends CorralError {
  override name = "BudgetExceededError";
  readonly plan: Plan;
  /** The plan as text. */
  readonly table: string;
  /** The three fields that take most, largest first. */
  readonly largestFields: readonly FieldPlan[];
  readonly remedies: readonly string[];

  constructor(plan: Plan, holdings: readonly Holding[] = []) {
    const largestFields = largestOf(plan.fields);
    const remedies = remediesOf(plan, largestFields, holdings);
    const budget = plan.budget ?? { limit: 0, live: 0, source: "none" };
    const free = Math.max(0, budget.limit - budget.live);
    const held = budget.live > 0 ? ` (${formatBytes(budget.live)} are held)` : "";
    const largest = largestFields.map((field) => `${field.arena}.${field.name} ${formatBytes(field.bytes)}`);
    const [needed, there] = formatApart(plan.totalBytes, free);
    super(
      "budget-exceeded",
      `${nameOf(plan)} needs ${needed}, ` +
        `${there} of the budget of ${formatBytes(budget.limit)} from ${budget.source} are free${held}. ` +
        `Largest fields: ${largest.join(", ")}. Remedies: ${remedies.join("; ")}.`,
      { needed: plan.totalBytes, free, limit: budget.limit, live: budget.live, largestNumEnvs: plan.largestNumEnvs },
    );
    this.plan = plan;
    this.table = planTable(plan);
    this.largestFields = largestFields;
    this.remedies = remedies;
    keepShort(this, "plan", "table", "largestFields", "remedies");
  }
}

/** `limit-exceeded`: no split into shards meets the adapter's limits. Thrown before the first buffer. */
export class LimitExceededError extends CorralError {
  override name = "LimitExceededError";
  readonly plan: Plan;
  /** The plan as text. */
  readonly table: string;

  constructor(plan: Plan, text: string) {
    super("limit-exceeded", text, { largestNumEnvs: plan.largestNumEnvs, bound: plan.bound });
    this.plan = plan;
    this.table = planTable(plan);
    keepShort(this, "plan", "table");
  }
}

/** `allocation-refused`: the driver refused a buffer that the plan allowed. Everything was rolled back. */
export class AllocationRefusedError extends CorralError {
  override name = "AllocationRefusedError";
}

/** Keeps properties out of what Node prints of an error that nobody caught: the message would be far above them. */
export function keepShort(error: object, ...names: string[]): void {
  for (const name of names) Object.defineProperty(error, name, { enumerable: false });
}

/** A plan without worlds of its own, as a learner's, is just its name. */
function nameOf(plan: Plan): string {
  return plan.bytesPerWorld === 0 ? plan.name : `${plan.name} with ${formatCount(plan.numEnvs)} worlds`;
}

function largestOf(fields: readonly FieldPlan[]): FieldPlan[] {
  return fields
    .filter((field) => field.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, 3);
}

function remediesOf(plan: Plan, largest: readonly FieldPlan[], holdings: readonly Holding[]): string[] {
  const remedies: string[] = [];

  if (plan.largestNumEnvs > 0 && plan.largestNumEnvs < plan.numEnvs) {
    remedies.push(`numEnvs: ${plan.largestNumEnvs}, the most that fits, or onOverBudget: "shrink"`);
  }

  for (const remedy of new Set(largest.map((field) => field.remedy))) {
    if (remedy !== null) remedies.push(remedy);
  }

  const others = holdings.filter((holding) => holding.live > 0).sort((a, b) => b.live - a.live);
  if (others.length > 0) remedies.push(`close ${others[0].holder}, which holds ${formatBytes(others[0].live)}`);

  remedies.push("a larger budget");
  return remedies;
}
