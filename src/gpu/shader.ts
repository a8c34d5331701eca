// WGSL to modules and pipelines: compiler messages with their source lines, and a cache by content
import { ShaderError } from "../core/errors.ts";
import type { GpuDevice } from "./device.ts";
import { inScopes } from "./scopes.ts";
import { waitFor } from "./waiter.ts";

/** Lines shown before and after the line of a message. */
const CONTEXT = 2;

/** Messages shown in an error's text; all are in its details. */
const SHOWN = 5;

/** One compiler message; `line` and `column` count from 1, 0 when the compiler names no place. */
export interface ShaderMessage {
  readonly type: GPUCompilationMessageType;
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** A module at once, and the compiler's judgement of it later. */
interface Compiled {
  readonly module: GPUShaderModule;
  /** Rejects with `ShaderError` (`shader-compile`), or if the device is gone. */
  readonly checked: Promise<void>;
}

function startModule(gpu: GpuDevice, label: string, code: string): Compiled {
  const { device } = gpu;
  gpu.assertUsable(`compile shader '${label}'`);

  // the compilation info says what the scope would, with places
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ label, code });
  const scope = device.popErrorScope();
  const check = async () => {
    const [info, error] = await waitFor(Promise.all([module.getCompilationInfo(), scope]));
    gpu.assertUsable(`compile shader '${label}'`);
    const messages = info.messages.map(({ type, message, lineNum, linePos }) => ({
      type,
      message,
      line: lineNum,
      column: linePos,
    }));
    if (error || messages.some(({ type }) => type === "error"))
      throw shaderError(label, code, messages, error?.message);
  };
  return { module, checked: check() };
}

/** Compiles WGSL. Throws `ShaderError` (`shader-compile`) with the compiler's messages and the lines around them. */
export async function compileShader(gpu: GpuDevice, label: string, code: string): Promise<GPUShaderModule> {
  const { module, checked } = startModule(gpu, label, code);
  await checked;
  return module;
}

function shaderError(label: string, code: string, messages: readonly ShaderMessage[], other?: string): ShaderError {
  const errors = messages.filter(({ type }) => type === "error");
  const lines = code.split("\n");
  const parts = errors.slice(0, SHOWN).map((message) => `${message.message}\n${excerpt(lines, message)}`);
  if (errors.length > SHOWN) parts.push(`and ${errors.length - SHOWN} more`);
  if (errors.length === 0) parts.push(other ?? "no message");
  return new ShaderError("shader-compile", `shader '${label}' does not compile: ${parts.join("\n")}`, {
    label,
    messages,
    code,
  });
}

/** The lines around a message, numbered, with a caret below its column. */
export function excerpt(lines: readonly string[], { line, column }: Pick<ShaderMessage, "line" | "column">): string {
  if (line < 1 || line > lines.length) return "";
  const first = Math.max(1, line - CONTEXT);
  const last = Math.min(lines.length, line + CONTEXT);
  const width = String(last).length;
  const shown: string[] = [];
  for (let at = first; at <= last; at++) {
    shown.push(`${String(at).padStart(width)} | ${lines[at - 1]}`);
    if (at === line) shown.push(`${" ".repeat(width)} | ${" ".repeat(Math.max(0, column - 1))}^`);
  }
  return shown.join("\n");
}

/** A compute pipeline to make. `constants` are WGSL overrides. */
export interface PipelineRequest {
  readonly label: string;
  readonly code: string;
  readonly entryPoint: string;
  readonly layout?: GPUPipelineLayout | GPUAutoLayoutMode;
  readonly constants?: Readonly<Record<string, number>>;
}

/** Compute pipelines of one device, each made once: equal code, entry point, constants and layout share one. */
export class PipelineCache {
  readonly #gpu: GpuDevice;
  readonly #modules = new Map<string, Compiled>();
  readonly #ids = new Map<string, number>();
  readonly #pipelines = new Map<string, Promise<GPUComputePipeline>>();
  readonly #layouts = new WeakMap<GPUPipelineLayout, number>();
  #layoutCount = 0;

  constructor(gpu: GpuDevice) {
    this.#gpu = gpu;
  }

  /** Pipelines made so far. */
  get size(): number {
    return this.#pipelines.size;
  }

  /** The pipeline, compiled at the first request. Throws `ShaderError` (`shader-compile`, `pipeline`) or `DeviceLostError`. */
  compute(request: PipelineRequest): Promise<GPUComputePipeline> {
    const id = this.#idOf(request.code);
    const constants = Object.entries(request.constants ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify([id, request.entryPoint, constants, this.#layoutKey(request.layout)]);
    return remember(this.#pipelines, key, () => this.#make(request));
  }

  /** The driver's work starts before this returns: the caller may keep the thread busy with the next kernel. */
  async #make(request: PipelineRequest): Promise<GPUComputePipeline> {
    const gpu = this.#gpu;
    const { label, code, entryPoint } = request;
    const { module, checked } = this.#module(request);
    const made = gpu.device.createComputePipelineAsync({
      label,
      layout: request.layout ?? "auto",
      compute: { module, entryPoint, constants: { ...request.constants } },
    });
    const [check, pipeline] = await waitFor(Promise.allSettled([checked, made]));
    if (check.status === "rejected") throw check.reason;
    gpu.assertUsable(`compile pipeline '${label}'`);
    if (pipeline.status === "fulfilled") return pipeline.value;
    const cause = pipeline.reason as Error;
    const why = cause.message.trim();
    throw new ShaderError(
      "pipeline",
      `pipeline '${label}' (${entryPoint}) was refused: ${why}`,
      { label, code },
      { cause },
    );
  }

  #module({ label, code }: PipelineRequest): Compiled {
    const known = this.#modules.get(code);
    if (known) return known;
    const made = startModule(this.#gpu, label, code);
    this.#modules.set(code, made);
    made.checked.catch(() => this.#modules.delete(code));
    return made;
  }

  /** A short name of a text for keys. */
  #idOf(code: string): number {
    const id = this.#ids.get(code) ?? this.#ids.size;
    this.#ids.set(code, id);
    return id;
  }

  #layoutKey(layout: PipelineRequest["layout"]): number {
    if (layout === undefined || layout === "auto") return 0;
    let id = this.#layouts.get(layout);
    if (id === undefined) this.#layouts.set(layout, (id = ++this.#layoutCount));
    return id;
  }
}

const caches = new WeakMap<GpuDevice, PipelineCache>();

/** The pipelines of a device, shared by all who make some on it. */
export function pipelinesOf(gpu: GpuDevice): PipelineCache {
  let cache = caches.get(gpu);
  if (!cache) caches.set(gpu, (cache = new PipelineCache(gpu)));
  return cache;
}

// a failure is not remembered, so that a later call may try again
function remember<T>(map: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const known = map.get(key);
  if (known) return known;
  const made = make();
  map.set(key, made);
  made.catch(() => map.delete(key));
  return made;
}

/** A bind group made inside error scopes. Throws `GpuCreationError` when a binding does not fit the layout or the limits. */
export function createBindGroup(gpu: GpuDevice, descriptor: GPUBindGroupDescriptor): Promise<GPUBindGroup> {
  return inScopes(gpu, { what: `bind group '${descriptor.label ?? ""}'` }, () =>
    gpu.device.createBindGroup(descriptor),
  );
}
