// where a batch runs: a GPU device, or the CPU without any
import { CorralError } from "../core/errors.ts";
import { defaultThreads, noThreads, warn } from "../core/host.ts";
import { checked, kindOf } from "../core/options.ts";
import { printable } from "../core/show.ts";
import { shareDevice, type DeviceLease } from "../gpu/shared-device.ts";
import { createBudget, plannedBudget } from "../memory/device-budget.ts";
import { timed } from "../core/spans.ts";
import { Budget, type Hold } from "../memory/budget.ts";
import { BudgetExceededError, LimitExceededError } from "../memory/errors.ts";
import { heldBy, hostBudget, inWasm, onHost } from "../memory/host-budget.ts";
import type { Plan } from "../memory/plan.ts";
import { planAgainst } from "../memory/problems.ts";
import type { WgslKernel } from "../trace/wgsl.ts";
import { PLACEMENT_OPTIONS, type PlacementOptions } from "./options.ts";
import {
  DEFAULT_TILE_WIDTH,
  planOf,
  type Batch,
  type BatchSpec,
  type PlanContext,
  type PlanHelp,
  type PlannedBatch,
} from "./batch.ts";
import { chooseDevice, isHostDevice, namedHostDevice, type DeviceChoice, type HostDevice } from "./devices.ts";
import { emissionFor } from "./kernel/emission.ts";
import type { Arithmetic } from "./kernel/arithmetic.ts";
import { compileKernel, GpuBatch } from "./gpu-batch.ts";
import { WasmBatch } from "./wasm/batch.ts";
import { emitterReady } from "./wasm/kernel-cache.ts";
import { mapWasm } from "./wasm/memory-map.ts";

const FITTING = kindOf(PLACEMENT_OPTIONS.onOverBudget);

/**
 * What the plan of a batch depends on: `context`, and the budget and shards of the options if it does not say.
 * @throws CorralError bad-bytes, bad-option
 */
export function planContext(options: PlacementOptions, numEnvs: number, context: PlanContext = {}): PlanContext {
  return {
    ...minShardsOf(options, numEnvs),
    emission: emissionFor(undefined, options),
    ...(options.budget === undefined ? {} : { budget: plannedBudget(limitOf(options.budget)) }),
    ...context,
  };
}

/** Throws `bad-bytes` for a budget itself, which is its device's and is in force without being passed. */
function limitOf(limit: string | number): string | number {
  if (!((limit as unknown) instanceof Budget)) return limit;
  throw new CorralError(
    "bad-bytes",
    `budget is a Budget; the option takes bytes such as "2GiB". What createBudget(device) gives counts every batch of its device: pass that device, and leave budget out.`,
    { what: "budget" },
  );
}

/** Threads that may be taken; one where none can share memory. Throws `bad-option`. */
export function threadsOf({ threads = defaultThreads() }: PlacementOptions): number {
  const wanted = checked("threads", kindOf(PLACEMENT_OPTIONS.threads), threads);
  return noThreads() === undefined ? wanted : 1;
}

let told = false;

/** Says once why a batch that may take threads has one. */
function tellThreads({ threads }: PlacementOptions): void {
  const why = threads === 1 ? undefined : noThreads();
  if (why === undefined || told) return;
  told = true;
  warn(`one thread steps all worlds: ${why}`, "corral-one-thread");
}

/** By name and MJCF: many models have no name, or the same. */
const toldOf = new Set<string>();

/** Says once for each model that adapters lose digits which it needs, and other devices do not. */
function tellFloat32({ name, mjcf = "", wide }: BatchSpec): void {
  const of = `${name}\n${mjcf}`;
  if (!wide?.("none") || toldOf.has(of)) return;
  toldOf.add(of);
  warn(
    `${printable(name)}: float32 loses steps of closed loops, light chains, cylinders that lie flat within a margin and few iterations beside a large impratio, and adapters have no more. Pass device: "wasm", which computes them in float64, or arithmetic: "float32" if that is meant.`,
    "corral-float32",
  );
}

function minShardsOf({ shards }: PlacementOptions, numEnvs: number): Pick<PlanContext, "minShards"> {
  if (shards === undefined) return {};
  const most = Math.ceil(numEnvs / DEFAULT_TILE_WIDTH);
  if (Number.isInteger(shards) && shards >= 1 && shards <= most) return { minShards: shards };
  throw new CorralError(
    "bad-option",
    `shards is ${String(shards)}; ${numEnvs} worlds are in 1 to ${most} shards, of at least ${DEFAULT_TILE_WIDTH} worlds each. Pass such a count.`,
    { shards, most },
  );
}

/**
 * Makes a batch where the options say. Nothing is held if it fails, and the budget is what it was. JavaScript kernels call
 * `onTurns` every few thousand turns of loops; it may throw.
 */
export async function placeBatch(
  specFor: (numEnvs: number) => BatchSpec,
  numEnvs: number,
  options: PlacementOptions & { readonly arithmetic?: Arithmetic },
  onTurns?: () => void,
): Promise<Batch> {
  const onOverBudget = checked("onOverBudget", FITTING, options.onOverBudget ?? "throw");
  const shape = { ...minShardsOf(options, numEnvs), emission: emissionFor(undefined, options) };
  const device = await timed("device", () => chooseDevice(options));
  assertComputes(options.arithmetic, device);
  if (isHostDevice(device)) {
    await emitterReady();
    const budget = hostBudget();
    const threads = threadsOf(options);
    return withLimit(budget, options.budget, () =>
      placeFitting(specFor, numEnvs, onCpu(shape), onOverBudget, budget, async (planned): Promise<Batch> => {
        if (device === "wasm") {
          tellThreads(options);
          const map = mapWasm(planned, threads);
          const held = { ...planned, plan: inWasm(planned.plan, map.bytes) };
          const hold = await budget.reserve(held.plan, planned.plan.name);
          return holding(() => new WasmBatch(held, map), hold);
        }
        const held = { ...planned, plan: hostPlan(planned, device, 1) };
        const { CpuBatch } = await import("./cpu-batch.ts"); // a page that steps otherwise loads none
        const hold = await budget.reserve(held.plan, planned.plan.name);
        return holding(() => new CpuBatch(held, device === "cpu" ? "f32" : "f64", onTurns), hold);
      }),
    );
  }
  const lease = device === "gpu" ? await timed("device", () => shareDevice(options.adapter)) : undefined;
  const gpu = device === "gpu" ? lease!.gpu : device;
  tellFloat32(specFor(numEnvs));
  try {
    const emission = emissionFor(gpu.info, options, gpu.limits);
    const budget = await createBudget(gpu);
    const started = new Map<WgslKernel, Promise<GPUComputePipeline>>();
    const make = async (planned: PlannedBatch) => {
      const batch = await GpuBatch.create(gpu, planned, budget, started);
      return lease ? leased(batch, lease) : batch;
    };
    // the driver has a core to itself while the other kernels are traced; a batch that is refused is not worth it
    const traced: PlanHelp["traced"] = (name, kernel, plan) => {
      if (plan.problems.length > 0 || plan.totalBytes > budget.free) return;
      const pipeline = compileKernel(gpu, plan.name, name, kernel);
      // reported when the batch waits for it
      pipeline.catch(() => {});
      started.set(kernel, pipeline);
    };
    return await withLimit(budget, options.budget, () =>
      placeFitting(specFor, numEnvs, { ...shape, emission, limits: gpu.limits }, onOverBudget, budget, make, {
        traced,
      }),
    );
  } catch (error) {
    lease?.release();
    throw error;
  }
}

/** Throws `bad-option` for an arithmetic that the device has not; `auto` may be any. */
function assertComputes(arithmetic: Arithmetic | undefined, device: DeviceChoice): void {
  if (arithmetic === undefined || device === "wasm" || device === "cpu" || device === "auto") return;
  if (arithmetic === (device === "cpu-f64" ? "float64" : "float32")) return;
  throw new CorralError(
    "bad-option",
    device === "cpu-f64"
      ? `arithmetic is "float32", and the device cpu-f64 computes in float64. Leave arithmetic out, or pass device: "wasm" or "cpu".`
      : `arithmetic is "float64", and kernels of adapters are WGSL, which has float32 alone. Leave arithmetic out, or pass device: "wasm".`,
    { arithmetic },
  );
}

/** There kernels are never cut, and no driver compiles them. */
export const onCpu = <C extends PlanContext>(context: C): C =>
  context.emission
    ? { ...context, emission: { ...context.emission, target: "none", cut: false, roomy: true } }
    : context;

/** The plan of a batch on a device without an adapter: what it holds of the host's budget. */
export const hostPlan = (planned: PlannedBatch, device: HostDevice, threads: number): Plan =>
  device === "wasm" ? inWasm(planned.plan, mapWasm(planned, threads).bytes) : onHost(planned.plan);

/**
 * Kernels and plan of a batch, without a device: of one without an adapter if the options name it, or `CORRAL_DEVICE`.
 * @throws CorralError bad-option, bad-bytes
 */
export function planFor(
  spec: BatchSpec,
  options: PlacementOptions & { readonly arithmetic?: Arithmetic },
  context: PlanContext = {},
  help: PlanHelp = {},
): PlannedBatch {
  const device = namedHostDevice(options);
  assertComputes(options.arithmetic, device ?? options.device ?? "auto");
  const given = planContext(options, spec.numEnvs, context);
  const planned = planOf(spec, device === undefined ? given : onCpu(given), help);
  if (device === undefined) return planned;
  return { ...planned, plan: planAgainst(hostPlan(planned, device, threadsOf(options)), planned.plan.budget) };
}

/** Changes a budget's limit if one is given, and back if what follows fails. */
export async function withLimit<T>(
  budget: Budget,
  limit: string | number | undefined,
  run: () => Promise<T>,
): Promise<T> {
  if (limit === undefined) return run();
  const { limit: before, source } = budget;
  budget.change({ limit: limitOf(limit) });
  const changed = budget.limit;

  try {
    return await run();
  } catch (error) {
    // others may have changed it meanwhile, or hold more than it was
    if (budget.limit === changed && budget.live <= before) budget.change({ limit: before, source });
    throw error;
  }
}

/** Makes a batch, or if the options say so the largest that fits. */
async function placeFitting(
  specFor: (numEnvs: number) => BatchSpec,
  numEnvs: number,
  context: PlanContext,
  onOverBudget: "throw" | "shrink",
  budget: Budget,
  make: (planned: PlannedBatch) => Promise<Batch>,
  help: PlanHelp = {},
): Promise<Batch> {
  let planned = planOf(specFor(numEnvs), context, help);

  for (;;) {
    try {
      // what the budget says is known only when it is asked: its listeners may make room
      if (planned.plan.problems.length) throw budget.refusalOf(planned.plan);
      return await make(planned);
    } catch (error) {
      if (onOverBudget === "throw") throw error;
      planned = shrunk(planned, specFor, context, error);
    }
  }
}

/** The largest batch that fits if a larger one was refused. Throws the refusal if none does. */
function shrunk(
  planned: PlannedBatch,
  specFor: (numEnvs: number) => BatchSpec,
  context: PlanContext,
  refusal: unknown,
): PlannedBatch {
  if (!(refusal instanceof BudgetExceededError || refusal instanceof LimitExceededError)) throw refusal;
  const { name, numEnvs, shrunkFrom } = planned.plan;
  const { largestNumEnvs: fits, tileWidth, problems } = refusal.plan;
  if (fits < 1 || fits >= numEnvs) throw refusal;

  const minShards = Math.min(context.minShards ?? 1, fits / tileWidth);
  const smaller = planOf(specFor(fits), { ...context, minShards }, { known: planned });
  warn(`${printable(name)}: ${numEnvs} worlds do not fit (${problems[0].text}); made ${fits}.`, "corral-shrunk");
  return { ...smaller, plan: { ...smaller.plan, shrunkFrom: shrunkFrom ?? numEnvs } };
}

/** A batch on the CPU that holds bytes of the budget; none if it cannot be made. */
function holding(make: () => Batch, hold: Hold): Batch {
  try {
    return heldBy(make(), hold);
  } catch (error) {
    hold.release();
    throw error;
  }
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
