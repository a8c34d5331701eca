/** What a command works on: the path of an MJCF file, or the id of an environment. */

import "../../envs/index.ts";
import { existsSync } from "node:fs";
import { taskOf } from "../env/registry.ts";
import type { Task } from "../env/task.ts";
import { planEnv } from "../forensics/describe.ts";
import { plainTask } from "../forensics/plain_task.ts";
import { loadModel, withOptions, type Model, type OptionOverrides } from "../model/model.ts";
import type { PlanContext, PlannedBatch } from "../sim/batch.ts";
import { planKernels } from "../sim/simulation.ts";
import { UsageError } from "./io.ts";

/** Options of the commands that load a model. */
export const MODEL_OPTIONS = {
  adapter: { type: "string" },
  device: { type: "string" },
  rolled: { type: "boolean" },
  set: { type: "string", multiple: true },
} as const;

/** The one argument of a command. Throws `UsageError`. */
export function onlyArgument(positionals: readonly string[], what: string): string {
  if (positionals.length === 0) throw new UsageError(`${what} is missing. See --help.`);
  return positionals[0];
}

/** Values of `--set NAME=VALUE`: numbers, comma-separated numbers, true, false, or words of MJCF. Throws `UsageError`. */
export function overridesOf(settings: readonly string[] = []): OptionOverrides {
  const overrides: Record<string, number | number[] | string | boolean> = {};
  for (const setting of settings) {
    const [, name, text] = /^([A-Za-z_]+)=(.+)$/.exec(setting) ?? [];
    if (name === undefined) throw new UsageError(`--set is '${setting}': pass NAME=VALUE, as in timestep=0.001.`);
    const numbers = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
    if (text === "true" || text === "false") overrides[name] = text === "true";
    else if (numbers.some(Number.isNaN)) overrides[name] = text;
    else overrides[name] = numbers.length === 1 ? numbers[0] : numbers;
  }
  return overrides;
}

/** The model of a file or of an environment, with `--set` applied. Throws what `loadModel` and `withOptions` throw. */
export async function modelOf(target: string, settings?: readonly string[]): Promise<Model> {
  const model = await loadModel(isModelPath(target) ? target : taskOf(target).model);
  return withOptions(model, overridesOf(settings));
}

/** A time from an option's text. Throws `UsageError`. */
export function secondsOption(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const seconds = Number(text);
  if (text.trim() !== "" && seconds > 0 && seconds <= 3600) return seconds;
  throw new UsageError(`--${name} is '${text}': pass seconds, more than 0 and at most 3600.`);
}

/** Where `--device` says to run; undefined: on an adapter. Throws `UsageError`. */
export function deviceOf(text: string | undefined): { device: "cpu" | "cpu-f64" } | undefined {
  if (text === undefined) return undefined;
  if (text === "cpu" || text === "cpu-f64") return { device: text };
  throw new UsageError(`--device is '${text}': pass cpu or cpu-f64, or leave it out to run on an adapter.`);
}

/** Is the argument the path of a model rather than the id of an environment? */
export function isModelPath(target: string): boolean {
  return /\.(xml|mjcf|urdf)$/i.test(target) || /[/\\]/.test(target) || existsSync(target);
}

export interface PlannedOptions {
  readonly numEnvs: number;
  readonly unroll: boolean;
  /** Values of `--set`. */
  readonly settings?: readonly string[] | undefined;
  /** Options of the batch beside those of `--set`, and stronger. */
  readonly changes?: Readonly<Record<string, unknown>>;
}

/**
 * Kernels and plan of a model or an environment, without a device.
 * @throws what loadModel, createSimulation and makeVec throw for their arguments
 */
export async function plannedOf(
  target: string,
  options: PlannedOptions,
  context: PlanContext = {},
): Promise<PlannedBatch> {
  const all = {
    ...overridesOf(options.settings),
    ...options.changes,
    numEnvs: options.numEnvs,
    unroll: options.unroll,
  };
  if (isModelPath(target)) return planKernels(await loadModel(target), all, context);
  return planEnv(target, all, context);
}

/** The task of an environment, or the plain task of a model. */
export async function taskOfTarget(target: string): Promise<Task<object>> {
  return isModelPath(target) ? plainTask(await loadModel(target), target) : taskOf(target);
}
