// the forms in which kernels are written for GPUs keep the order of operations: on one driver their bits are the same.
import { afterAll, beforeAll, expect, test } from "vitest";
import { emissionFor } from "../../src/batch/kernel/emission.ts";
import { type GpuDevice, openDevice } from "../../src/gpu/device.ts";
import { kernelCode } from "../../src/rl/device/kernels.ts";
import { play, posingAsGpu, type FormOptions } from "../../tools/gpu-compilers/forms.ts";
import "../../envs/index.ts";

const STEPS = 30;
const WORLDS = 80;
/** Contacts, limits, tables and resets, and compiles in seconds on every software driver; rolled Hopper takes half a minute. */
const CASES = [
  ["InvertedDoublePendulum-v5", true],
  ["InvertedDoublePendulum-v5", false],
  ["Hopper-v5", true],
  ...(process.env.CORRAL_FULL === "1" ? [["Hopper-v5", false] as const] : []),
] as const;

/** A place in private memory that compilers do not know. */
const HIDDEN = /U\.zero(?: \+ \d+)?\] = /;

let gpu: GpuDevice;
let posing: GpuDevice;
beforeAll(async () => {
  gpu = await openDevice();
  posing = posingAsGpu(gpu);
});
afterAll(() => gpu.close());

async function run(id: string, device: GpuDevice, unroll: boolean, form: FormOptions = {}) {
  const { hash, env } = await play(id, device, { unroll, cut: false, ...form }, { worlds: WORLDS, steps: STEPS });
  const cells = env.plan.fields.filter(({ arena }) => arena === "step.cells");
  return { hash, code: env.kernels.get("step")!.code, cells };
}

test.each(CASES)(
  "%s as a GPU gets it has the bits of software drivers' kernels, straight-line: %s",
  async (id, unroll) => {
    const [usual, posed] = [await run(id, gpu, unroll), await run(id, posing, unroll)];
    expect(usual.code).toContain(`@workgroup_size(${emissionFor(gpu.info).workgroupSize})`);
    expect(posed.code).toContain("@workgroup_size(64)");
    expect(posed.code).toContain("private_memory[");
    expect(posed.hash).toBe(usual.hash);
    expect(posed.cells).toEqual([]);
    if (!unroll && process.env.CORRAL_FULL !== "1") return;
    // so few that much is put aside, and read again from cells
    const cut = await run(id, posing, unroll, { cut: true, mostLive: 40 });
    expect(cut.code.split(HIDDEN).length).toBeGreaterThan(20);
    expect(cut.hash).toBe(usual.hash);
    expect(cut.cells[0].bytes).toBe(cut.cells[0].bytesPerWorld * WORLDS);
  },
);

test("pieces in loops of a software driver, with copies of arrays that they share, have the bits of the whole", async () => {
  const id = "InvertedDoublePendulum-v5";
  const [whole, pieces] = [await run(id, gpu, false), await run(id, gpu, false, { cut: true })];
  expect([whole, pieces].map(({ cells }) => cells.length)).toEqual([0, 1]);
  expect(pieces.hash).toBe(whole.hash);
});

test("kernels of the learner have workgroups of 64 there, and the same numbers", () => {
  const [usual, wide] = [kernelCode("forward"), kernelCode("forward", "none", 64)];
  expect(wide).toContain("@workgroup_size(64)");
  expect(wide.replace("@workgroup_size(64)", "@workgroup_size(32)").replace("65535u * 64u", "65535u * 32u")).toBe(
    usual,
  );
});
