// traced Philox on every software adapter: words and uniforms to the bit, normals to rounding
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GpuDevice, openDevice } from "../../src/gpu/index.ts";
import { drawProgram, drawRows, hostDraws, wordProgram } from "../support/philox-cases.ts";
import { philoxAnswers } from "../support/philox-answers.ts";
import { softwareAdapters } from "../support/software-adapters.ts";
import { mathBounds } from "../support/tolerances.ts";
import { runGpu } from "../support/trace-runner.ts";

describe.each(await softwareAdapters())("on the %s adapter", (adapter) => {
  let gpu: GpuDevice;
  beforeAll(async () => {
    gpu = await openDevice({ adapter });
  });
  afterAll(() => gpu.close());

  test("known answers of Random123", async () => {
    const rows = philoxAnswers.map(({ counter, key }) => [...counter, ...key]);
    expect(await runGpu(gpu, wordProgram(), rows)).toEqual(philoxAnswers.map(({ words }) => words));
  });

  test("draws are the host's", async () => {
    const rows = drawRows(3000);
    const draws = await runGpu(gpu, drawProgram(), rows);
    const want = rows.map(hostDraws);
    expect(draws.map((d) => d.slice(0, 3))).toEqual(want.map((d) => d.slice(0, 3)));
    const off = draws.map((d, i) => Math.max(Math.abs(d[3] - want[i][3]), Math.abs(d[4] - want[i][4])));
    expect(off.reduce((a, b) => Math.max(a, b))).toBeLessThanOrEqual(mathBounds.normalAbsolute.value);
  });
});
