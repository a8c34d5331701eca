// where a stress run makes its batches: an adapter or none, its budget, and how its memory ends
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { chooseDevice, isHostDevice, type DeviceName, type HostDevice } from "../batch/devices.ts";
import { CorralError } from "../core/errors.ts";
import { badOption } from "../core/options.ts";
import { formatBytes, parseBytes, type Bytes } from "../core/units.ts";
import { openDevice, type GpuDevice } from "../gpu/device.ts";
import { memoryInfo, ofHost, type MemoryInfo } from "../gpu/memory-info.ts";
import { hostBudget } from "../memory/host-budget.ts";
import { createBudget, type Budget } from "../memory/index.ts";

/** Where batches are made, and what ends their growth. */
export interface PlaceOptions {
  /** Default: `CORRAL_DEVICE`, else auto. */
  readonly device?: DeviceName;
  /** Of a GPU: auto, gpu, system, embedded. */
  readonly adapter?: string | number;
  /** What all batches together may hold; default: the device's own budget. */
  readonly budget?: Bytes;
  /** `refuse`: the budget or a limit ends it. `OOM`: the driver does, with no budget in its way. Default `refuse`. */
  readonly until?: "refuse" | "OOM";
  /** Bounds the address space of this process to so many bytes more than it has (Linux, by prlimit). */
  readonly memory?: Bytes;
}

export interface StressPlace extends Disposable {
  readonly device: GpuDevice | HostDevice;
  /** Driver of the adapter, or the device's name. */
  readonly name: string;
  readonly budget: Budget;
  /** What is free now. */
  readonly memory: () => Promise<MemoryInfo>;
  /** Memory is granted until the process dies of it. */
  readonly neverRefuses: boolean;
}

/** With less, the JavaScript engine itself finds no room and aborts. */
const LEAST_MEMORY = 16 * 2 ** 20;

/** Throws `bad-bytes`, and `bad-option` for less than the process itself needs. */
function bytesToBound(memory: Bytes): number {
  const bytes = parseBytes(memory, "memory");
  if (bytes >= LEAST_MEMORY) return bytes;
  throw badOption(
    "memory",
    memory,
    `pass at least 16MiB, such as 1GiB: with ${formatBytes(bytes)} more the process itself aborts`,
  );
}

/**
 * Opens the device of the options.
 * @throws CorralError bad-bytes; bad-option, also if the whole machine would feel the driver's refusal; what openDevice throws
 */
export async function openPlace(options: PlaceOptions): Promise<StressPlace> {
  if (options.memory !== undefined) bytesToBound(options.memory);
  const device = await chooseDevice(options);
  if (isHostDevice(device)) {
    const budget = hostBudget();
    if (options.budget !== undefined) budget.change({ limit: options.budget });
    if (options.until === "OOM") keep(budget, "memory is granted until the machine's ends");
    const memory = async () => ofHost();
    return { device, name: device, budget, memory, neverRefuses: true, [Symbol.dispose]: () => {} };
  }
  const { adapter } = options;
  const gpu = typeof device === "object" ? device : await openDevice(adapter === undefined ? {} : { adapter });
  try {
    // lavapipe dies of a segmentation fault
    const neverRefuses = /llvmpipe|lavapipe/i.test(gpu.info.driver);
    const budget = await budgetOf(gpu, neverRefuses, options);
    const memory = () => memoryInfo(gpu.info);
    return {
      device: gpu,
      name: gpu.info.driver,
      budget,
      memory,
      neverRefuses,
      [Symbol.dispose]: () => gpu[Symbol.dispose](),
    };
  } catch (error) {
    gpu[Symbol.dispose]();
    throw error;
  }
}

async function budgetOf(
  gpu: GpuDevice,
  neverRefuses: boolean,
  { budget, until, memory }: PlaceOptions,
): Promise<Budget> {
  const given = budget === undefined ? {} : { limit: budget };
  if (until !== "OOM") return createBudget(gpu, given);
  if (neverRefuses) return keep(await createBudget(gpu, given), "this driver never refuses");
  if (gpu.info.kind === "software" && memory === undefined) {
    throw new CorralError(
      "bad-option",
      `${gpu.info.driver} refuses where the machine's memory ends, and other programs would feel it. Pass --memory, such as 1GiB, to bound this run's process.`,
    );
  }
  return createBudget(gpu, { limit: 2 ** 50, available: Infinity, source: "no budget, until the driver refuses" });
}

/** A budget that stays where only the driver was to refuse. */
function keep(budget: Budget, why: string): Budget {
  budget.change({ limit: budget.limit, source: `${budget.source}, kept: ${why}` });
  return budget;
}

/** Bounds the process, and the budget if it is the machine's: what was free before is not free any more. */
export async function bound({ budget, memory, neverRefuses }: StressPlace, options: PlaceOptions): Promise<void> {
  if (options.memory === undefined) return;
  boundProcess(bytesToBound(options.memory));
  if (options.budget !== undefined || (options.until === "OOM" && !neverRefuses)) return;
  const { bytes, source } = await memory();
  budget.change({ limit: Math.min(budget.limit, budget.live + bytes), source });
}

/** The address space of this process may grow by `bytes` from here. Throws `no-prlimit`. */
function boundProcess(bytes: number): void {
  try {
    const now = 1024 * Number(/VmSize:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
    execFileSync("prlimit", ["--pid", String(process.pid), `--as=${now + bytes}`]);
  } catch (cause) {
    throw new CorralError(
      "no-prlimit",
      `the process cannot be bounded to ${formatBytes(bytes)} more: ${(cause as Error).message}. --memory needs Linux and prlimit (util-linux).`,
      {},
      { cause },
    );
  }
}
