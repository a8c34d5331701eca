// what a control step costs beside its physics: from the host with all results, and on the device
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Task, VecOptions } from "../env/index.ts";
import { withDevice } from "../batch/devices.ts";
import { shareDevice } from "../gpu/shared-device.ts";
import { formatCount } from "../core/units.ts";
import { defineTarget } from "../env/describe.ts";
import { now } from "./machine.ts";
import { Runner } from "./runner.ts";
import { ActionPool } from "./actions.ts";

export interface LoopRow {
  readonly numEnvs: number;
  /** Microseconds of a control step with actions from the host and all results on the host. */
  readonly host: number;
  /** With actions from the host, results left on the device. */
  readonly unread: number;
  /** With actions made on the device, one step and 32 steps a submission; null on the CPU. */
  readonly device: number | null;
  readonly grouped: number | null;
  /** Bytes by which the heap grew a step, after a collection before and after. */
  readonly heapPerStep: number;
}

/** Microseconds of control steps of a small environment, whose physics hardly counts. */
export interface Loop {
  readonly name: string;
  readonly adapter: string;
  readonly note: string;
  readonly rows: readonly LoopRow[];
}

const NOTE =
  "Microseconds of one control step of all worlds. The first column is a step from Node with actions from the host and all " +
  "results on the host, awaited; the second leaves the results on the device; in the others a kernel makes the actions. " +
  "Physics is included, and dominates where worlds are many. Growth of the heap is measured over the awaited steps.";

/** Steps of one submission in the last column. */
const GROUPED = 32;
const MOST_STEPS = 4000;

/** @throws what makeVec throws */
export async function measureLoop(
  task: Task<object>,
  counts: readonly number[],
  seconds: number,
  options: Omit<VecOptions, "numEnvs"> = {},
): Promise<Loop> {
  const batch = await withDevice(options);
  const { definition } = await defineTarget(task, { ...batch, numEnvs: 1 });
  const pool = new ActionPool(definition.spec.action, 0);
  const lease = batch.device === "gpu" ? await shareDevice(batch.adapter) : undefined;
  const rows: LoopRow[] = [];
  let adapter = "";
  try {
    for (const numEnvs of counts) {
      const runner = await Runner.create(task, { ...batch, numEnvs }, 0, pool);
      try {
        if (lease) await runner.actOnDevice(lease.gpu, pool);
        adapter = runner.env.deviceName;
        rows.push(await measure(runner, seconds, lease !== undefined));
      } finally {
        await runner.close();
      }
    }
  } finally {
    lease?.release();
  }
  return { name: task.id, adapter, note: NOTE, rows };
}

async function measure(runner: Runner, seconds: number, onDevice: boolean): Promise<LoopRow> {
  const { env } = runner;
  const actions = runner.nextActions;
  const host = await perStep(seconds, () => env.step(actions).then(() => 1));
  const before = heap();
  let steps = 0;
  for (const begin = now(); steps < MOST_STEPS && now() - begin < seconds; steps++) await env.step(actions);
  const heapPerStep = (heap() - before) / steps;
  const settled = async (count: number, work: () => Promise<unknown>) => {
    await work();
    await env.sync();
    return count;
  };
  const unread = await perStep(seconds, () =>
    settled(GROUPED, async () => {
      for (let k = 0; k < GROUPED; k++) await env.step(actions, { readback: false });
    }),
  );
  const device = onDevice
    ? await perStep(seconds, () =>
        settled(GROUPED, async () => {
          for (let k = 0; k < GROUPED; k++) await runner.stepsOnDevice(1);
        }),
      )
    : null;
  const grouped = onDevice ? await perStep(seconds, () => settled(GROUPED, () => runner.stepsOnDevice(GROUPED))) : null;
  return { numEnvs: env.numEnvs, host, unread, device, grouped, heapPerStep };
}

/** Microseconds a step of work that tells how many steps it made; the first calls are not counted. */
async function perStep(seconds: number, work: () => Promise<number>): Promise<number> {
  for (const begin = now(); now() - begin < seconds / 5;) await work();
  const begin = now();
  let steps = 0;
  while (now() - begin < seconds) steps += await work();
  return (1e6 * (now() - begin)) / steps;
}

/** Bytes of the heap that are in use after a collection. */
function heap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

/** A header, and one row a count. */
export function loopTable({ rows }: Loop): string[][] {
  const us = (value: number | null) => (value === null ? "" : `${value.toFixed(value < 100 ? 1 : 0)} us`);
  return [
    ["worlds", "host to host", "results left", "on the device", `${GROUPED} a submission`, "heap a step"],
    ...rows.map((r) => [
      formatCount(r.numEnvs),
      us(r.host),
      us(r.unread),
      us(r.device),
      us(r.grouped),
      `${r.heapPerStep.toFixed(1)} B`,
    ]),
  ];
}
