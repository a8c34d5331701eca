// the plan: every byte of a batch, computed before the first allocation. Pure, plain data, JSON as it is.
import { CorralError } from "../core/errors.ts";
import type { Bound } from "./cost.ts";
import { costOf, largestFit, shardsOf, totalBytes } from "./cost.ts";
import { BudgetExceededError, LimitExceededError } from "./errors.ts";
import type { ArenaLayout } from "./layout.ts";
import { bufferBytes, fieldBytes, layoutArena } from "./layout.ts";
import type { BufferPlan, FieldPlan, Plan } from "./plan-types.ts";
import { budgetProblems, limitProblems } from "./problems.ts";
import type { PlanRequest } from "./request.ts";
import { checkRequest } from "./request.ts";
import { printable } from "./table.ts";
import type { Shard } from "./shards.ts";
import { splitWorlds } from "./shards.ts";
import { usageOf } from "./usage.ts";

export type { BufferPlan, FieldPlan, Plan, ShardPlan } from "./plan-types.ts";

/**
 * Plans a batch. Over budget or over a limit it still answers, with `problems`. Needs no device; a million worlds take
 * no longer than one. Throws `bad-num-envs` and `bad-plan`.
 */
export function planBatch(request: PlanRequest): Plan {
  const checked = checkRequest(request);
  const { name, numEnvs, tileWidth, budget } = checked;
  const arenas = checked.arenas.map((arena) => layoutArena(arena, tileWidth));
  const cost = costOf(checked, arenas);

  const tiles = Math.ceil(numEnvs / tileWidth);
  const count = shardsOf(cost, tiles);
  const allowed = tiles <= cost.batchTiles;
  const shards = allowed ? splitWorlds(numEnvs, tileWidth, count) : [];
  const fields = arenas.flatMap((arena) => planFields(arena, tiles * tileWidth, count));

  const fit = largestFit(cost, budget ? budget.limit - budget.live : Infinity);
  const budgetBound: Bound = { limit: "budget", value: budget?.limit ?? 0, arena: null };
  const facts = {
    name,
    numEnvs,
    shrunkFrom: null,
    tileWidth,
    arenas,
    fields,
    shards: shards.map((shard) => ({ ...shard, bytes: shardBytes(arenas, shard) })),
    buffers: planBuffers(name, arenas, shards, tiles * tileWidth),
    bytesPerWorld: cost.perTile / tileWidth,
    sharedBytes: cost.once,
    sharedBytesPerShard: cost.perShard,
    stagingBytes: stagingBytes(arenas, tiles * tileWidth, count),
    totalBytes: totalBytes(cost, tiles),
    host: checked.host,
    budget,
    largestNumEnvs: fit.tiles * tileWidth,
    bound: fit.bound ?? budgetBound,
    largestShard: cost.shardTiles * tileWidth,
    shardBound: cost.shardBound,
    cost,
  };
  return printable({ ...facts, problems: [...limitProblems(checked, facts, tiles), ...budgetProblems(facts)] });
}

/**
 * A plan that can be reserved. With `onOverBudget: "shrink"` a batch that is too large becomes the largest that fits
 * (`shrunkFrom` keeps what was asked for). Throws `BudgetExceededError` or `LimitExceededError`, both with the plan.
 */
export function fitPlan(request: PlanRequest, onOverBudget: "throw" | "shrink" = "throw"): Plan {
  if (onOverBudget !== "throw" && onOverBudget !== "shrink") {
    throw new CorralError("bad-plan", `onOverBudget is ${String(onOverBudget)}. Pass "throw" or "shrink".`);
  }

  const plan = planBatch(request);
  if (plan.problems.length === 0) return plan;

  const { numEnvs, largestNumEnvs } = plan;
  if (onOverBudget === "shrink" && largestNumEnvs > 0 && largestNumEnvs < numEnvs) {
    const minShards = Math.min(plan.cost.minShards, largestNumEnvs / plan.tileWidth);
    const smaller = planBatch({ ...request, minShards, numEnvs: largestNumEnvs });
    if (smaller.problems.length === 0) return printable({ ...smaller, shrunkFrom: numEnvs });
  }

  throw refusalOf(plan);
}

/** The error of a plan that has problems. */
export function refusalOf(plan: Plan): BudgetExceededError | LimitExceededError {
  const limit = plan.problems.find((problem) => problem.code === "limit-exceeded");
  return limit === undefined ? new BudgetExceededError(plan) : new LimitExceededError(plan, limit.text);
}

function planFields(arena: ArenaLayout, worlds: number, shards: number): FieldPlan[] {
  const buffers = arena.copies * (arena.scope === "shard" ? shards : 1);
  const windowed = arena.window !== null;
  const bytesOf = (field: ArenaLayout["fields"][number]) =>
    windowed
      ? bufferBytes(arena, worlds) * arena.copies
      : fieldBytes(field, 0) * buffers + field.bytesPerWorld * worlds * arena.copies;

  return arena.fields.map((field) => ({
    arena: arena.name,
    name: field.name,
    group: field.group,
    type: field.type,
    perWorld: field.perWorld,
    shared: field.shared,
    bytesPerWorld: windowed ? 0 : field.bytesPerWorld * arena.copies,
    bytes: bytesOf(field),
    remedy: field.remedy,
  }));
}

function planBuffers(
  name: string,
  arenas: readonly ArenaLayout[],
  shards: readonly Shard[],
  worlds: number,
): BufferPlan[] {
  if (shards.length === 0) return [];

  return arenas.flatMap((arena) => {
    const places = arena.scope === "shard" ? shards : [null];
    return places.flatMap((shard) => {
      const size = bufferBytes(arena, shard === null ? worlds : shard.paddedWorlds);
      if (size === 0) return [];

      return Array.from({ length: arena.copies }, (_, copy) => ({
        label: bufferLabel(name, arena, shard, shards.length, copy),
        arena: arena.name,
        shard: shard === null ? null : shard.index,
        copy,
        size,
        usage: usageOf(arena.access),
      }));
    });
  });
}

/** `ant.state`, `ant.state[2]` for shard 2 of several, `ant.readback#1` for the second of a ring. */
function bufferLabel(name: string, arena: ArenaLayout, shard: Shard | null, shards: number, copy: number): string {
  const part = shard === null || shards === 1 ? "" : `[${shard.index}]`;
  const ring = arena.copies === 1 ? "" : `#${copy}`;
  return `${name}.${arena.name}${part}${ring}`;
}

function shardBytes(arenas: readonly ArenaLayout[], shard: Shard): number {
  return arenas
    .filter((arena) => arena.scope === "shard")
    .reduce((sum, arena) => sum + bufferBytes(arena, shard.paddedWorlds) * arena.copies, 0);
}

function stagingBytes(arenas: readonly ArenaLayout[], worlds: number, shards: number): number {
  return arenas
    .filter((arena) => arena.access === "staging" || arena.access === "upload")
    .flatMap((arena) => planFields(arena, worlds, shards))
    .reduce((sum, field) => sum + field.bytes, 0);
}
