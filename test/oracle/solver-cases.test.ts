// single steps that solvers once got wrong, on the CPU in both precisions and forms
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

const folder = new URL("../models/solver/", import.meta.url);

describe.each(readdirSync(folder))("%s", (file) => {
  test.each(["cpu", "cpu-f64"] as const)("stays within the bounds on %s", async (device) => {
    const model = await loadModel(new URL(file, folder));
    for (const unroll of [true, false]) {
      const { verdict } = await compareWithMuJoCo(model, { device, steps: 40, envs: 2, seed: 1, unroll });
      expect(verdict).toMatchObject({ reasons: [], passed: true });
    }
  });
});
