// what a learner holds on WebAssembly: one memory, and its threads
import { formatBytes } from "../../core/units.ts";
import { inWasm, THREAD_BYTES } from "../../memory/host-budget.ts";
import { bufferBytes } from "../../memory/layout.ts";
import { LINE_BYTES, lines, MOST_PAGES, PAGE_BYTES } from "../../memory/wasm-cost.ts";
import type { Plan } from "../../memory/plan.ts";

export const MOST_BYTES = MOST_PAGES * PAGE_BYTES;
/** Variables of workgroups and arrays that are indexed, of each thread. */
export const SCRATCH_BYTES = 16384;
/** Products of a forward pass that are worth a thread of their own: an update of them takes about 130 microseconds, measured. */
const PRODUCTS_PER_THREAD = 1e5;

/** A plan of a learner, with the products of its networks for all rows that they have room for. */
export interface LearnerPlan extends Plan {
  readonly products: number;
}

/** Threads of a learner that may take so many: none beside the calling one if it has little to do. */
export function threadsFor(products: number, most: number): number {
  const worth = Math.min(most, Math.floor(products / PRODUCTS_PER_THREAD));
  return worth > 1 ? worth : 0;
}

/** Arenas of environments of which a learner has one shard as a copy. */
export const COPIED = ["obs", "action", "result"] as const;

/** Bytes of copies of environments; those with as many worlds in a shard share them. */
function copiedBytes(envs: readonly Plan[]): number {
  const sizes = new Map<number, number>();
  for (const { arenas, shards } of envs) {
    const most = Math.max(0, ...shards.map(({ worlds }) => worlds));
    const copied = arenas.filter(({ name }) => COPIED.some((arena) => arena === name));
    sizes.set(
      most,
      copied.reduce((sum, { bytesPerWorld }) => sum + lines(most * bytesPerWorld), 0),
    );
  }
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * What a learner of a plan holds in its one memory, with what passes between it and environments, and for its threads, of
 * which it may take so many; a problem of the plan where the memory has not as much.
 */
export function learnerInWasm(plan: LearnerPlan, mostThreads: number, envs: readonly Plan[] = []): Plan {
  const threads = threadsFor(plan.products, mostThreads);
  const worlds = Math.ceil(plan.numEnvs / plan.tileWidth) * plan.tileWidth;
  const arenas = plan.arenas.filter(({ access }) => access !== "staging");
  const own = arenas.reduce((sum, arena) => sum + lines(bufferBytes(arena, worlds)), LINE_BYTES);
  const bytes = own + (threads + 1) * SCRATCH_BYTES + copiedBytes(envs);
  const memory = Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
  const whole = inWasm(plan, { memory, threads: threads * THREAD_BYTES });
  if (memory <= MOST_BYTES) return whole;
  const text = `${plan.name} needs ${formatBytes(memory)}, and the memory of WebAssembly has at most ${formatBytes(MOST_BYTES)}. Take fewer worlds or narrower networks.`;
  return { ...whole, problems: [...whole.problems, { code: "limit-exceeded", text }] };
}
