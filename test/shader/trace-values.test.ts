// numbers of every kind on every software adapter: the bits of the table of operations, but where WGSL leaves freedom
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GpuDevice, openDevice } from "../../src/gpu/index.ts";
import { softwareAdapters } from "../support/software-adapters.ts";
import { program, runGpu } from "../support/trace-runner.ts";
import {
  byTable,
  traceValues,
  VALUE_INPUTS,
  VALUE_OUTPUTS,
  valueInputs,
  valuePrograms,
} from "../support/trace-values.ts";

const numRuns = process.env.CORRAL_FULL ? 1000 : 60;

describe.each(await softwareAdapters())("on the %s adapter", (adapter) => {
  let gpu: GpuDevice;
  beforeAll(async () => {
    gpu = await openDevice({ adapter });
  });
  afterAll(() => gpu.close());

  test("random programs", async () => {
    let held = 0;
    await fc.assert(
      fc.asyncProperty(valuePrograms, fc.array(valueInputs, { minLength: 8, maxLength: 33 }), async (p, rows) => {
        const kernel = program(VALUE_INPUTS, VALUE_OUTPUTS, (x) => traceValues(p, x), { outputKind: "u32" });
        const got = await runGpu(gpu, kernel, rows);
        rows.forEach((row, world) => {
          byTable(kernel.trace, row).forEach(({ value, free }, k) => {
            if (free) return;
            held++;
            expect(got[world][k], `value ${k} of world ${world}`).toBe(value);
          });
        });
      }),
      { numRuns },
    );
    // WGSL's freedom leaves enough to hold it to
    expect(held).toBeGreaterThan(20 * numRuns);
  });
});
