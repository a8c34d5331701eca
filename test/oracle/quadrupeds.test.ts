// quadrupeds whose feet have little R beside J M⁻¹ Jᵀ, as real ones of impratio 100 have: one step of each state beside MuJoCo
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { isFull } from "../support/sweep.ts";
import { createQuadrupedMjcf } from "../support/random-quadrupeds-mjcf.ts";

const SEEDS = isFull ? Array.from({ length: 30 }, (_, i) => i + 1) : [];

// pyramids ask for a step of Newton more; cones for feet that keep their R, and for patience while friction goes to and fro
test.each([
  ...[2, 9, 18, 23].map((seed) => [seed, "pyramidal"] as const),
  ...[29, 33, 46, 56].map((seed) => [seed, "elliptic"] as const),
  ...SEEDS.flatMap((seed) => [[seed, "pyramidal"] as const, [seed, "elliptic"] as const]),
])("quadruped of seed %i, %s", async (seed, cone) => {
  const model = await loadModel(createQuadrupedMjcf(seed, cone));
  for (const unroll of [true, false]) {
    const { verdict } = await compareWithMuJoCo(model, { device: "wasm", steps: 15, envs: 2, unroll });
    expect({ unroll, reasons: verdict.reasons }).toEqual({ unroll, reasons: [] });
  }
});
