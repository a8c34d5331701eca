// how kernels are written for an adapter: by what it says of itself, or by options
import { describe, expect, test } from "vitest";
import { assertCompiles, assertRoom, emissionFor } from "../../../src/batch/kernel/emission.ts";
import { unrollByDefault } from "../../../src/batch/kernel/form.ts";
import { planKernels } from "../../../src/batch/simulation-spec.ts";
import { planVecKernels } from "../../../src/env/make.ts";
import { compileOnNull } from "../../../src/gpu/compile-on-null.ts";
import { plan } from "../../../src/sizing/plan.ts";
import { array, param, store4 } from "../../../src/trace/control.ts";
import { trace } from "../../../src/trace/graph.ts";
import { toI32 } from "../../../src/trace/scalar.ts";
import { toWgsl } from "../../../src/trace/wgsl.ts";
import { loadModel } from "../../../src/model/model.ts";
import { loadTestModel } from "../../support/mjcf.ts";
import "../../../envs/index.ts";

const gpu = (subgroupMaxSize: number) => ({ kind: "gpu", subgroupMaxSize }) as const;

describe("the emission of kernels", () => {
  test("is that of software drivers without a GPU, whatever their subgroups are", () => {
    const software = { target: "software", workgroupSize: 32, privateArrays: "separate", tablesApart: "uniform" };
    expect(emissionFor(undefined)).toEqual({ ...software, cut: false });
    expect(emissionFor({ kind: "software", subgroupMaxSize: 128 })).toEqual({ ...software, cut: false });
  });

  test.each([
    [32, 32],
    [64, 64],
    [128, 64],
    [16, 32],
  ])("of a GPU with subgroups of %i lanes has workgroups of %i, and merges", (lanes, workgroupSize) => {
    const merged = { target: "gpu", workgroupSize, privateArrays: "merged", tablesApart: "storage", mostLive: 270 };
    expect(emissionFor(gpu(lanes))).toEqual({ ...merged, privateRoom: 8 << 10, cut: "auto" });
  });

  test("options come first, if the device can run them", () => {
    const limits = { maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupSizeX: 256 };
    const asked = { workgroupSize: 256, privateArrays: "separate" } as const;
    expect(emissionFor(gpu(32), asked, limits)).toMatchObject(asked);
    expect(() => emissionFor(gpu(32), { workgroupSize: 512 }, limits)).toThrow(
      "[limit-exceeded] workgroupSize is 512; maxComputeInvocationsPerWorkgroup of this device is 256. Pass workgroupSize: 256 or less.",
    );
    expect(() => emissionFor(gpu(32), { privateArrays: "both" as "merged" })).toThrow("[bad-option]");
  });

  test("has limits of straight-line code of its own on GPUs", async () => {
    const [ant, humanoid] = await Promise.all(["ant", "humanoid"].map((name) => loadTestModel(`envs/${name}`)));
    expect([unrollByDefault(ant), unrollByDefault(ant, "gpu")]).toEqual([true, true]);
    expect([unrollByDefault(humanoid), unrollByDefault(humanoid, "gpu")]).toEqual([true, false]);
  });

  test.each(["Hopper-v5", "PickAndPlace"])("%s has one private array on a GPU, and compiles", async (id) => {
    for (const unroll of [true, false]) {
      const { kernels } = await planVecKernels(id, { numEnvs: 8, unroll }, { emission: emissionFor(gpu(64)) });
      const { code, form } = kernels.get("step")!;
      expect(form).toMatchObject({ unroll, privateArrays: "merged" });
      expect(code).toContain("@workgroup_size(64)");
      expect(code).toContain("var private_memory: array<u32, ");
      // what is left is indexed by numbers alone
      for (const [, name] of code.matchAll(/var (a\d+_\w+)(?::| =) array/g))
        expect(code).not.toMatch(new RegExp(String.raw`\b${name}\[(?!\d+\])`));
      await compileOnNull(code, id, ["main"]);
    }
  });

  test("kernels that no lane has registers for are cut on a GPU, there alone, or as an option says", async () => {
    const cutOf = async (id: string, options: { cut?: boolean }, context: object) => {
      const { plan, cuts } = await planVecKernels(id, { numEnvs: 64, ...options }, context);
      const cells = plan.fields.find(({ arena }) => arena === "step.cells");
      const { marks, pieces } = cuts.get("step") ?? {};
      if (cells) expect(cells.bytes).toBe(64 * 4 * cells.perWorld);
      expect(cells === undefined).toBe(pieces === undefined);
      if (options.cut) for (const { kernel } of pieces ?? []) await compileOnNull(kernel.code, id, ["main"]);
      return marks;
    };
    const onGpu = { emission: emissionFor(gpu(64)) };
    expect(await cutOf("Ant-v5", {}, onGpu)).toContain("solver");
    expect(await cutOf("Ant-v5", {}, {})).toBeUndefined();
    expect(await cutOf("Hopper-v5", {}, onGpu)).toBeUndefined();
    // few values live at once in its loops, but their text is long
    expect(await cutOf("Humanoid-v5", {}, onGpu)).toEqual(["solver"]);
    expect(await cutOf("Hopper-v5", { cut: true }, {})).toEqual(["solver"]);
    const { fields } = await plan("Hopper-v5", { numEnvs: 64, cut: true, device: "wasm" });
    expect(fields.filter(({ arena }) => arena === "step.cells")).toEqual([]);
  });

  test("straight-line code that SwiftShader compiles long is cut there, and touches what passes in few places", async () => {
    const onSwiftShader = {
      emission: emissionFor({ kind: "software", subgroupMaxSize: 4, driver: "SwiftShader driver" }),
    };
    expect(onSwiftShader.emission.cut).toBe("long");
    const cutsOf = async (id: string, options = {}) =>
      (await planVecKernels(id, { numEnvs: 64, ...options }, onSwiftShader)).cuts.get("step");
    expect(await cutsOf("Hopper-v5")).toBeUndefined();
    expect(await cutsOf("Humanoid-v5", { unroll: false })).toBeUndefined();
    const { marks, pieces } = (await cutsOf("Humanoid-v5"))!;
    expect(marks).toEqual(["transmission", "solver"]);
    for (const { kernel } of pieces) {
      // arrays that stay there are reached from where those of the world begin
      expect([...kernel.code.matchAll(/\(\*kept_tile\)\[(?!kept_from)/g)].length).toBeLessThan(20);
      await compileOnNull(kernel.code, "Humanoid-v5", ["main"]);
    }
  });

  test("tables that lanes index apart are storage on a GPU", async () => {
    const access = async (context: object) => {
      const { kernels } = await planVecKernels("PickAndPlace", { numEnvs: 8, unroll: false }, context);
      return kernels
        .get("step")!
        .buffers.filter(({ name }) => name.startsWith("tables_"))
        .map((b) => b.access);
    };
    expect(await access({})).toEqual(["uniform", "uniform"]);
    expect(await access({ emission: emissionFor(gpu(32)) })).toEqual(["read", "read"]);
  });

  /** A kernel with private arrays of these lengths. */
  const holding = (...lengths: number[]) => {
    const traced = trace(
      () => {
        const k = toI32(param("k"));
        lengths.forEach((length, i) => {
          const values = array(`values${i}`, length);
          values.set(k, 1);
          store4("out", i, [values.get(0), 0, 0, 0]);
        });
      },
      { params: [{ name: "k", type: "f32" }] },
    );
    return toWgsl(traced, { ...emissionFor(undefined), title: "heap" });
  };

  test("a kernel that no driver compiles, or that would end the process there, is refused before one sees it", () => {
    const swiftshader = emissionFor({ kind: "software", subgroupMaxSize: 4, driver: "SwiftShader driver-5.0.0" });
    const software = emissionFor({ kind: "software", subgroupMaxSize: 8, driver: "llvmpipe" });
    const [one, many] = [holding(16_385), holding(...Array<number>(4).fill(7800))];
    expect(one.privateBytes).toMatchObject({ most: 65_540, largest: "values0" });
    for (const emission of [software, swiftshader, emissionFor(gpu(32))])
      expect(() => assertCompiles("heap: step", one, emission)).toThrow(
        /\[kernel-too-large\] kernel heap: step keeps .*65,540 B\) .* array values0, .* up to .*65,536 B.*device: "wasm"/,
      );
    expect(() => assertCompiles("heap: step", many, swiftshader)).toThrow(
      /\[kernel-too-large\] .* keeps .*124,8\d\d B\) .* SwiftShader compiles .*122,880 B/,
    );
    assertCompiles("heap: step", many, software);
    assertCompiles("heap: step", holding(12_800, 12_700), swiftshader);
    assertCompiles("heap: step", holding(16_384), software);
    assertCompiles("heap: step", one, { ...swiftshader, roomy: true });
  });

  test("SwiftShader's stack holds values too: arrays for which they leave no room lie in an arena, there alone", async () => {
    const emission = emissionFor({ kind: "software", subgroupMaxSize: 4, driver: "SwiftShader driver-5.0.0" });
    // a heap of 52 ended the process
    const boxes = (count: number) =>
      `<mujoco><worldbody><geom type="plane" size="9 9 1"/>${Array.from({ length: count }, (_, i) => `<body pos="0 0 ${i + 1}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>`).join("")}</worldbody></mujoco>`;
    const planned = async (count: number, context: object) => {
      const model = await loadModel(boxes(count));
      const { plan, kernels } = planKernels(model, { numEnvs: 64 }, context);
      const cells = plan.fields.find(({ arena }) => arena === "step.cells");
      return { cells: cells?.perWorld ?? 0, bytes: kernels.get("step")!.privateBytes!.all };
    };
    expect((await planned(8, { emission })).cells).toBe(0);
    const [here, elsewhere] = [await planned(52, { emission }), await planned(52, {})];
    expect(here.cells).toBeGreaterThan(0);
    expect(here.bytes).toBeLessThan(102_400);
    expect(elsewhere.cells).toBe(0);
    expect(elsewhere.bytes - here.bytes).toBeLessThanOrEqual(4 * here.cells);

    expect(() => assertRoom("hand: step", { bytes: 1000.5, perAccess: 8 }, 20)).toThrow(
      /\[kernel-too-large\] kernel hand: step needs 1021 B .* SwiftShader has 1000 B beside its values\..*device: "wasm"/,
    );
    assertRoom("hand: step", { bytes: 1000.5, perAccess: 8 }, 0);
    assertRoom("hand: step", { bytes: 1000 }, 20);

    const ant = await loadTestModel("envs/ant");
    const tight = { ...emission, mostPrivate: 14 << 10 };
    expect(() => planKernels(ant, { numEnvs: 8 }, { emission: tight })).toThrow(
      /\[kernel-too-large\] kernel .*step has \d+ operations, of which SwiftShader compiles 1024 in one kernel\. .*unroll: false/,
    );
  });
});
