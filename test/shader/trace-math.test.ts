// error bounds of the traced functions on every software adapter, over their whole range
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GpuDevice, openDevice } from "../../src/gpu/index.ts";
import { sincos } from "../../src/trace/math.ts";
import { mathCases, tooFarOff } from "../support/math-cases.ts";
import { softwareAdapters } from "../support/software-adapters.ts";
import { mathBounds } from "../support/tolerances.ts";
import { column, program, runGpu } from "../support/trace-runner.ts";

describe.each(await softwareAdapters())("on the %s adapter", (adapter) => {
  let gpu: GpuDevice;
  beforeAll(async () => {
    gpu = await openDevice({ adapter });
  });
  afterAll(() => gpu.close());

  test.each(mathCases)("$name stays within its bound", async (c) => {
    const p = program(2, 1, ([x, y]) => [c.fn(x, y)]);
    const rows = c.points.map(([x, y]) => [x, y]);
    expect(tooFarOff(c, column(await runGpu(gpu, p, rows)))).toEqual([]);
  });

  test("a sine and its cosine lie on the unit circle, however far out", async () => {
    const p = program(1, 2, ([x]) => sincos(x));
    const rows = mathCases[0].points.map(([x]) => [x]);
    const off = (await runGpu(gpu, p, rows)).map(([s, c]) => Math.abs(s * s + c * c - 1));
    expect(off.reduce((a, b) => Math.max(a, b))).toBeLessThanOrEqual(mathBounds.unitCircle.value);
  });
});
