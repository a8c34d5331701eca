// robots that touch each other and are tied together, on CPUs in both forms of kernels: one step of each state beside MuJoCo
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { createRobotsMjcf } from "../support/random-robots-mjcf.ts";
import { isFull } from "../support/sweep.ts";

/** Robots in both forms, or in one by turns: step.test.ts has models in both. */
const inForms = (seeds: readonly number[]) =>
  seeds.flatMap((seed, place) => (isFull ? [false, true] : [place % 2 === 0]).map((unroll) => ({ seed, unroll })));

// in that of seed 6 MuJoCo itself ends at its hundredth iteration
test.each(inForms([1, 2, 3, 4, 5]))("robots of seed $seed, straight-line: $unroll", async ({ seed, unroll }) => {
  const model = await loadModel(createRobotsMjcf(seed));
  for (const device of ["cpu-f64", "wasm"] as const) {
    const { verdict } = await compareWithMuJoCo(model, { device, steps: 12, envs: 2, seed: 1, unroll });
    expect({ device, reasons: verdict.reasons }).toEqual({ device, reasons: [] });
  }
});

// few iterations end before the minimum: where depends on the start of each evaluation of RK4, and on line searches that see their end
test.each(inForms([2, 10, 13, 14, 15]))(
  "five iterations of robots of seed $seed, straight-line: $unroll",
  async ({ seed, unroll }) => {
    const few = createRobotsMjcf(seed).replace('iterations="100"', 'iterations="5" ls_iterations="8"');
    const model = await loadModel(few);
    for (const device of ["cpu-f64", "wasm"] as const) {
      const { verdict } = await compareWithMuJoCo(model, { device, steps: 12, envs: 4, seed: 1, unroll });
      expect({ device, reasons: verdict.reasons }).toEqual({ device, reasons: [] });
    }
  },
);
