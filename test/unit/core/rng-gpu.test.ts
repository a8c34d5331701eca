// the WGSL twin of the random numbers gives the host's words and uniforms, to the bit
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  integerFromBits,
  philox4x32,
  type PhiloxCounter,
  type PhiloxKey,
  positiveUniformFromBits,
  uniformFromBits,
} from "../../../src/core/rng.ts";
import {
  BufferUsage,
  compileOnNull,
  createBindGroup,
  createBuffer,
  type GpuDevice,
  openDevice,
  PipelineCache,
  Readback,
} from "../../../src/gpu/index.ts";
import { philoxAnswers } from "../../support/philox-answers.ts";
import { softwareAdapters } from "../../support/software-adapters.ts";

const COUNT = 4096;
const INTEGERS = 27_000;
const WORDS_IN = 6;
const WORDS_OUT = 7;

const code = `${readFileSync(new URL("../../../shaders/lib/philox.wgsl", import.meta.url), "utf8")}
@group(0) @binding(0) var<storage, read> names: array<u32>;
@group(0) @binding(1) var<storage, read_write> draws: array<u32>;

@compute @workgroup_size(32) fn draw(@builtin(global_invocation_id) id: vec3<u32>) {
  let at = id.x * ${WORDS_IN}u;
  let counter = vec4<u32>(names[at], names[at + 1u], names[at + 2u], names[at + 3u]);
  let words = philox4x32(counter, vec2<u32>(names[at + 4u], names[at + 5u]));
  let out = id.x * ${WORDS_OUT}u;
  draws[out] = words.x;
  draws[out + 1u] = words.y;
  draws[out + 2u] = words.z;
  draws[out + 3u] = words.w;
  draws[out + 4u] = bitcast<u32>(uniform_from_bits(words.x));
  draws[out + 5u] = bitcast<u32>(positive_uniform_from_bits(words.y));
  draws[out + 6u] = integer_from_bits(words.z, ${INTEGERS}u);
}`;

/** Counters and keys: the known answers first, then whatever, as the host's generator says. */
function names(): { counter: PhiloxCounter; key: PhiloxKey }[] {
  const random = Array.from({ length: COUNT - philoxAnswers.length }, (_, i) => {
    const [a, b, c, d] = philox4x32([i, 0, 0, 0], [1, 2]);
    const [e, f] = philox4x32([i, 1, 0, 0], [1, 2]);
    return { counter: [a, b, c, d] as const, key: [e, f] as const };
  });
  return [...philoxAnswers, ...random];
}

async function drawOn(gpu: GpuDevice, inputs: Uint32Array): Promise<Uint32Array> {
  const { device } = gpu;
  const out = new Uint32Array(COUNT * WORDS_OUT);
  const usage = BufferUsage.STORAGE | BufferUsage.COPY_DST | BufferUsage.COPY_SRC;
  const from = await createBuffer(gpu, "names", inputs.byteLength, usage);
  const into = await createBuffer(gpu, "draws", out.byteLength, usage);
  device.queue.writeBuffer(from, 0, inputs);

  const pipeline = await new PipelineCache(gpu).compute({ label: "draw", code, entryPoint: "draw" });
  const group = await createBindGroup(gpu, {
    label: "draw",
    layout: pipeline.getBindGroupLayout(0),
    entries: [
      { binding: 0, resource: { buffer: from } },
      { binding: 1, resource: { buffer: into } },
    ],
  });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(COUNT / 32);
  pass.end();
  device.queue.submit([encoder.finish()]);

  const readback = await Readback.create(gpu, { slotBytes: out.byteLength });
  await readback.read(into, 0, out.byteLength, out);
  return out;
}

test("compiles without a driver", async () => {
  await compileOnNull(code, "philox", ["draw"]);
});

describe.each(await softwareAdapters())("on the %s adapter", (adapter) => {
  test("words, uniforms and integers are the host's to the bit", async () => {
    using gpu = await openDevice({ adapter });
    const named = names();
    const draws = await drawOn(gpu, Uint32Array.from(named.flatMap(({ counter, key }) => [...counter, ...key])));

    const expected = new Uint32Array(COUNT * WORDS_OUT);
    const floats = new Float32Array(expected.buffer);
    named.forEach(({ counter, key }, i) => {
      const at = i * WORDS_OUT;
      const words = philox4x32(counter, key, expected.subarray(at, at + 4));
      floats[at + 4] = uniformFromBits(words[0]);
      floats[at + 5] = positiveUniformFromBits(words[1]);
      expected[at + 6] = integerFromBits(words[2], INTEGERS);
    });

    philoxAnswers.forEach(({ words }, i) =>
      expect([...draws.subarray(i * WORDS_OUT, i * WORDS_OUT + 4)]).toEqual(words),
    );
    expect(Buffer.from(draws.buffer).equals(Buffer.from(expected.buffer))).toBe(true);
    expect(gpu.uncaptured).toEqual([]);
  });
});
