// the forms in which kernels are written for GPUs keep the order of operations: on one driver their bits are the same.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { emissionFor } from "../../src/batch/kernel/emission.ts";
import { makeVec } from "../../src/env/index.ts";
import { GpuDevice, openDevice } from "../../src/gpu/device.ts";
import { kernelCode } from "../../src/rl/device/kernels.ts";
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
/** The same device, that says to be a GPU whose subgroups have 64 lanes. */
let posing: GpuDevice;
beforeAll(async () => {
  gpu = await openDevice();
  const info = { ...gpu.info, kind: "gpu", subgroupMaxSize: 64 } as const;
  posing = new GpuDevice(gpu.device, { refusals: [] } as never, info, gpu.limits);
});
afterAll(() => gpu.close());

async function run(id: string, device: GpuDevice, unroll: boolean, form: { cut?: boolean; mostLive?: number } = {}) {
  const options = { numEnvs: WORLDS, seed: 5, device, unroll, maxEpisodeSteps: 20, cut: false };
  await using env = await makeVec(id, { ...options, ...form });
  const hash = createHash("sha256");
  await env.reset();
  for (let step = 0; step < STEPS; step++) {
    const { observations, rewards } = await env.step(env.actionSpace.sample(3, { draw: step, worldIds: env.worldIds }));
    hash.update(observations as Float32Array).update(rewards);
  }
  for (const values of Object.values(await env.getState(["qpos", "qvel", "qacc_warmstart", "episode_length"])))
    hash.update(values);
  const cells = env.plan.fields.filter(({ arena }) => arena === "step.cells");
  return { hash: hash.digest("hex"), code: env.kernels.get("step")!.code, cells };
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

test("kernels of the learner have workgroups of 64 there, and the same numbers", () => {
  const [usual, wide] = [kernelCode("forward"), kernelCode("forward", "none", 64)];
  expect(wide).toContain("@workgroup_size(64)");
  expect(wide.replace("@workgroup_size(64)", "@workgroup_size(32)").replace("65535u * 64u", "65535u * 32u")).toBe(
    usual,
  );
});
