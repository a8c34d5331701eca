// random programs on every software adapter give the bits of plain JavaScript
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GpuDevice, openDevice } from "../../src/gpu/index.ts";
import { softwareAdapters } from "../support/software-adapters.ts";
import { INPUTS, MEMORY, OUTPUTS, programs, runPlain, runTraced } from "../support/trace-programs.ts";
import { plainSum, SUM_INPUTS, sumInputs, sums, traceSum } from "../support/trace-sums.ts";
import { traceBounds } from "../support/tolerances.ts";
import { program, runGpu } from "../support/trace-runner.ts";

const numRuns = process.env.CORRAL_FULL ? 300 : 40;
const WORLDS = 33;

/** Different inputs for each world, so that lanes take different branches. */
const worlds = (seed: number): number[][] =>
  Array.from({ length: WORLDS }, (_, i) =>
    Array.from({ length: INPUTS }, (_, k) => ((seed + i * (k + 1) * 7 + k * 13) % 64) - 32),
  );

describe.each(await softwareAdapters())("on the %s adapter", (adapter) => {
  let gpu: GpuDevice;
  beforeAll(async () => {
    gpu = await openDevice({ adapter });
  });
  afterAll(() => gpu.close());

  test.each([true, false])("random programs, unroll: %s", async (unroll) => {
    await fc.assert(
      fc.asyncProperty(programs(), fc.nat(63), async (body, seed) => {
        const p = program(INPUTS, OUTPUTS, (x) => runTraced(body, x), { unroll });
        const rows = worlds(seed);
        const got = await runGpu(gpu, p, rows, { memory: MEMORY });
        expect(got.map((row) => row.map((x) => x + 0))).toEqual(rows.map((x) => runPlain(body, x)));
      }),
      { numRuns },
    );
  });

  test("expressions within rounding of float64", async () => {
    await fc.assert(
      fc.asyncProperty(sums, fc.array(sumInputs, { minLength: 1, maxLength: 40 }), async (e, rows) => {
        const p = program(SUM_INPUTS, 1, (nodes) => [traceSum(e, nodes)]);
        const off = (await runGpu(gpu, p, rows)).map(([x], i) => Math.abs(x / plainSum(e, rows[i]) - 1));
        expect(off.reduce((a, b) => Math.max(a, b))).toBeLessThanOrEqual(traceBounds.rounding32.value);
      }),
      { numRuns },
    );
  });
});
