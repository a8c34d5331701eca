// the functions that hand-written kernels take in mean what the traced ones do: the same bounds over the whole range
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  BufferUsage,
  createBindGroup,
  createBuffer,
  type GpuDevice,
  openDevice,
  PipelineCache,
  Readback,
} from "../../src/gpu/index.ts";
import { mathCases, tooFarOff, type MathCase } from "../support/math-cases.ts";
import { softwareAdapters } from "../support/software-adapters.ts";

const FUNCTIONS = {
  exp: "vec2<f32>(poly_exp(x), poly_exp4(vec4<f32>(x)).w)",
  log: "vec2<f32>(poly_log(x))",
  sin: "vec2<f32>(poly_sincos(x).x)",
  cos: "vec2<f32>(poly_sincos(x).y)",
  tanh: "vec2<f32>(poly_tanh4(vec4<f32>(x)).z)",
} as const;

async function run(gpu: GpuDevice, expression: string, points: Float32Array<ArrayBuffer>): Promise<Float32Array> {
  const code = `${readFileSync(new URL("../../shaders/lib/math.wgsl", import.meta.url), "utf8")}
@group(0) @binding(0) var<storage, read> points: array<f32>;
@group(0) @binding(1) var<storage, read_write> values: array<vec2<f32>>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= arrayLength(&points)) { return; }
  let x = points[id.x];
  values[id.x] = ${expression};
}`;
  const { device } = gpu;
  const out = new Float32Array(2 * points.length);
  const usage = BufferUsage.STORAGE | BufferUsage.COPY_DST | BufferUsage.COPY_SRC;
  const from = await createBuffer(gpu, "points", points.byteLength, usage);
  const into = await createBuffer(gpu, "values", out.byteLength, usage);
  device.queue.writeBuffer(from, 0, points);
  const pipeline = await new PipelineCache(gpu).compute({ label: "library", code, entryPoint: "main" });
  const layout = pipeline.getBindGroupLayout(0);
  const entries = [from, into].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = await createBindGroup(gpu, { label: "library", layout, entries });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(Math.ceil(points.length / 32));
  pass.end();
  device.queue.submit([encoder.finish()]);
  const readback = await Readback.create(gpu, { slotBytes: out.byteLength });
  await readback.read(into, 0, out.byteLength, out);
  return out;
}

describe.each(await softwareAdapters())("on the %s adapter", (adapter) => {
  test.each(Object.entries(FUNCTIONS))("%s stays within the bound of the traced one", async (name, expression) => {
    using gpu = await openDevice({ adapter });
    const whole = mathCases.find((c) => c.name === name)!;
    // the logarithm of the library is that of finite numbers
    const c: MathCase = { ...whole, points: whole.points.filter(([x]) => Number.isFinite(x)) };
    const values = await run(
      gpu,
      expression,
      Float32Array.from(c.points, ([x]) => x),
    );
    for (const half of [0, 1])
      expect(
        tooFarOff(
          c,
          [...values].filter((_, i) => i % 2 === half),
        ),
      ).toEqual([]);
  });
});
