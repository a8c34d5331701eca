import { expect, test } from "vitest";
import { trendOf } from "../../../src/bench/trend.ts";

const minutes = Array.from({ length: 60 }, (_, i) => i / 2);
const wobble = minutes.map((_, i) => ((i * 7) % 5) - 2);

test("a line is found, and its error", () => {
  const { slope, growth, mean, noise, flat } = trendOf(
    minutes,
    minutes.map((x) => 100 + 3 * x),
    0.01,
  );
  expect(slope).toBeCloseTo(3, 12);
  expect(growth).toBeCloseTo(3 * 29.5, 10);
  expect(mean).toBeCloseTo(100 + 3 * 14.75, 10);
  expect([noise < 1e-9, flat]).toEqual([true, false]);
});

test("noise is flat, and so is what falls; growth beyond both bounds is not", () => {
  const of = (slope: number) =>
    trendOf(
      minutes,
      minutes.map((x, i) => 1000 + wobble[i] + slope * x),
      1,
    ).flat;
  expect([of(0), of(-5), of(0.02), of(0.5)]).toEqual([true, true, true, false]);
});

test("few samples have no trend", () => {
  expect(trendOf([], [], 1).flat).toBe(false);
  expect(trendOf([1], [5], 0.01)).toMatchObject({ slope: 0, growth: 0, mean: 5, flat: true });
});
