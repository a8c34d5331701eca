// random programs: every back end computes what plain JavaScript computes
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileOnNull } from "../../src/gpu/compile-on-null.ts";
import { costOf } from "../../src/trace/cost.ts";
import { INPUTS, MEMORY, OUTPUTS, programs, runPlain, runTraced } from "../support/trace-programs.ts";
import { plainSum, SUM_INPUTS, sumInputs, sums, traceSum } from "../support/trace-sums.ts";
import { traceBounds } from "../support/tolerances.ts";
import { program, runJs, testKernel } from "../support/trace-runner.ts";

const bound = traceBounds.rounding32.value;
const full = process.env.CORRAL_FULL !== undefined;
const small = fc.integer({ min: -32, max: 31 });
const inputs = fc.array(small, { minLength: INPUTS, maxLength: INPUTS });
const rows = fc.array(inputs, { minLength: 1, maxLength: 4 });
const runs = (numRuns: number) => ({ numRuns: full ? numRuns * 20 : numRuns });
const plus0 = (rows: number[][]) => rows.map((row) => row.map((x) => x + 0));

describe("random programs compute what plain JavaScript computes", () => {
  for (const unroll of [true, false]) {
    for (const precision of ["f64", "f32"] as const) {
      test(`JavaScript in ${precision}, ${unroll ? "unrolled" : "rolled"}`, () => {
        fc.assert(
          fc.property(programs(), rows, (body, worlds) => {
            const p = program(INPUTS, OUTPUTS, (x) => runTraced(body, x), { unroll });
            const got = runJs(p, precision, worlds, { memory: MEMORY });
            expect(plus0(got)).toEqual(worlds.map((x) => runPlain(body, x)));
          }),
          runs(500),
        );
      });
    }

    test(`inputs known when traced, ${unroll ? "unrolled" : "rolled"}`, () => {
      fc.assert(
        fc.property(programs(), inputs, (body, x) => {
          const p = program(INPUTS, OUTPUTS, () => runTraced(body, x), { unroll });
          const got = runJs(p, "f64", [x], { memory: MEMORY });
          expect(plus0(got)).toEqual([runPlain(body, x)]);
        }),
        runs(500),
      );
    });

    test(`WGSL compiles, ${unroll ? "unrolled" : "rolled"}`, async () => {
      await fc.assert(
        fc.asyncProperty(
          programs(),
          fc.array(fc.boolean(), { minLength: INPUTS, maxLength: INPUTS }),
          async (body, known) => {
            const p = program(
              INPUTS,
              OUTPUTS,
              (x) =>
                runTraced(
                  body,
                  x.map((node, i) => (known[i] ? i - 1 : node)),
                ),
              { unroll },
            );
            await compileOnNull(testKernel(p).code, "random", ["main"]);
            expect(costOf(p.trace).stores).toBeGreaterThan(0);
          },
        ),
        runs(200),
      );
    });
  }
});

test("float32 is float64 within rounding, and float64 is what plain JavaScript computes", () => {
  fc.assert(
    fc.property(sums, sumInputs, (e, x) => {
      const p = program(SUM_INPUTS, 1, (nodes) => [traceSum(e, nodes)]);
      const want = plainSum(e, x);
      const [[in64]] = runJs(p, "f64", [x]);
      const [[in32]] = runJs(p, "f32", [x]);
      expect(Math.abs(in64 - want)).toBeLessThanOrEqual(traceBounds.rounding64.value * want);
      expect(Math.abs(in32 - want)).toBeLessThanOrEqual(bound * want);
    }),
    runs(500),
  );
});
