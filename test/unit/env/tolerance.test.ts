// dm_control's tolerance: each sigmoid against its formula in float64
import { describe, expect, test } from "vitest";
import { makeVec, tolerance, type Sigmoid, type ToleranceOptions } from "../../../src/env/index.ts";
import { rover } from "../../support/rover.ts";
import { mathBounds } from "../../support/tolerances.ts";

/** The formulas of the paper's appendix, of a distance in margins. */
const FORMULAS: Record<Sigmoid, (x: number, v: number) => number> = {
  gaussian: (x, v) => Math.exp(-0.5 * (x * Math.sqrt(-2 * Math.log(v))) ** 2),
  hyperbolic: (x, v) => 1 / Math.cosh(x * Math.acosh(1 / v)),
  long_tail: (x, v) => 1 / ((x * Math.sqrt(1 / v - 1)) ** 2 + 1),
  reciprocal: (x, v) => 1 / (x * (1 / v - 1) + 1),
  cosine: (x, v) => {
    const scaled = (x * Math.acos(2 * v - 1)) / Math.PI;
    return scaled < 1 ? (1 + Math.cos(Math.PI * scaled)) / 2 : 0;
  },
  linear: (x, v) => Math.max(0, 1 - x * (1 - v)),
  quadratic: (x, v) => Math.max(0, 1 - x * x * (1 - v)),
  tanh_squared: (x, v) => 1 - Math.tanh(x * Math.atanh(Math.sqrt(1 - v))) ** 2,
};

const VALUES = Array.from({ length: 81 }, (_, i) => -4 + i / 10);

async function valuesOf(options: ToleranceOptions): Promise<number[]> {
  const task = rover({ params: { x: 0 }, observe: { t: tolerance("param.x", options) } });
  await using env = await makeVec(task, { numEnvs: VALUES.length, device: "cpu" });
  await env.setParams({ x: VALUES });
  const { observations } = await env.reset({ seed: 1 });
  return Array.from(observations);
}

describe.each(Object.keys(FORMULAS) as Sigmoid[])("%s", (sigmoid) => {
  test.each([0.1, 0.5])("is its formula outside of bounds, with %s left at the margin", async (valueAtMargin) => {
    const [low, high, margin] = [-1, 0.5, 1.25];
    const found = await valuesOf({ bounds: [low, high], margin, sigmoid, valueAtMargin });
    VALUES.forEach((x, i) => {
      const value = Math.fround(x);
      const away = Math.max(low - value, value - high, 0) / margin;
      const wanted = away === 0 ? 1 : FORMULAS[sigmoid](away, valueAtMargin);
      expect(Math.abs(found[i] - wanted), `at ${x}`).toBeLessThan(10 * mathBounds.expRelative.value);
    });
  });
});

test("without a margin nothing is left outside of bounds, of which either may be infinite", async () => {
  expect(await valuesOf({ bounds: [1, Infinity] })).toEqual(VALUES.map((x) => (x >= 1 ? 1 : 0)));
  expect(await valuesOf({ bounds: [-Infinity, 1], margin: 1, sigmoid: "linear", valueAtMargin: 0 })).toEqual(
    VALUES.map((x) => expect.closeTo(Math.min(1, Math.max(0, 2 - x)), 6)),
  );
});

test.each([
  [{ bounds: [1, 0] }, /bounds of tolerance/],
  [{ margin: -1 }, /margin of tolerance/],
  [{ margin: 1, sigmoid: "sharp" }, /sigmoid of tolerance/],
  [{ margin: 1, valueAtMargin: 0 }, /valueAtMargin of tolerance/],
  [{ magin: 1 }, /no option "magin"; nearest: margin/],
])("%j is refused", async (options, message) => {
  await expect(valuesOf(options as never)).rejects.toThrow(message);
});
