// the kernels that shaders/emitted shows are those that are emitted
import { basename } from "node:path";
import { expect, test } from "vitest";
import { emittedKernels } from "../../tools/emitted-kernels.ts";

test("the kernels of shaders/emitted are emitted today (npm run generate)", async () => {
  for (const { file, now, wanted } of await emittedKernels())
    expect(now === wanted, `${basename(file)} is out of date: run npm run generate`).toBe(true);
});
