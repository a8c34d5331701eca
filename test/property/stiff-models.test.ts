// random models with joint axes, centres of mass and masses of any kind, all solvers, integrators, cones: step by step
import fc from "fast-check";
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { isFull } from "../support/sweep.ts";
import { createStiffMjcf } from "../support/random-stiff-mjcf.ts";

/** With implicit integrators and D of 1e15 MuJoCo's own velocities are rounding (decision 0015). */
const EXPLICIT = ["Euler", "RK4"] as const;

const cases = fc.record({
  seed: fc.integer({ min: 1, max: 1e6 }),
  integrator: fc.constantFrom(...EXPLICIT),
  unroll: fc.boolean(),
});

test("wide models stay within the bounds, or within MuJoCo's own sensitivity, in float64", async () => {
  const stays = async ({ seed, integrator, unroll }: typeof cases extends fc.Arbitrary<infer T> ? T : never) => {
    const model = await loadModel(createStiffMjcf(seed, { integrator }, true));
    const { verdict } = await compareWithMuJoCo(model, { device: "cpu-f64", steps: 10, envs: 1, seed: 1, unroll });
    expect(verdict.reasons).toEqual([]);
  };
  await fc.assert(fc.asyncProperty(cases, stays), { numRuns: isFull ? 150 : 8, endOnFailure: true });
});
