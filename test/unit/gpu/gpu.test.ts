import { describe, expect, test } from "vitest";
import {
  BufferUsage,
  createBindGroup,
  createBuffer,
  openDevice,
  PipelineCache,
  Readback,
  waitFor,
} from "../../../src/gpu/index.ts";

const DOUBLE = `
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u) {
  data[id.x] = 2.0 * data[id.x];
}`;

describe.each(["auto", "embedded"])("device on '%s'", (adapter) => {
  test("runs a kernel and reads its buffer back", async () => {
    using gpu = await openDevice({ adapter });
    const { device } = gpu;
    const count = 1024;
    const data = await createBuffer(
      gpu,
      "data",
      4 * count,
      BufferUsage.STORAGE | BufferUsage.COPY_SRC | BufferUsage.COPY_DST,
    );
    device.queue.writeBuffer(
      data,
      0,
      Float32Array.from({ length: count }, (_, i) => i),
    );

    const pipeline = await new PipelineCache(gpu).compute({ label: "double", code: DOUBLE, entryPoint: "main" });
    const group = await createBindGroup(gpu, {
      label: "data",
      layout: pipeline.getBindGroupLayout(0),
      entries: [{ binding: 0, resource: { buffer: data } }],
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(count / 32);
    pass.end();
    device.queue.submit([encoder.finish()]);
    await waitFor(device.queue.onSubmittedWorkDone());

    const readback = await Readback.create(gpu, { slotBytes: 1000 });
    const out = new Float32Array(count);
    await readback.read(data, 0, 4 * count, out);
    expect(out).toEqual(Float32Array.from({ length: count }, (_, i) => 2 * i));
    expect(gpu.uncaptured).toEqual([]);
  });
});
