// every byte of a batch before anything is allocated, and what other options would save
import { emitterReady } from "../batch/wasm/kernel-cache.ts";
import { isThere } from "../core/host.ts";
import { defineEnv } from "../env/host/batch-spec.ts";
import { checkTask } from "../env/task/check-task.ts";
import { settingsOf, type VecOptions } from "../env/host/options.ts";
import { isRegistered, taskOf } from "../env/registry.ts";
import type { Task } from "../env/task/task.ts";
import type { Plan, PlanLimits } from "../memory/index.ts";
import { printable } from "../memory/table.ts";
import { loadTaskModel } from "../env/task/load.ts";
import { loadModel, type Model } from "../model/model.ts";
import { oracleBytes } from "../model/oracle.ts";
import { planArenas, type PlanHelp, type BatchSpec, type PlanContext, type PlannedBatch } from "../batch/batch.ts";
import { planContext, planFor } from "../batch/device.ts";
import type { Arithmetic } from "../batch/kernel/arithmetic.ts";
import type { PlacementOptions } from "../batch/options.ts";
import { prepare, type SimulationOptions } from "../batch/simulation-spec.ts";
import { candidatesOf, savingsOf, type Saving } from "./savings.ts";

/** An environment by its id, a task, a model, or the path of one. */
export type PlanTarget = string | Task | Model;

/** Options of `makeVec` or `createSimulation`, and the limits to plan with. */
export type PlanOptions = (VecOptions | SimulationOptions) & {
  /** Limits of the device to plan for, such as `gpu.limits`. Default: those that every WebGPU device has. */
  readonly limits?: PlanLimits;
  readonly [option: string]: unknown;
};

/** A plan, and what changes of single options would take off it, most first. */
export interface PlanWithSavings extends Plan {
  readonly savings: readonly Saving[];
}

type BatchOptions = PlacementOptions & {
  readonly numEnvs: number;
  readonly arithmetic?: Arithmetic;
  readonly [option: string]: unknown;
};

/** What can be planned again and again with other options: its model is loaded once. */
export interface Planner {
  /** Defaults of the task's own options; undefined for a model. */
  readonly defaults: object | undefined;
  readonly specOf: (options: BatchOptions) => BatchSpec;
}

/** Is the text the path of a model rather than the id of an environment? */
export function isModelPath(target: string): boolean {
  if (isRegistered(target)) return false;
  return /\.(xml|mjcf|urdf|zip)$/i.test(target) || /[/\\]/.test(target) || isThere(target);
}

const isModel = (target: PlanTarget | null): target is Model =>
  typeof target === "object" && target !== null && "qpos0" in target;

/** @throws CorralError unknown-env, bad-task; what loadModel throws */
export async function plannerOf(target: PlanTarget, { monitor }: BatchOptions): Promise<Planner> {
  await emitterReady();
  if (typeof target === "string" && isModelPath(target)) return ofModel(await loadModel(target));
  if (isModel(target)) return ofModel(target);

  const task: Task = typeof target === "string" ? taskOf(target) : target;
  checkTask(task as unknown as Task<never>);
  const model = await loadTaskModel(task);
  const monitorBytes = monitor ? await oracleBytes(model) : 0;
  const specOf = (options: BatchOptions) =>
    defineEnv(task, settingsOf(task, model, options), monitorBytes).batch(options.numEnvs);
  return { defaults: task.defaults ?? {}, specOf };
}

function ofModel(model: Model): Planner {
  return { defaults: undefined, specOf: (options) => prepare(model, options).specFor(options.numEnvs) };
}

/** Kernels and plan of a batch, without a device: of one without an adapter if the options name it. */
export function planKernelsOf(
  planner: Planner,
  options: BatchOptions,
  context: PlanContext = {},
  help: PlanHelp = {},
): PlannedBatch {
  return planFor(planner.specOf(options), options, context, help);
}

/**
 * The bytes of an environment or a simulation by field, world and shard, what limits it, the most worlds that fit, and
 * what other options would save. Needs no device; `device: "wasm"` plans for one without an adapter, with its threads. It answers for more than fits too: `problems` says why not.
 * @throws what makeVec or createSimulation throw for their arguments; bad-bytes for a budget that is none
 */
export function plan(target: string | Model, options: PlanOptions): Promise<PlanWithSavings>;
export function plan<O extends object>(task: Task<O>, options: PlanOptions & Partial<O>): Promise<PlanWithSavings>;
export async function plan(target: unknown, given: PlanOptions): Promise<PlanWithSavings> {
  const { limits, ...options } = given ?? {};
  return planWithSavings(await plannerOf(target as PlanTarget, options), options, limits && { limits });
}

/** Constants of kernels beyond which tracing them takes seconds; they hardly differ between options. */
const MANY_CONSTANTS = 1 << 20;

/** A plan with its savings. */
export async function planWithSavings(
  planner: Planner,
  options: BatchOptions,
  context: PlanContext = {},
): Promise<PlanWithSavings> {
  const contextOf = (of: BatchOptions) => planContext(of, of.numEnvs, context);
  const planned = planKernelsOf(planner, options, context);
  const { plan: whole } = planned;
  const { bytesPerWorld } = whole;

  // kernels are traced only for what takes bytes off a world, those of a simulation with many constants once
  const isLarge = [...planned.traces.values()].some(
    ({ tables }) => tables.reduce((n, { values }) => n + values.length, 0) > MANY_CONSTANTS,
  );
  const help = isLarge && planner.defaults === undefined ? { like: planned } : {};
  const candidates = candidatesOf(options, planner.defaults).filter((candidate) => {
    const changed = { ...options, ...candidate.options };
    return planArenas(planner.specOf(changed), contextOf(changed)).bytesPerWorld < bytesPerWorld;
  });
  const savings = savingsOf(whole, candidates, (changes) => {
    return planKernelsOf(planner, { ...options, ...changes }, context, help).plan;
  });
  return printable({ ...whole, savings });
}
