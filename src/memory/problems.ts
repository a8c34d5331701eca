// why a plan cannot be reserved, in words
import { formatApart, formatBytesExactly, formatCount } from "../core/units.ts";
import { bindingLimits, largestFit } from "./cost.ts";
import { bufferBytes } from "./layout.ts";
import type { Plan, Problem } from "./plan-types.ts";
import type { BudgetView, CheckedRequest } from "./request.ts";

type PlanFacts = Omit<Plan, "problems">;

/** The limits that the plan is over: bindings of a stage, and worlds that no split can hold. */
export function limitProblems(request: CheckedRequest, plan: PlanFacts, tiles: number): Problem[] {
  const problems: Problem[] = [];
  const { limits, stages } = request;

  for (const stage of stages) {
    const bound = plan.arenas.filter((arena) => stage.arenas.includes(arena.name));
    const storage = bound.filter((arena) => arena.access === "read" || arena.access === "read_write").length;
    const uniform = bound.filter((arena) => arena.access === "uniform").length;
    const counts = [
      ["maxStorageBuffersPerShaderStage", "storage", storage],
      ["maxUniformBuffersPerShaderStage", "uniform", uniform],
    ] as const;

    for (const [limit, kind, count] of counts) {
      if (count <= limits[limit]) continue;
      const text = `stage ${stage.name} of ${plan.name} binds ${count} ${kind} buffers, ${limit} is ${limits[limit]}. Put more fields into one arena, or cut the stage.`;
      problems.push({ code: "limit-exceeded", text });
    }
  }

  if (tiles <= plan.cost.batchTiles) return problems;
  return [...problems, { code: "limit-exceeded", text: tooLarge(plan) }];
}

function tooLarge(plan: PlanFacts): string {
  const { batchTiles, batchBound, shardBound } = plan.cost;
  const { limit, value } = batchBound;
  const most = batchTiles * plan.tileWidth;
  const worlds = formatCount(plan.numEnvs);
  const arena = plan.arenas.find((candidate) => candidate.name === batchBound.arena);

  if (arena !== undefined && (bindingLimits(arena) as string[]).includes(limit)) {
    const count = most === 0 ? plan.tileWidth : Math.ceil(plan.numEnvs / plan.tileWidth) * plan.tileWidth;
    const bytes = formatBytesExactly(bufferBytes(arena, count));
    const own = arena.fields.find((field) => field.remedy !== null);
    const less = own ? `What helps: ${own.remedy}.` : "Fewer worlds, or fewer steps kept of each, make it smaller.";
    const remedy = most === 0 ? less : `Pass numEnvs: ${most}.`;
    return `arena ${arena.name} of ${plan.name} needs ${bytes} in one buffer for ${formatCount(count)} worlds, ${limit} is ${formatBytesExactly(value)}. ${remedy}`;
  }

  if (limit === "maxShards") {
    const of = shardBound.arena === null ? "" : ` of arena ${shardBound.arena}`;
    const shard = `${formatCount(plan.largestShard)} worlds (${shardBound.limit}${of})`;
    return `${plan.name} has ${worlds} worlds, but ${formatCount(value)} shards (maxShards) of at most ${shard} hold ${formatCount(most)}. Pass numEnvs: ${most}.`;
  }

  return `${plan.name} has ${worlds} worlds, ${limit} allows ${formatCount(most)}. Pass numEnvs: ${most}.`;
}

/** The same plan against a budget: the most worlds that fit it, and what else it is over. */
export function planAgainst(plan: Plan, budget: BudgetView | null): Plan {
  const { tiles, bound } = largestFit(plan.cost, budget ? budget.limit - budget.live : Infinity);
  const against = {
    ...plan,
    budget,
    largestNumEnvs: tiles * plan.tileWidth,
    bound: bound ?? ({ limit: "budget", value: budget?.limit ?? 0, arena: null } as const),
  };
  const limits = plan.problems.filter(({ code }) => code === "limit-exceeded");
  return { ...against, problems: [...limits, ...budgetProblems(against)] };
}

/** Whether the plan is over its budget. */
export function budgetProblems(plan: PlanFacts): Problem[] {
  const { budget } = plan;
  if (budget === null || plan.totalBytes <= budget.limit - budget.live) return [];

  const [needed, free] = formatApart(plan.totalBytes, budget.limit - budget.live);
  const text = `${needed} needed, ${free} free`;
  return [{ code: "budget-exceeded", text }];
}
