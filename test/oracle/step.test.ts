// one mj_step of every model, integrator and solver
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import {
  boundOf,
  describeHow,
  fieldDifference,
  formsOf,
  inputsOf,
  oracleCases,
  randomSeeds,
  STATES,
  withFixture,
  type OracleCase,
} from "../support/oracle-suite.ts";
import { isFull } from "../support/sweep.ts";
import { createMjcf } from "../support/random-mjcf.ts";
import { STEP } from "../support/stage-table.ts";
import { evaluate } from "../support/stages.ts";

/** Random models under `discrete`, 42 of which is a free body with a part. */
const discreteCases: OracleCase[] = [42, ...randomSeeds(4, 100)].map((seed) => ({
  name: `random model ${seed} under discrete`,
  load: async () => createMjcf(seed, { option: { integrator: "discrete", timestep: 0.01 } }),
}));

describe("step equals MuJoCo in float64", () => {
  for (const [place, c] of [...oracleCases(), ...discreteCases].entries()) {
    test(
      c.name,
      withFixture(c, STATES, async (f) => {
        for (const unroll of formsOf(place, true)) {
          const how = { on: "f64", unroll } as const;
          const inputs = f.truths.map((t) => inputsOf(f, t));
          const results = await evaluate(f.model, STEP, inputs, how);
          results.forEach((result, i) => {
            const truth = f.truths[i];
            for (const field of STEP.writes) {
              const error = fieldDifference(field, result[field], { ...truth, fields: truth.next });
              expect(error, `${truth.label}, ${describeHow(how)}: ${field}`).toBeLessThanOrEqual(
                boundOf("step", "f64"),
              );
            }
          });
        }
      }),
    );
  }
});

// the model's own options, with MuJoCo's defaults for tolerances: what a user compares
describe("steps along MuJoCo's trajectories stay within the bounds in float32", () => {
  for (const c of oracleCases()) {
    test(
      c.name,
      withFixture(c, [], async ({ given }) => {
        const { verdict } = await compareWithMuJoCo(given, {
          device: "cpu",
          steps: isFull ? 300 : 40,
          envs: isFull ? 2 : 1,
          seed: 1,
        });
        expect(verdict).toMatchObject({ reasons: [], passed: true });
      }),
    );
  }
});
