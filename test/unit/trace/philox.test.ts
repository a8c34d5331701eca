// traced Philox against Random123's known answers and the host's generator
import { describe, expect, test } from "vitest";
import * as host from "../../../src/core/rng.ts";
import * as philox from "../../../src/trace/philox.ts";
import { compileOnNull } from "../../../src/gpu/compile-on-null.ts";
import { drawProgram, drawRows, hostDraws, wordProgram } from "../../support/philox-cases.ts";
import { philoxAnswers } from "../../support/philox-answers.ts";
import { mathBounds } from "../../support/tolerances.ts";
import { program, runJs, testKernel } from "../../support/trace-runner.ts";

const rows = philoxAnswers.map(({ counter, key }) => [...counter, ...key]);

describe("known answers of Random123", () => {
  test("numbers fold to the words", () => {
    for (const { counter, key, words } of philoxAnswers) {
      expect(philox.philox4x32(counter as never, key as never)).toEqual(words);
    }
  });

  test.each(["f64", "f32"] as const)("JavaScript in %s", (precision) => {
    expect(runJs(wordProgram(), precision, rows)).toEqual(philoxAnswers.map(({ words }) => words));
  });

  test("the kernel compiles", async () => {
    await compileOnNull(testKernel(wordProgram()).code, "philox", ["main"]);
    await compileOnNull(testKernel(drawProgram()).code, "draws", ["main"]);
  });
});

test("a partly known counter gives the same words", () => {
  const p = program(1, 4, ([world]) => philox.philox4x32([world, 7, 2, 0], [123, 456]), { kind: "u32" });
  for (const world of [0, 1, 4096, 0xffffffff]) {
    expect(runJs(p, "f64", [[world]])).toEqual([Array.from(host.philox4x32([world, 7, 2, 0], [123, 456]))]);
  }
});

test("high words of products", () => {
  const p = program(2, 1, ([a, b]) => [philox.mulHigh(a, b)], { kind: "u32" });
  for (const [a, b] of drawRows(200)) {
    const want = Number((BigInt(a) * BigInt(b)) >> 32n);
    expect(runJs(p, "f64", [[a, b]])).toEqual([[want]]);
    expect(philox.mulHigh(a, b)).toBe(want);
  }
});

describe("draws are the host's", () => {
  const draws = drawRows(3000);

  test("uniforms and integers to the bit, normals to rounding", () => {
    const p = drawProgram();
    runJs(p, "f32", draws).forEach((got, i) => {
      const want = hostDraws(draws[i]);
      expect(got.slice(0, 3)).toEqual(want.slice(0, 3));
      expect(Math.abs(got[3] - want[3])).toBeLessThanOrEqual(mathBounds.normalAbsolute.value);
      expect(Math.abs(got[4] - want[4])).toBeLessThanOrEqual(mathBounds.normalAbsolute.value);
    });
  });

  test("numbers fold to them", () => {
    for (const [a, b] of draws.slice(0, 200)) {
      expect(philox.uniform01(a)).toBe(host.uniformFromBits(a));
      expect(philox.positiveUniform01(a)).toBe(host.positiveUniformFromBits(a));
      expect(philox.integerFromBits(a, 1000)).toBe(host.integerFromBits(a, 1000));
      const [x, y] = philox.normalPair(a, b) as [number, number];
      const [u, v] = host.normalsFromBits(a, b);
      expect(x).toBeCloseTo(u, 12);
      expect(y).toBeCloseTo(v, 12);
    }
  });
});
