// the one budget of what batches on the CPU hold, taken from the machine when it is first asked for
import { ofHost } from "../gpu/memory-info.ts";
import { Budget, type Hold } from "./budget.ts";
import type { Plan } from "./plan.ts";

let budget: Budget | undefined;

/** The budget that all batches on the CPU of this process share. */
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

/** What a batch of a plan holds in the memory of WebAssembly, `bytes` in all: words, tables and private arrays. */
export function inWasm(plan: Plan, bytes: number): Plan {
  const held = unstaged(plan, 1);
  const own = Math.max(0, bytes - held.totalBytes);
  return { ...held, totalBytes: held.totalBytes + own, cost: { ...held.cost, once: held.cost.once + own } };
}

function unstaged(plan: Plan, width: number): Plan {
  const { cost } = plan;
  const staged = new Set(plan.arenas.filter((a) => a.access === "staging" || a.access === "upload").map((a) => a.name));
  const wider = (bytes: number) => width * bytes;
  return {
    ...plan,
    fields: plan.fields
      .filter((field) => !staged.has(field.arena))
      .map((field) => ({ ...field, bytesPerWorld: wider(field.bytesPerWorld), bytes: wider(field.bytes) })),
    bytesPerWorld: wider(plan.bytesPerWorld),
    stagingBytes: 0,
    totalBytes: wider(plan.totalBytes - plan.stagingBytes),
    cost: {
      ...cost,
      once: wider(cost.once),
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
