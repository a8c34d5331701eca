// draws are fixed by their names, so these tests either always pass or always fail. Bounds are about 5 standard
// deviations of the statistic: a sound generator meets them all, a broken mapping or a shared counter does not.
import { describe, expect, test } from "vitest";
import { RandomStream, philox4x32, seedKey, uniformFromBits } from "../../../src/core/rng.ts";

const COUNT = 1 << 17;

/** One draw per name: the first word as the given part of the name runs. */
function across(part: "world" | "episode" | "stream" | "block" | "seed"): Float64Array {
  const words = new Uint32Array(4);
  const draws = new Float64Array(COUNT);

  for (let i = 0; i < COUNT; i++) {
    const at = (name: string) => (part === name ? i : 1);
    const key = seedKey(part === "seed" ? i : 5);
    philox4x32([at("world"), at("episode"), at("stream"), at("block")], key, words);
    draws[i] = uniformFromBits(words[0]);
  }

  return draws;
}

function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function moment(values: Float64Array, center: number, power: number): number {
  return mean(values.map((value) => (value - center) ** power));
}

/** Pearson's chi-square over equal bins, as standard deviations from its expectation. */
function chiSquare(uniforms: Float64Array, bins: number): number {
  const counts = new Float64Array(bins);
  for (const value of uniforms) counts[Math.floor(value * bins)]++;
  const expected = uniforms.length / bins;
  const statistic = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  return (statistic - (bins - 1)) / Math.sqrt(2 * (bins - 1));
}

/** Correlation of each draw with the one `lag` names away, in standard deviations. */
function serialCorrelation(uniforms: Float64Array, lag: number): number {
  let sum = 0;
  const pairs = uniforms.length - lag;
  for (let i = 0; i < pairs; i++) sum += (uniforms[i] - 0.5) * (uniforms[i + lag] - 0.5) * 12;
  return sum / Math.sqrt(pairs);
}

/** Kolmogorov-Smirnov statistic times the square root of the count; above 1.95 in one of 1,000 sound samples. */
function kolmogorovSmirnov(values: Float64Array, cumulative: (x: number) => number): number {
  const sorted = values.slice().sort();
  const n = sorted.length;
  let distance = 0;

  sorted.forEach((value, i) => {
    const p = cumulative(value);
    distance = Math.max(distance, p - i / n, (i + 1) / n - p);
  });

  return distance * Math.sqrt(n);
}

/** Standard normal distribution function, by Simpson's rule on its density. */
function normalCumulative(x: number): number {
  const steps = 200;
  const h = x / steps;
  let sum = 1 + Math.exp((-x * x) / 2);

  for (let i = 1; i < steps; i++) sum += (i % 2 === 1 ? 4 : 2) * Math.exp(-((i * h) ** 2) / 2);

  return 0.5 + (sum * h) / 3 / Math.sqrt(2 * Math.PI);
}

describe.each(["world", "episode", "stream", "block", "seed"] as const)("uniforms as the %s runs", (part) => {
  const draws = across(part);

  test("are even", () => {
    expect(Math.abs(mean(draws) - 0.5)).toBeLessThan(5 * Math.sqrt(1 / 12 / COUNT));
    expect(Math.abs(moment(draws, 0.5, 2) - 1 / 12)).toBeLessThan(5 * Math.sqrt(1 / 180 / COUNT));
    expect(Math.abs(chiSquare(draws, 256))).toBeLessThan(5);
    expect(Math.abs(chiSquare(draws, 4096))).toBeLessThan(5);
    expect(kolmogorovSmirnov(draws, (x) => x)).toBeLessThan(1.95);
  });

  test("do not follow their neighbours", () => {
    for (const lag of [1, 2, 3, 8, 32, 64]) {
      expect(Math.abs(serialCorrelation(draws, lag))).toBeLessThan(5);
    }
  });
});

test("normals have the moments and the distribution of a normal", () => {
  const stream = new RandomStream(11, 1734, 3, 0);
  const draws = Float64Array.from({ length: COUNT }, (_, i) => stream.normal(i));

  expect(Math.abs(mean(draws))).toBeLessThan(5 * Math.sqrt(1 / COUNT));
  expect(Math.abs(moment(draws, 0, 2) - 1)).toBeLessThan(5 * Math.sqrt(2 / COUNT));
  expect(Math.abs(moment(draws, 0, 3))).toBeLessThan(5 * Math.sqrt(15 / COUNT));
  expect(Math.abs(moment(draws, 0, 4) - 3)).toBeLessThan(5 * Math.sqrt(96 / COUNT));
  expect(kolmogorovSmirnov(draws, normalCumulative)).toBeLessThan(1.95);
});

test("the two normals of a pair are independent", () => {
  const stream = new RandomStream(12, 0, 0, 0);
  let product = 0;
  let squares = 0;

  for (let i = 0; i < COUNT; i += 2) {
    const a = stream.normal(i);
    const b = stream.normal(i + 1);
    product += a * b;
    squares += (a * a - 1) * (b * b - 1);
  }

  expect(Math.abs(product) / Math.sqrt(COUNT / 2)).toBeLessThan(5);
  expect(Math.abs(squares) / Math.sqrt((4 * COUNT) / 2)).toBeLessThan(5);
});

test("integers are even", () => {
  const stream = new RandomStream(13, 5, 0, 0);
  const draws = Float64Array.from({ length: COUNT }, (_, i) => stream.integer(i, 27) / 27);
  expect(Math.abs(chiSquare(draws, 27))).toBeLessThan(5);
});
