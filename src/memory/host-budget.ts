// the one budget of what batches on the CPU hold, taken from the machine when it is first asked for
import { ofHost } from "../gpu/memory-info.ts";
import { Budget, type Hold } from "./budget.ts";
import type { FieldPlan, Plan } from "./plan.ts";
import type { WasmCost } from "./wasm-cost.ts";

let budget: Budget | undefined;

/**
 * The budget that all batches and learners without an adapter share in this process: `device: "wasm"`, `"cpu"`, `"cpu-f64"`. Its `change`
 * sets limit, watermarks and a listener.
 */
export function hostBudget(): Budget {
  if (budget === undefined) {
    const { bytes, available, source } = ofHost();
    budget = new Budget({ limit: bytes, source, ...(available === undefined ? {} : { available }) });
  }
  return budget;
}

/** Bytes of a number on the CPU for each of its bytes on a GPU: all are float64. */
const WIDER = 2;

/** What a batch of a plan holds on the CPU: wider numbers, and nothing staged. */
export const onHost = (plan: Plan): Plan => unstaged(plan, WIDER);

/** Bytes that a thread takes beside the memory that it works on: its stack, and what the engine keeps for it. */
export const THREAD_BYTES = 8 * 2 ** 20;

/** What is held beside the words of arenas: by memories of WebAssembly, and by threads. */
export interface WasmBytes {
  /** All memories, whole pages. */
  readonly memory: number;
  /** Stacks of threads, and what the engine keeps for them. */
  readonly threads?: number;
  /** The same for any count of worlds, if it is known. */
  readonly cost?: WasmCost;
}

/** What a batch of a plan holds without an adapter: its words, and fields for what kernels and threads take beside them. */
export function inWasm(plan: Plan, { memory, threads = 0, cost }: WasmBytes): Plan {
  const held = unstaged(plan);
  const own = Math.max(0, memory - held.totalBytes);
  const field = (name: string, bytes: number, remedy: string | null): FieldPlan => ({
    arena: "wasm",
    name,
    group: "wasm",
    type: "u32",
    perWorld: 0,
    shared: bytes / 4,
    bytesPerWorld: 0,
    bytes,
    remedy,
  });
  const fields = [field("kernels", own, null), field("threads", threads, "threads: 1")].filter(
    ({ bytes }) => bytes > 0,
  );
  return {
    ...held,
    fields: [...held.fields, ...fields],
    totalBytes: held.totalBytes + own + threads,
    sharedBytes: held.sharedBytes + own + threads,
    cost: { ...held.cost, once: held.cost.once + own + threads, ...(cost && { wasm: cost }) },
  };
}

/** A plan without what is staged for an adapter, whose numbers are so many times as wide. */
function unstaged(plan: Plan, width = 1): Plan {
  const { cost } = plan;
  const passing = plan.arenas.filter((a) => a.access === "staging" || a.access === "upload");
  const staged = new Set(passing.map((a) => a.name));
  const stagedOnce = passing
    .filter((a) => a.window === null && a.scope !== "shard")
    .reduce((sum, a) => sum + a.sharedBytes * a.copies, 0);
  const wider = (bytes: number) => width * bytes;
  return {
    ...plan,
    fields: plan.fields
      .filter((field) => !staged.has(field.arena))
      .map((field) => ({ ...field, bytesPerWorld: wider(field.bytesPerWorld), bytes: wider(field.bytes) })),
    bytesPerWorld: wider(plan.bytesPerWorld),
    sharedBytes: wider(cost.once - stagedOnce),
    sharedBytesPerShard: wider(plan.sharedBytesPerShard),
    stagingBytes: 0,
    totalBytes: wider(plan.totalBytes - plan.stagingBytes),
    cost: {
      ...cost,
      once: wider(cost.once - stagedOnce),
      perShard: wider(cost.perShard),
      perTile: wider(cost.perTile),
      windows: [],
    },
  };
}

// a batch that nobody closed gives its bytes back when it is collected
const dropped = new FinalizationRegistry<Hold>((hold) => hold.release());

/** Gives a hold back with the batch that it is for: at its `close`, or when it is collected. */
export function heldBy<T extends { close(): Promise<void> }>(batch: T, hold: Hold): T {
  const close = batch.close.bind(batch);
  batch.close = async () => {
    await close();
    hold.release();
  };
  dropped.register(batch, hold);
  return batch;
}
