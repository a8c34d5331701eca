// runs traced functions of numbers: on the CPU in float64 or float32, and on a device
import assert from "node:assert/strict";
import { load4, store4, world } from "../../src/trace/control.ts";
import { add, mul, type Scalar } from "../../src/trace/scalar.ts";
import { trace, type Trace, type TraceOptions } from "../../src/trace/graph.ts";
import { toJavaScript, type JsBindings, type Precision } from "../../src/trace/javascript.ts";
import { toWasm } from "../../src/trace/wasm/index.ts";
import { MOST_PAGES } from "../../src/trace/wasm/pages.ts";
import { FIXED_PARAMS, toWgsl, type WgslKernel } from "../../src/trace/wgsl.ts";
import {
  BufferUsage,
  createBindGroup,
  createBuffer,
  type GpuDevice,
  PipelineCache,
  Readback,
} from "../../src/gpu/index.ts";

type Kind = "f32" | "u32";

export interface TestProgram {
  readonly trace: Trace;
  readonly inputs: number;
  readonly outputs: number;
  readonly kind: Kind;
  readonly outputKind: Kind;
}

export interface TestProgramOptions extends TraceOptions {
  /** What the inputs are, f32 by default. */
  kind?: Kind;
  /** What the outputs are, if not the same. */
  outputKind?: Kind;
}

const fours = (n: number): number => Math.ceil(n / 4);

/** Traces `fn` of `inputs` values of a world to `outputs` values. It may also use the buffer `memory`. */
export function program(
  inputs: number,
  outputs: number,
  fn: (x: Scalar[]) => Scalar[],
  { kind = "f32", outputKind = kind, ...options }: TestProgramOptions = {},
): TestProgram {
  const made = trace(() => {
    const first = mul(world(), fours(inputs));
    const x: Scalar[] = [];
    for (let k = 0; k < fours(inputs); k++) x.push(...load4("inputs", add(first, k), kind, "read"));
    const y = fn(x.slice(0, inputs));
    const to = mul(world(), fours(outputs));
    for (let k = 0; k < fours(outputs); k++) {
      const at = (c: number) => y[4 * k + c] ?? 0;
      store4("outputs", add(to, k), [at(0), at(1), at(2), at(3)], outputKind);
    }
  }, options);
  return { trace: made, inputs, outputs, kind, outputKind };
}

export interface RunOptions {
  params?: Record<string, number>;
  /** Fours of the buffer `memory`, for each world. */
  memory?: number;
}

/** The parameter slots of a trace, filled by name. */
function slots(made: Trace, worlds: number, params: Record<string, number> = {}): number[] {
  return [worlds, 0, ...made.params.map((p) => params[p.name] ?? 0)];
}

type CpuRun = (trace: Trace, precision: Precision, bindings: JsBindings, worlds: number) => void;

const asJavaScript: CpuRun = (made, precision, bindings, worlds) => {
  const kernel = toJavaScript(made, precision, bindings);
  for (let world = 0; world < worlds; world++) kernel.run(world);
};

/** Runs one world for each row of `rows` on the CPU. */
export function runJs(
  p: TestProgram,
  precision: Precision,
  rows: ArrayLike<number>[],
  options: RunOptions = {},
  run: CpuRun = asJavaScript,
): number[][] {
  const inputs = new Float64Array(rows.length * fours(p.inputs) * 4);
  rows.forEach((row, i) => inputs.set(Array.from(row), i * fours(p.inputs) * 4));
  const outputs = new Float64Array(rows.length * fours(p.outputs) * 4).fill(Number.NaN);
  const memory = new Float64Array(rows.length * (options.memory ?? 0) * 4);
  const params = Float64Array.from(slots(p.trace, rows.length, options.params));
  run(p.trace, precision, { buffers: { inputs, outputs, memory }, params }, rows.length);
  return rows.map((_, i) => Array.from(outputs.subarray(i * fours(p.outputs) * 4).subarray(0, p.outputs)));
}

const PAGE = 65536;

/** The worlds in the order in which they ran, and the effort that each took. */
export interface Lists {
  readonly order: readonly number[];
  readonly effort: readonly number[];
}

/**
 * Runs a trace as WebAssembly over buffers of numbers: those that hold integers are named. Worlds run last first, and once
 * more if `seen` is to see in which order they run then.
 */
export const asWasm =
  (integers: readonly string[], seen?: (lists: Lists) => void): CpuRun =>
  (made, precision, { buffers, params }, worlds) => {
    assert.equal(precision, "f32");
    const kernel = toWasm(made);
    const up = (bytes: number) => Math.ceil(bytes / 16) * 16;
    let at = up(kernel.frameBytes) + up(4 * kernel.pool.length);
    const places = kernel.buffers.map((name) => {
      const place = at;
      at += up(4 * buffers[name].length);
      return place;
    });
    const [order, effort] = [at, at + up(4 * (worlds + 4))];
    at = effort + up(4 * (worlds + 4));
    const memory = new WebAssembly.Memory({ initial: Math.ceil(at / PAGE), maximum: MOST_PAGES, shared: true });
    const [words, floats] = [new Uint32Array(memory.buffer), new Float32Array(memory.buffer)];
    const view = (name: string) => (integers.includes(name) ? words : floats);
    const pool = up(kernel.frameBytes);
    words.set(kernel.pool, pool / 4);
    places.forEach((place, i) => {
      words[i] = place;
      view(kernel.buffers[i]).set(buffers[kernel.buffers[i]], place / 4);
    });
    words.set([order, effort], kernel.order / 4);
    for (let i = 0; i < worlds + 4; i++) words[order / 4 + i] = Math.max(0, worlds - 1 - i);
    made.params.forEach((p, i) => {
      (p.type === "f32" ? floats : words)[kernel.params / 4 + i] = params[FIXED_PARAMS.length + i];
    });
    const module = new WebAssembly.Module(kernel.module);
    const { run } = new WebAssembly.Instance(module, { corral: { memory } }).exports as {
      run: (...x: number[]) => void;
    };
    for (let k = seen ? 0 : 1; k < 2; k++) run(0, worlds, worlds - 1, 0, pool);
    const listed = (from: number) => Array.from(words.subarray(from / 4, from / 4 + worlds));
    seen?.({ order: listed(order), effort: listed(effort) });
    kernel.buffers.forEach((name, i) => {
      buffers[name].set(view(name).subarray(places[i] / 4, places[i] / 4 + buffers[name].length));
    });
  };

/** What a program stores in WebAssembly. */
export const runWasm = (p: TestProgram, rows: ArrayLike<number>[], options: RunOptions = {}): number[][] => {
  const integers = [...(p.kind === "u32" ? ["inputs"] : []), ...(p.outputKind === "u32" ? ["outputs"] : [])];
  return runJs(p, "f32", rows, options, asWasm(integers));
};

/** What `fn` computes from each row in float64. Throws if straight-line code and runtime loops differ. */
export function runBoth(
  outputs: number,
  fn: (x: Scalar[]) => Scalar[],
  rows: number[][],
  params: Record<string, number> = {},
): number[][] {
  const [unrolled, rolled] = [true, false].map((unroll) =>
    runJs(program(rows[0].length, outputs, fn, { unroll }), "f64", rows, { params, memory: 2 }),
  );
  assert.deepStrictEqual(rolled, unrolled);
  return unrolled;
}

export const testKernel = (p: TestProgram): WgslKernel => toWgsl(p.trace, { workgroupSize: 32, title: "test" });

/** Runs one world for each row of `rows` on a device. */
export async function runGpu(
  gpu: GpuDevice,
  p: TestProgram,
  rows: ArrayLike<number>[],
  options: RunOptions = {},
): Promise<number[][]> {
  const { device } = gpu;
  const kernel = testKernel(p);
  const inputs = new { f32: Float32Array, u32: Uint32Array }[p.kind](rows.length * fours(p.inputs) * 4);
  rows.forEach((row, i) => inputs.set(Array.from(row), i * fours(p.inputs) * 4));
  const outputs = new { f32: Float32Array, u32: Uint32Array }[p.outputKind](rows.length * fours(p.outputs) * 4);
  outputs.fill(p.outputKind === "f32" ? Number.NaN : 0xdead);

  const uniform = new DataView(new ArrayBuffer(Math.ceil(kernel.params.length / 4) * 16));
  const values = slots(p.trace, rows.length, options.params);
  kernel.params.forEach(({ type }, i) => {
    if (type === "f32") uniform.setFloat32(4 * i, values[i], true);
    else uniform.setInt32(4 * i, values[i], true);
  });

  const data: Record<string, ArrayBufferView<ArrayBuffer>> = {
    inputs,
    outputs,
    memory: new Uint32Array(Math.max(1, rows.length * (options.memory ?? 0)) * 4),
    tables_f: kernel.tables.f32 ?? new Float32Array(1),
    tables_i: kernel.tables.i32 ?? new Int32Array(1),
  };
  const made: GPUBuffer[] = [];
  const upload = async (label: string, bytes: ArrayBufferView<ArrayBuffer>, usage: number) => {
    const buffer = await createBuffer(
      gpu,
      label,
      bytes.byteLength,
      usage | BufferUsage.COPY_DST | BufferUsage.COPY_SRC,
    );
    made.push(buffer);
    device.queue.writeBuffer(buffer, 0, bytes);
    return buffer;
  };
  const params = await upload("params", new Uint8Array(uniform.buffer), BufferUsage.UNIFORM);
  const buffers = new Map<string, GPUBuffer>();
  for (const { name, access } of kernel.buffers) {
    const usage = access === "uniform" ? BufferUsage.UNIFORM : BufferUsage.STORAGE;
    buffers.set(name, await upload(name, data[name], usage));
  }

  const pipeline = await new PipelineCache(gpu).compute({ label: "test", code: kernel.code, entryPoint: "main" });
  const group = await createBindGroup(gpu, {
    label: "test",
    layout: pipeline.getBindGroupLayout(0),
    entries: [params, ...buffers.values()].map((buffer, binding) => ({ binding, resource: { buffer } })),
  });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(Math.ceil(rows.length / 32));
  pass.end();
  device.queue.submit([encoder.finish()]);

  const target = buffers.get("outputs")!;
  const readback = await Readback.create(gpu, { slots: 1, slotBytes: outputs.byteLength });
  await readback.read(target, 0, outputs.byteLength, outputs);
  readback.close();
  for (const buffer of made) buffer.destroy();
  return rows.map((_, i) => Array.from(outputs.subarray(i * fours(p.outputs) * 4).subarray(0, p.outputs)));
}

/** What a kernel of one scalar computes from each of `xs`. */
export const column = (rows: number[][], k = 0): number[] => rows.map((row) => row[k]);
