// robots that touch each other and are tied together, in rolled kernels on CPUs: one step of each state beside MuJoCo
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { createRobotsMjcf } from "../support/random-robots-mjcf.ts";

// in that of seed 6 MuJoCo itself ends at its hundredth iteration
test.each([1, 2, 3, 4, 5])("robots of seed %i", async (seed) => {
  const model = await loadModel(createRobotsMjcf(seed));
  for (const device of ["cpu-f64", "wasm"] as const) {
    const { verdict } = await compareWithMuJoCo(model, { device, steps: 12, envs: 2, seed: 1, unroll: false });
    expect({ device, reasons: verdict.reasons }).toEqual({ device, reasons: [] });
  }
});
