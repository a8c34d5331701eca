// makes environments from their names
import { badOption } from "../core/options.ts";
import { seedKey } from "../core/rng.ts";
import { timed } from "../core/spans.ts";
import { shareDevice } from "../gpu/shared-device.ts";
import type { Plan } from "../memory/plan.ts";
import { oracleBytes } from "../model/oracle.ts";
import type { DriftMonitor } from "../monitor/drift.ts";
import { writeWatched } from "../monitor/kernels.ts";
import { monitorSettings } from "../monitor/options.ts";
import { planOf, type Batch, type PlanContext, type PlannedBatch } from "../batch/batch.ts";
import { writePlaces } from "../record/recorder.ts";
import { readTuning } from "../batch/kernel/tuning.ts";
import { emitterReady } from "../batch/wasm/kernel-cache.ts";
import { placeBatch, planContext, planFor } from "../batch/device.ts";
import { chooseDevice, isHostDevice, namedDevice, type DeviceChoice } from "../batch/devices.ts";
import { defineEnv } from "./host/batch-spec.ts";
import { checkTask } from "./task/check-task.ts";
import { settingsOf, worldIdsOf, type Settings, type VecOptions } from "./host/options.ts";
import { writeFirstStates } from "./host/first-states.ts";
import { taskOf } from "./registry.ts";
import { loadTaskModel } from "./task/load.ts";
import type { Task } from "./task/task.ts";
import type { EnvSpec } from "./kernel/env-kernel.ts";
import { monitoredOf, PER_WORLD } from "./kernel/layout.ts";
import { ownNumbers } from "./task/shape.ts";
import { TaskParams } from "./host/task-params.ts";
import { VectorEnv } from "./host/vector-env.ts";

/** Options of an environment that is named: those of every environment, and those of its task. */
export type NamedOptions = VecOptions & { readonly [option: string]: unknown };

/** An environment before any device: its options, and its batch for any count of worlds. Throws what makeVec throws for its arguments. */
export async function defineVec<O extends object>(env: string | Task<O>, given: object = {}) {
  const isTask = typeof env === "object" && env !== null;
  const task = isTask ? env : (taskOf(env) as unknown as Task<O>);
  checkTask(task as unknown as Task<never>);
  const settings = settingsOf(task, await timed("load", () => loadTaskModel(task)), given);
  if (settings.vec.seed !== undefined) seedKey(settings.vec.seed);
  const monitorBytes = settings.vec.monitor ? await oracleBytes(settings.model) : 0;
  return { settings, definition: defineEnv(task, settings, monitorBytes) };
}

/** Options with `tuned` turned into what was measured for the model's kernels on the adapter, if anything was. */
async function withTuning(env: string | Task, options: NamedOptions): Promise<NamedOptions> {
  if (options?.tuned !== true) return options;
  const { tuned: _, ...others } = options;
  const device = await chooseDevice(others);
  if (others.unroll !== undefined || isHostDevice(device)) return others;
  const { settings } = await defineVec(env, others);
  const lease = device === "gpu" ? await shareDevice(others.adapter) : undefined;
  try {
    const found = readTuning(settings.model, (device === "gpu" ? lease!.gpu : device).info.driver);
    return { ...found, ...others };
  } finally {
    lease?.release();
  }
}

/**
 * Many worlds of an environment, stepped together: the name of a registered one, or a task. All memory is reserved and
 * all kernels are compiled when it resolves.
 * @throws CorralError unknown-env and unknown-option with the nearest names, bad-option, bad-num-envs, bad-seed,
 *   bad-world-ids, unsupported-feature; BudgetExceededError before anything is allocated; errors of the device
 */
export function makeVec(id: string, options: NamedOptions): Promise<VectorEnv>;
export function makeVec<O extends object>(task: Task<O>, options: VecOptions & Partial<O>): Promise<VectorEnv>;
export async function makeVec(env: string | Task, given: object): Promise<VectorEnv> {
  const options = (given ?? {}) as NamedOptions;
  if (typeof options !== "object" || Array.isArray(options))
    throw badOption("options", options, "pass an object, such as { numEnvs: 64 }");
  // the device opens while MuJoCo loads; its error is thrown where the device is used
  const early = chooseDevice(options).then(
    (device) => (device === "gpu" ? shareDevice(options.adapter).catch(() => undefined) : undefined),
    () => undefined,
  );
  try {
    return await make(env, await withTuning(env, options));
  } finally {
    (await early)?.release();
  }
}

async function make(env: string | Task, options: NamedOptions): Promise<VectorEnv> {
  const { settings, definition } = await defineVec(env, options);
  const { vec } = settings;
  const batch = await placeBatch(definition.batch, vec.numEnvs, vec);
  try {
    await writeFirstStates(batch, vec.seed ?? 0, worldIdsOf(vec, batch.planned.plan.numEnvs));
    if (vec.recorder) await writePlaces(batch, vec.recorder);
    // errors of the first writes are thrown here
    await batch.sync();
    const again = (changes: object) => {
      // an open device that was lost is not asked for again
      const { device = namedDevice(options.device), ...others } = changes as { device?: DeviceChoice };
      const { adapter, ...elsewhere } = options;
      const where = "device" in changes ? device : options.device;
      // an adapter goes with what has none of its own
      const isNamed = where === undefined || where === "auto" || where === "gpu";
      return makeVec(
        env as Task,
        { ...elsewhere, ...(isNamed && { adapter }), ...others, device: where } as VecOptions,
      );
    };
    const params = new TaskParams(batch, definition.spec.shape);
    const initial = Object.fromEntries(definition.spec.shape.params.map((p) => [p.name, p.initial]));
    params.check(vec.params ?? {});
    await params.set({ ...initial, ...vec.params });
    return new VectorEnv(definition.spec, batch, settings, params, await monitorOf(definition.spec, batch, vec), again);
  } catch (error) {
    await batch.close();
    throw error;
  }
}

async function monitorOf(spec: EnvSpec, batch: Batch, vec: Settings<object>["vec"]): Promise<DriftMonitor | undefined> {
  const { monitor, frameSkip, device } = vec;
  if (!monitor) return undefined;
  const { model, shape } = spec;
  const arenas = monitoredOf(batch.planned.plan.arenas).map(({ name }) => name);
  const precision = device === "cpu-f64" ? "f64" : "f32";
  const of = { batch, model, frameSkip, arenas, own: ownNumbers(shape), ownField: PER_WORLD, precision } as const;
  // a batch that was shrunk has fewer worlds than were asked for
  const watched = monitorSettings(monitor, batch.planned.plan.numEnvs)!;
  await writeWatched(batch, watched);
  // with the interpreter, which a page that monitors nothing does not load
  const drift = await import("../monitor/drift.ts");
  return drift.DriftMonitor.create(of, watched);
}

/**
 * The bytes of an environment, field by field, without a device; `device: "wasm"` plans for one without an adapter.
 * @throws what makeVec throws for its arguments
 */
export function planVec(id: string, options: NamedOptions, context?: PlanContext): Promise<Plan>;
export function planVec<O extends object>(
  task: Task<O>,
  options: VecOptions & Partial<O>,
  context?: PlanContext,
): Promise<Plan>;
export async function planVec(env: string | Task, options: object, context: PlanContext = {}): Promise<Plan> {
  await emitterReady();
  const { settings, definition } = await defineVec(env, options);
  const { vec } = settings;
  return planFor(definition.batch(vec.numEnvs), vec, context).plan;
}

/** The traced kernels and the plan of an environment, without a device. */
export async function planVecKernels<O extends object>(
  env: string | Task<O>,
  options: VecOptions & object,
  context: PlanContext = {},
): Promise<PlannedBatch> {
  const { settings, definition } = await defineVec(env, options);
  const { vec } = settings;
  return planOf(definition.batch(vec.numEnvs), planContext(vec, vec.numEnvs, context));
}
