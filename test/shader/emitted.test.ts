// the kernels that shaders/emitted shows, and the functions of shaders/lib, are those that are emitted
import { basename } from "node:path";
import { expect, test } from "vitest";
import { emittedKernels } from "../../tools/emitted-kernels.ts";
import { libraryShaders } from "../../tools/library-shaders.ts";

test("the kernels of shaders/emitted and the functions of shaders/lib are emitted today (npm run generate)", async () => {
  for (const { file, now, wanted } of [...(await emittedKernels()), ...libraryShaders()])
    expect(now === wanted, `${basename(file)} is out of date: run npm run generate`).toBe(true);
});
