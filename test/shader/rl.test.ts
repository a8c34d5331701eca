// every kernel of the learner compiles without a driver, with the buffers that it is said to have
import { expect, test } from "vitest";
import { compileOnNull } from "../../src/gpu/index.ts";
import { entryOf, kernelCode } from "../../src/rl/device/kernels.ts";
import { KERNELS, type KernelName } from "../../src/rl/device/kernel-table.ts";

/** What a default device gives a stage. */
const MAX_BUFFERS = 8;

test.each(Object.keys(KERNELS) as KernelName[])("%s", async (name) => {
  const kernel = KERNELS[name];
  for (const sharing of ["none", "lanes"] as const)
    await compileOnNull(kernelCode(name, sharing), name, [entryOf(name)]);
  expect(Object.keys(kernel.buffers).length).toBeLessThanOrEqual(MAX_BUFFERS);
});
