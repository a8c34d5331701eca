import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ShaderError } from "../../../src/core/errors.ts";
import { compileOnNull, type GpuDevice, openDevice, PipelineCache } from "../../../src/gpu/index.ts";
import { excerpt } from "../../../src/gpu/shader.ts";

const GOOD = `
override factor: f32 = 1.0;
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u) { data[id.x] *= factor; }
@compute @workgroup_size(1) fn other() { data[0] = factor; }`;

/** What a call that must fail throws. */
async function shaderError(call: () => Promise<unknown>): Promise<ShaderError> {
  try {
    await call();
  } catch (error) {
    expect(error).toBeInstanceOf(ShaderError);
    return error as ShaderError;
  }
  throw new Error("it compiles");
}

describe("compiling without a driver", () => {
  test("what is valid passes, alone and as pipelines", async () => {
    await compileOnNull(GOOD);
    await compileOnNull(GOOD, "good", ["main", "other"]);
  });

  test("the compiler's message comes with the lines around it and a caret", async () => {
    const code = ["// first", "@compute @workgroup_size(1)", "fn main() {", "  let x: f32 = 1u;", "}"].join("\n");
    const error = await shaderError(() => compileOnNull(code, "solver"));
    expect(error.message).toMatchInlineSnapshot(`
      "[shader-compile] shader 'solver' does not compile: cannot initialize 'let' of type 'f32' with value of type 'u32'
      2 | @compute @workgroup_size(1)
      3 | fn main() {
      4 |   let x: f32 = 1u;
        |       ^
      5 | }"
    `);
    expect(error.details).toMatchObject({ label: "solver", code });
  });

  test("control flow that is not uniform is found", async () => {
    const code = `
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (data[id.x] > 0.0) { workgroupBarrier(); }
}`;
    expect((await shaderError(() => compileOnNull(code))).message).toContain("uniform control flow");
  });

  test("a pipeline beyond the limits is refused with its entry point", async () => {
    const code = "@compute @workgroup_size(4096) fn main() {}";
    const error = await shaderError(() => compileOnNull(code, "wide", ["main"]));
    expect(error.message).toMatch(/^\[pipeline\] pipeline 'wide' \(main\) was refused: .*4096/s);
  });
});

describe("the pipeline cache", () => {
  let gpu: GpuDevice;

  beforeAll(async () => {
    gpu = await openDevice({ adapter: "null" });
  });

  afterAll(() => {
    expect(gpu.uncaptured).toEqual([]);
    gpu.close();
  });

  test("equal requests share a pipeline, whatever their labels; others do not", async () => {
    const cache = new PipelineCache(gpu);
    const request = { label: "a", code: GOOD, entryPoint: "main" };
    const [first, second] = await Promise.all([cache.compute(request), cache.compute({ ...request, label: "b" })]);
    expect(second).toBe(first);
    expect(await cache.compute({ ...request, constants: { factor: 2 } })).not.toBe(first);
    expect(await cache.compute({ ...request, entryPoint: "other" })).not.toBe(first);
    expect(await cache.compute({ ...request, code: `${GOOD}\n` })).not.toBe(first);
    expect(cache.size).toBe(4);
  });

  test("layouts are told apart", async () => {
    const cache = new PipelineCache(gpu);
    const layouts = [0, 1].map(() => {
      const group = gpu.device.createBindGroupLayout({
        entries: [{ binding: 0, visibility: 4, buffer: { type: "storage" } }],
      });
      return gpu.device.createPipelineLayout({ bindGroupLayouts: [group] });
    });
    const request = { label: "a", code: GOOD, entryPoint: "main" };
    const [a, b, again] = await Promise.all(
      [layouts[0], layouts[1], layouts[0]].map((layout) => cache.compute({ ...request, layout })),
    );
    expect(a).toBe(again);
    expect(a).not.toBe(b);
  });

  test("a failure is not remembered, and says which entry point", async () => {
    const cache = new PipelineCache(gpu);
    const request = { label: "missing", code: GOOD, entryPoint: "nothing" };
    const errors = [await shaderError(() => cache.compute(request)), await shaderError(() => cache.compute(request))];
    expect(errors.map(({ code }) => code)).toEqual(["pipeline", "pipeline"]);
    expect(cache.size).toBe(0);
  });
});

test("the lines around a place, at the edges of the text too", () => {
  const lines = ["one", "two", "three"];
  expect(excerpt(lines, { line: 1, column: 1 })).toBe("1 | one\n  | ^\n2 | two\n3 | three");
  expect(excerpt(lines, { line: 0, column: 0 })).toBe("");
  expect(excerpt(lines, { line: 4, column: 1 })).toBe("");
});
