// structs that host and device share: what the host writes by name is what a kernel reads by name
import { expect, test } from "vitest";
import { BufferUsage } from "../../../src/gpu/constants.ts";
import { openDevice } from "../../../src/gpu/index.ts";
import { Readback } from "../../../src/gpu/readback.ts";
import { constants, struct, type DeviceStruct } from "../../../src/rl/tables/device-struct.ts";
import { HALTED, UNIFORMS } from "../../../src/rl/tables/device-tables.ts";
import { JOBS } from "../../../src/rl/tables/job-tables.ts";
import { REASONS } from "../../../src/rl/device/metrics.ts";

const MIXED = struct("Mixed", {
  a: ["u32", "A word."],
  pair: "vec2<u32>",
  b: "f32",
  four: "vec4<f32>",
  last: "f32",
});

/** Copies every number of a struct, by name, into its words. */
async function readByName(table: DeviceStruct, words: Uint32Array<ArrayBuffer>): Promise<Uint32Array> {
  const gpu = await openDevice();
  const { device } = gpu;
  const copies = table.members.map((member) => {
    const size = { a: 1, pair: 2, b: 1, four: 4, last: 1 }[member]!;
    const at = table.at(member);
    const isFloat = member === "b" || member === "last" || member === "four";
    const value = (of: string) => (isFloat ? `bitcast<u32>(${of})` : of);
    const parts = size === 1 ? [`U.${member}`] : Array.from({ length: size }, (_, i) => `U.${member}[${i}]`);
    return parts.map((part, i) => `out[${at + i}] = ${value(part)};`).join(" ");
  });
  const code = `${table.wgsl}
@group(0) @binding(0) var<uniform> U: ${table.name};
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() { ${copies.join(" ")} }`;
  const size = 4 * table.size;
  const uniform = device.createBuffer({ size, usage: BufferUsage.UNIFORM | BufferUsage.COPY_DST });
  const out = device.createBuffer({ size, usage: BufferUsage.STORAGE | BufferUsage.COPY_SRC });
  const staging = [device.createBuffer({ size, usage: BufferUsage.MAP_READ | BufferUsage.COPY_DST })];
  device.queue.writeBuffer(uniform, 0, words);
  const module = device.createShaderModule({ code });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
  const entries = [uniform, out].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(1);
  pass.end();
  device.queue.submit([encoder.finish()]);
  const into = new Uint32Array(table.size);
  await new Readback(gpu, staging).read(out, 0, size, into);
  return into;
}

test("a kernel reads by name what the host wrote by name, whatever the alignment of members", async () => {
  const words = MIXED.words({ a: 7, pair: [1, 2 ** 32 - 1], b: 1.5, four: [1, 2, 3, 4], last: -Infinity });
  expect([MIXED.at("pair"), MIXED.at("four"), MIXED.size]).toEqual([2, 8, 16]);
  expect(await readByName(MIXED as DeviceStruct, words)).toEqual(words);
  // what is unlimited is a number on the device
  expect(new Float32Array(words.buffer)[MIXED.at("last")]).toBeCloseTo(-3e38, -33);
});

test("records lie one behind the other, and what is not given stays", () => {
  const table = struct("Two", { x: "u32", y: "f32" });
  const words = table.words({ x: 1, y: 2 }, { x: 3, y: 4 });
  table.write({ x: 9 }, words, table.size);
  expect([words[0], words[2], new Float32Array(words.buffer)[3]]).toEqual([1, 9, 4]);
});

test("constants are named as WGSL names them", () => {
  expect(constants("S_", { rewardMean: 3, adv_scale: 4 })).toBe("const S_REWARD_MEAN = 3u;\nconst S_ADV_SCALE = 4u;\n");
});

test("jobs fit their slots, and records of several parts fit the stride of an array in a uniform", () => {
  for (const { table, most } of Object.values(JOBS)) {
    expect(4 * table.size * most, table.name).toBeLessThanOrEqual(256);
    if (most > 1) expect(table.size % 4, table.name).toBe(0);
  }
  expect(4 * UNIFORMS.size).toBeLessThanOrEqual(256);
});

test("every reason to stop has its words", () => {
  expect(REASONS).toHaveLength(Object.keys(HALTED).length);
});
