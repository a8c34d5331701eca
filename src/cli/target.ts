// what a command works on: the path of an MJCF file, or the id of an environment
import { basename } from "node:path";
import "../../envs/index.ts";
import { PLACEMENT_OPTIONS, type PlacementOptions } from "../batch/options.ts";
import { kindOf } from "../core/options.ts";
import { DEVICES, type DeviceName } from "../batch/devices.ts";
import { taskOf } from "../env/registry.ts";
import type { Task } from "../env/task/task.ts";
import { isModelPath } from "../sizing/plan.ts";
import { plainTask } from "../env/plain-task.ts";
import { loadTaskModel } from "../env/task/load.ts";
import { loadModel, withOptions, type Model, type OptionOverrides } from "../model/model.ts";
import { timed } from "../core/spans.ts";
import { numberOption, UsageError } from "./io.ts";

/** Options of the commands that load a model. */
export const MODEL_OPTIONS = {
  adapter: { type: "string" },
  device: { type: "string" },
  threads: { type: "string" },
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
  return withOptions(
    await (isModelPath(target) ? loaded(target) : loadTaskModel(taskOf(target))),
    overridesOf(settings),
  );
}

/** Geoms beyond which a line of progress is printed: MuJoCo and the tracer take seconds. */
const MANY_GEOMS = 500;

async function loaded(path: string | URL): Promise<Model> {
  const model = await timed("load", () => loadModel(path));
  if (model.ngeom > MANY_GEOMS) {
    const [bodies, geoms] = [model.nbody - 1, model.ngeom].map((n) => n.toLocaleString("en"));
    process.stderr.write(
      `${basename(String(path))}: ${bodies} bodies, ${geoms} geoms; tracing its kernels takes seconds\n`,
    );
  }
  return model;
}

/** The options of a batch that `--set` and `--rolled` say; without `--rolled` the size of the model decides. */
export function batchOptionsOf(values: { readonly set?: string[]; readonly rolled?: boolean }) {
  return { ...overridesOf(values.set), ...(values.rolled ? { unroll: false } : {}) };
}

/** Lines of `--help` on `--device` and `--adapter`. */
export const DEVICE_HELP = `  --device NAME     auto (default): a GPU or the system's fast software driver, else wasm;
                    gpu: an adapter, software ones too; wasm (WebAssembly), cpu (JavaScript, the
                    same bits), cpu-f64 (JavaScript, float64)
  --threads N       threads of wasm (as many as cores); 1 steps in the calling thread
  --adapter NAME    of a GPU: auto, gpu, system, embedded, or an index or name of corral doctor`;

/** Values of the options that say where to run. */
interface Where {
  readonly device?: string;
  readonly adapter?: string;
  readonly threads?: string;
}

/** Where `--device`, `--threads` and `--adapter` say to run. Throws `UsageError`. */
export function deviceOf({ device, adapter, threads }: Where): Pick<PlacementOptions, "adapter" | "threads"> & {
  device?: DeviceName;
} {
  const names = Object.keys(DEVICES) as DeviceName[];
  const known = names.find((name) => name === device);
  if (device !== undefined && known === undefined)
    throw new UsageError(`--device is '${device}': pass ${names.join(", ")}.`);
  return {
    ...(known === undefined ? {} : { device: known }),
    ...(adapter === undefined ? {} : { adapter }),
    ...(threads === undefined
      ? {}
      : { threads: numberOption("threads", threads, kindOf(PLACEMENT_OPTIONS.threads), 1) }),
  };
}

/** Where a command steps that has a default of its own: `--device` before `CORRAL_DEVICE` before that. Throws `UsageError`. */
export function deviceOr(own: DeviceName, named: DeviceName | undefined): DeviceName {
  const { CORRAL_DEVICE } = process.env;
  if (named !== undefined || !CORRAL_DEVICE) return named ?? own;
  const known = (Object.keys(DEVICES) as DeviceName[]).find((name) => name === CORRAL_DEVICE);
  if (known === undefined)
    throw new UsageError(`CORRAL_DEVICE is '${CORRAL_DEVICE}': pass ${Object.keys(DEVICES).join(", ")}.`);
  return known;
}

/** The task of an environment, or the plain task of a model. */
export async function taskOfTarget(target: string): Promise<Task<object>> {
  return isModelPath(target) ? plainTask(await loaded(target), target) : taskOf(target);
}
