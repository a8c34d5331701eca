// what every WebGPU device grants, a browser's too: all kernels compile and fit, or the plan refuses by the name of the limit.
import { describe, expect, test } from "vitest";
import { emissionFor } from "../../../src/batch/kernel/emission.ts";
import { planVec, planVecKernels } from "../../../src/env/make.ts";
import { compileOnNull } from "../../../src/gpu/index.ts";
import { defaultLimits } from "../../../src/memory/request.ts";
import { bindingsOf, kernelCode } from "../../../src/rl/device/kernels.ts";
import { KERNELS, type KernelName } from "../../../src/rl/device/kernel-table.ts";
import { ONE_OF_EACH_KIND } from "../../support/shipped.ts";

const emission = emissionFor({ kind: "gpu", subgroupMaxSize: 32 });
/** WebGPU's maxComputeInvocationsPerWorkgroup and maxComputeWorkgroupStorageSize. */
const [INVOCATIONS, SHARED_BYTES] = [256, 16384];

/** Bindings of a kind that a text declares, and lines of workgroup memory in bytes. */
const countOf = (code: string, space: string) => [...code.matchAll(new RegExp(`var<${space}`, "g"))].length;
const sharedBytes = (code: string): number =>
  [...code.matchAll(/var<workgroup> \w+: array<(f32|vec3<f32>|vec4<f32>), (\w+)>/g)].reduce((sum, [, type, length]) => {
    const count = Number(new RegExp(String.raw`const ${length}\b[^=]*= (\d+)`).exec(code)?.[1] ?? length);
    return sum + count * (type === "f32" ? 4 : 16);
  }, 0);

describe.each(ONE_OF_EACH_KIND)("%s", (id) => {
  test("fits, with its recorder and its monitor", async () => {
    const options = { numEnvs: 65536, autoreset: "same-step", recorder: true, monitor: { worlds: [0] } } as const;
    const { plan, kernels } = await planVecKernels(id, options, { emission });
    expect(plan.problems).toEqual([]);
    for (const [name, { code, form }] of kernels) {
      await compileOnNull(code, `${id} ${name}`, ["main"]);
      expect(countOf(code, "storage"), name).toBeLessThanOrEqual(defaultLimits.maxStorageBuffersPerShaderStage);
      expect(countOf(code, "uniform"), name).toBeLessThanOrEqual(defaultLimits.maxUniformBuffersPerShaderStage);
      expect(form.workgroupSize).toBeLessThanOrEqual(INVOCATIONS);
    }
    for (const { name, bytesPerWorld, sharedBytes: shared } of plan.arenas) {
      const most = Math.max(...plan.shards.map(({ paddedWorlds }) => paddedWorlds));
      if (name.startsWith("staging")) continue;
      expect(bytesPerWorld * most + shared, name).toBeLessThanOrEqual(defaultLimits.maxStorageBufferBindingSize);
    }
  });
});

test("a batch that no split can hold is refused by the name of the limit", async () => {
  const { problems } = await planVec("CartPole", { numEnvs: 4e9 }, { emission });
  expect(problems).toMatchObject([
    { code: "limit-exceeded", text: expect.stringContaining("maxStorageBufferBindingSize") },
  ]);
  const few = { ...defaultLimits, maxStorageBuffersPerShaderStage: 4 };
  const refused = await planVec("Hopper-v5", { numEnvs: 8 }, { emission, limits: few });
  expect(refused.problems[0]).toMatchObject({
    code: "limit-exceeded",
    text: expect.stringContaining("maxStorageBuffersPerShaderStage is 4"),
  });
});

test.each(Object.keys(KERNELS) as KernelName[])("the learner's kernel %s fits", (name) => {
  for (const workgroup of [32, 64]) {
    const code = kernelCode(name, "none", workgroup);
    const bound = new Set(bindingsOf(name).map(({ binding }) => String(binding)));
    const storage = [...code.matchAll(/@binding\((\d+)\) var<storage/g)].filter(([, binding]) => bound.has(binding));
    expect(storage.length).toBeLessThanOrEqual(defaultLimits.maxStorageBuffersPerShaderStage);
    expect(sharedBytes(code)).toBeLessThanOrEqual(SHARED_BYTES);
  }
});
