// what a plan says, as plain data
import type { Bound, Cost } from "./cost.ts";
import type { ArenaLayout } from "./layout.ts";
import type { BudgetView, HostBytes } from "./request.ts";
import type { Shard } from "./shards.ts";

/** One reason, with the code of the error that it becomes. */
export interface Problem {
  readonly code: "budget-exceeded" | "limit-exceeded";
  readonly text: string;
}

/** One buffer that a reservation makes; `shard` is null for a buffer of the whole batch. Size in bytes. */
export interface BufferPlan {
  readonly label: string;
  readonly arena: string;
  readonly shard: number | null;
  readonly copy: number;
  readonly size: number;
  readonly usage: number;
}

/** A field's bytes over the whole batch, padding, shards and copies included. Fields add up to the total. */
export interface FieldPlan {
  readonly arena: string;
  readonly name: string;
  readonly group: string;
  readonly type: string;
  readonly perWorld: number;
  readonly shared: number;
  readonly bytesPerWorld: number;
  readonly bytes: number;
  readonly remedy: string | null;
}

/** What one shard's own buffers take. */
export interface ShardPlan extends Shard {
  readonly bytes: number;
}

export interface Plan {
  readonly name: string;
  readonly numEnvs: number;
  /** What was asked for, where `onOverBudget: "shrink"` made it less. */
  readonly shrunkFrom: number | null;
  readonly tileWidth: number;
  readonly arenas: readonly ArenaLayout[];
  readonly fields: readonly FieldPlan[];
  /** Shards and buffers; both empty if the limits allow no split. */
  readonly shards: readonly ShardPlan[];
  readonly buffers: readonly BufferPlan[];
  /** Bytes that one more world costs, padding of its tile and windows that are not full yet left out. */
  readonly bytesPerWorld: number;
  /** Bytes of what is shared: once for the batch (windows left out), and again in each shard. */
  readonly sharedBytes: number;
  readonly sharedBytesPerShard: number;
  /** Bytes of buffers that the host maps, part of the total. */
  readonly stagingBytes: number;
  readonly totalBytes: number;
  /** What the process takes beside the total, if it is known. */
  readonly host: readonly HostBytes[];
  readonly budget: BudgetView | null;
  /** The largest numEnvs that fits budget and limits, and what ends it there. */
  readonly largestNumEnvs: number;
  readonly bound: Bound;
  /** The most worlds of one shard, and what ends it there. */
  readonly largestShard: number;
  readonly shardBound: Bound;
  readonly problems: readonly Problem[];
  readonly cost: Cost;
}
