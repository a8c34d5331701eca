// where a batch runs: a GPU device, or the CPU without any
import { CorralError } from "../core/errors.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { shareDevice, type DeviceLease } from "../gpu/shared-device.ts";
import { deviceBudget } from "../memory/device-budget.ts";
import type { Budget } from "../memory/budget.ts";
import { refusalOf } from "../memory/plan.ts";
import { planOf, type Batch, type BatchSpec, type PlanContext } from "./batch.ts";
import { CpuBatch } from "./cpu_batch.ts";
import { GpuBatch } from "./gpu_batch.ts";

/** Where to run: an open device; "cpu" (JavaScript, float32) or "cpu-f64"; by default the process's shared device. */
export type DeviceChoice = GpuDevice | "cpu" | "cpu-f64";

export interface PlacementOptions {
  readonly device?: DeviceChoice;
  /** Adapter of the shared device: auto, gpu, system, embedded. */
  readonly adapter?: string;
  /** Bytes that all batches of the device may hold: "2GiB", 0.5 of what is available, or a number. */
  readonly budget?: string | number;
  /** What to do where the batch does not fit: refuse, or take the largest count of worlds that does. */
  readonly onOverBudget?: "throw" | "shrink";
  /** At least this many shards. */
  readonly shards?: number;
}

/** Makes a batch where the options say. Nothing is held where it fails. */
export async function placeBatch(
  specFor: (numEnvs: number) => BatchSpec,
  numEnvs: number,
  options: PlacementOptions,
): Promise<Batch> {
  const { device } = options;
  const minShards = options.shards === undefined ? {} : { minShards: options.shards };
  if (device === "cpu" || device === "cpu-f64") {
    const planned = planOf(specFor(numEnvs), minShards);
    if (planned.plan.problems.length) throw refusalOf(planned.plan);
    return new CpuBatch(planned, device === "cpu" ? "f32" : "f64");
  }
  if (typeof device === "string") {
    throw new CorralError("bad-option", `device is "${String(device)}"; pass an open device, "cpu" or "cpu-f64".`, { device });
  }
  const lease = device ? undefined : await shareDevice(options.adapter);
  const gpu = device ?? lease!.gpu;
  try {
    const budget = await deviceBudget(gpu, options.budget === undefined ? {} : { limit: options.budget });
    return await placeOnGpu(gpu, budget, lease, specFor, numEnvs, minShards, options.onOverBudget ?? "throw");
  } catch (error) {
    lease?.release();
    throw error;
  }
}

async function placeOnGpu(
  gpu: GpuDevice,
  budget: Budget,
  lease: DeviceLease | undefined,
  specFor: (numEnvs: number) => BatchSpec,
  numEnvs: number,
  minShards: { minShards?: number },
  onOverBudget: "throw" | "shrink",
): Promise<Batch> {
  const context: PlanContext = { ...minShards, limits: gpu.limits, budget };
  let planned = planOf(specFor(numEnvs), context);
  if (planned.plan.problems.length) {
    const fits = planned.plan.largestNumEnvs;
    if (onOverBudget === "throw" || fits < 1) throw refusalOf(planned.plan);
    process.emitWarning(
      `${planned.spec.name}: ${numEnvs} worlds do not fit (${planned.plan.problems[0].text}); made ${fits}.`,
      { code: "corral-shrunk" },
    );
    planned = planOf(specFor(fits), context);
  }
  const batch = await GpuBatch.create(gpu, planned, budget);
  return lease ? leased(batch, lease) : batch;
}

/** A batch that gives its share of the device back when it closes. */
function leased(batch: GpuBatch, lease: DeviceLease): Batch {
  const close = batch.close.bind(batch);
  batch.close = async () => {
    await close();
    lease.release();
  };
  return batch;
}

