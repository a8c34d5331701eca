// error bounds of the traced functions on the CPU, over their whole range
import { describe, expect, test } from "vitest";
import { MAX_FLOAT } from "../../../src/trace/host-math.ts";
import * as math from "../../../src/trace/math.ts";
import { toJavaScript } from "../../../src/trace/javascript.ts";
import { toWgsl } from "../../../src/trace/wgsl.ts";
import { mathCases, tooFarOff } from "../../support/math-cases.ts";
import { mathBounds } from "../../support/tolerances.ts";
import { column, program, runJs } from "../../support/trace-runner.ts";

describe.each(mathCases)("$name", (c) => {
  const rows = c.points.map(([x, y]) => [x, y]);

  test("float32 stays within its bound", () => {
    const p = program(2, 1, ([x, y]) => [c.fn(x, y)]);
    expect(tooFarOff(c, column(runJs(p, "f32", rows)))).toEqual([]);
  });

  test("float64 has the polynomial's error alone", () => {
    const p = program(2, 1, ([x, y]) => [c.fn(x, y)]);
    // float64 overflows if float32 does not
    const values = column(runJs(p, "f64", rows)).map((v) => (v > MAX_FLOAT ? Infinity : v));
    const bound = mathBounds.polynomial64.value;
    // logarithms and the like take the float32 bits of their argument, which these points have
    const near = { ...c, allowed: (x: number, y: number, v: number) => scale64(c.name, x, y, v) * bound };
    expect(tooFarOff(near, values)).toEqual([]);
  });

  test("a wide trace has float64's rounding alone", () => {
    const p = program(2, 1, ([x, y]) => [c.fn(x, y)], { wide: true });
    const values = column(runJs(p, "f64", rows)).map((v) => (v > MAX_FLOAT ? Infinity : v));
    const near = {
      ...c,
      allowed: (x: number, y: number, v: number) => scale64(c.name, x, y, v) * mathBounds.wide.value,
    };
    expect(tooFarOff(near, values)).toEqual([]);
  });

  test("an exact trace calls the host's function", () => {
    const p = program(2, 1, ([x, y]) => [c.fn(x, y)], { exact: true });
    expect(column(runJs(p, "f64", rows))).toEqual(c.points.map(([x, y]) => c.reference(x, y)));
  });

  test("numbers fold to the host's function", () => {
    for (const [x, y] of c.points.slice(0, 300)) {
      const want = c.reference(x, y);
      if (Number.isFinite(want)) expect(c.fn(x, y)).toBe(want);
      else expect(() => c.fn(x, y)).toThrow("[trace-non-finite]");
    }
  });
});

const rowsOf = (k: number): number[][] => mathCases[k].points.map(([x, y]) => [x, y]);

/** What the float64 bound is relative to. */
function scale64(name: string, x: number, y: number, value: number): number {
  if (name === "pow") return (1 + Math.abs(y * math.hostMath.log(x))) * Math.abs(value);
  if (name === "exp" || name === "log" || name === "tanh") return Math.abs(value);
  // the reduction of far angles has what is left of 53 bits
  if ((name === "sin" || name === "cos") && Math.abs(x) > 1e5) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.abs(value));
}

test("sincos is sin and cos", () => {
  const p = program(1, 4, ([x]) => [...math.sincos(x), math.sin(x), math.cos(x)]);
  for (const [s, c, sine, cosine] of runJs(p, "f32", rowsOf(0).slice(0, 1000))) {
    expect([s, c]).toEqual([sine, cosine]);
  }
  expect(math.sincos(2)).toEqual([Math.sin(2), Math.cos(2)]);
});

test("a sine and its cosine lie on the unit circle, however far out", () => {
  const p = program(1, 2, ([x]) => math.sincos(x));
  const off = runJs(p, "f32", rowsOf(0)).map(([s, c]) => Math.abs(s * s + c * c - 1));
  expect(off.reduce((a, b) => Math.max(a, b))).toBeLessThanOrEqual(mathBounds.unitCircle.value);
});

test("the origin and the axes of atan2", () => {
  const want: [number, number, number][] = [
    [0, 0, 0],
    [-0, -0, 0],
    [0, -0, 0],
    [0, 1, 0],
    [-0, -1, Math.PI],
    [0, -1, Math.PI],
    [1, 0, Math.PI / 2],
    [-1, 0, -Math.PI / 2],
    [2, 2, Math.PI / 4],
    [-2, -2, (-3 * Math.PI) / 4],
  ];
  const p = program(2, 1, ([y, x]) => [math.atan2(y, x)]);
  const exact = program(2, 1, ([y, x]) => [math.atan2(y, x)], { exact: true });
  const near = column(runJs(p, "f32", want));
  want.forEach(([y, x, angle], i) => {
    expect(Math.abs(near[i] - angle)).toBeLessThanOrEqual(mathBounds.atan2Absolute.value);
    expect(math.atan2(y, x) === angle).toBe(true);
  });
  expect(column(runJs(exact, "f64", want)).map((x) => x + 0)).toEqual(want.map(([, , angle]) => angle));
});

test("the ends of each domain", () => {
  const values = (fn: (x: never) => unknown, xs: number[]) =>
    column(
      runJs(
        program(1, 1, ([x]) => [fn(x as never) as never]),
        "f32",
        xs.map((x) => [x]),
      ),
    );

  expect(values(math.acos, [1, 1.5, -1, -7])).toEqual([0, 0, Math.fround(Math.PI), Math.fround(Math.PI)]);
  expect(values(math.asin, [0, 2])).toEqual([0, Math.fround(Math.PI / 2)]);
  expect(values(math.exp, [0, -1000, -3e38])).toEqual([1, 0, 0]);
  expect(values(math.exp, [1000, 3e38, Infinity, -Infinity])).toEqual([Infinity, Infinity, Infinity, 0]);
  expect(values(math.log, [1, Infinity])).toEqual([0, Infinity]);
  expect(values((x) => math.pow(x, 0.3), [0, Infinity])).toEqual([0, Infinity]);
  expect(values((x) => math.pow(x, -0.3), [0, Infinity])).toEqual([Infinity, 0]);
  expect(values((x) => math.pow(10, x), [39, -46])).toEqual([Infinity, 0]);
  expect(values((x) => math.pow(0, x), [2, 0, -2])).toEqual([0, 1, Infinity]);
  expect(values(math.tanh, [0, 50, -50])).toEqual([0, 1, -1]);
  expect(values(math.sin, [0])).toEqual([0]);
  expect(values(math.cos, [0])).toEqual([1]);
});

test("a wide trace keeps small numbers apart, and takes those beyond float32's for infinite", () => {
  const p = program(2, 3, ([y, x]) => [math.atan2(y, x), math.log(x), math.pow(x, 0.3)], { wide: true });
  const small = [1e-39, 1e-60, 1e-300, Number.MIN_VALUE];
  const rows = small.flatMap((size) => [
    [size, size],
    [-size, 3 * size],
  ]);
  for (const [[y, x], [angle]] of runJs(p, "f64", rows).map((values, i) => [rows[i], values]))
    expect(Math.abs(angle - Math.atan2(y, x))).toBeLessThanOrEqual(mathBounds.wide.value);
  const large = [2 ** 128 - 2 ** 103, 1e39, 1e300, Infinity];
  for (const [, ...values] of runJs(
    p,
    "f64",
    large.map((x) => [0, x]),
  ))
    expect(values).toEqual([Infinity, Infinity]);
  const [[, log, root]] = runJs(p, "f64", [[0, MAX_FLOAT]]);
  expect(Math.abs(log / Math.log(MAX_FLOAT) - 1)).toBeLessThanOrEqual(mathBounds.wide.value);
  expect(root).toBeLessThan(1e12);
  expect(runJs(p, "f64", [[0, NaN]])[0].slice(1)).toEqual([NaN, NaN]);
});

test("exp is infinite where the nearest float32 is, and 0 where it is no normal one", () => {
  const p = program(1, 1, ([x]) => [math.exp(x)]);
  for (const end of [math.EXP_MIN, math.EXP_MAX]) {
    const xs = Array.from({ length: 41 }, (_, k) => Math.fround(end + (k - 20) * 2 ** -17));
    const wanted = xs.map((x) => Math.fround(Math.exp(x))).map((y) => (y < 2 ** -126 ? 0 : y));
    const got = column(
      runJs(
        p,
        "f32",
        xs.map((x) => [x]),
      ),
    );
    expect(got.map(Number.isFinite)).toEqual(wanted.map(Number.isFinite));
    expect(got.map((y) => y === 0)).toEqual(wanted.map((y) => y === 0));
  }
});

test("whole powers of negative numbers have their sign", () => {
  const powers = [-1, -2, 3, 9, 10, -11];
  const p = program(1, powers.length, ([x]) => powers.map((n) => math.pow(x, n)));
  for (const x of [-2, -0.5, 3]) {
    const [got] = runJs(p, "f32", [[x]]);
    powers.forEach((n, i) => {
      const allowed =
        mathBounds.powRelative.value + mathBounds.powPerExponent.value * Math.abs(n * Math.log(Math.abs(x)));
      expect(Math.abs(got[i] / x ** n - 1)).toBeLessThanOrEqual(allowed);
      expect(math.pow(x, n)).toBe(x ** n);
    });
  }
});

test("whole powers and square roots are products and roots", () => {
  const p = program(1, 4, ([x]) => [math.pow(x, 0), math.pow(x, 2), math.pow(x, 5), math.pow(x, 0.5)]);
  expect(runJs(p, "f64", [[3], [0]])).toEqual([
    [1, 9, 243, Math.sqrt(3)],
    [1, 0, 0, 0],
  ]);
});

test("only the float64 back end takes exact traces", () => {
  const p = program(1, 1, ([x]) => [math.sin(x)], { exact: true });
  const bindings = { buffers: {}, params: new Float64Array(2) };
  expect(() => toJavaScript(p.trace, "f32", bindings)).toThrow(
    "[trace-exact] a trace recorded with exact: true calls the host's float64 functions, which float32 JavaScript lacks. Record it without exact.",
  );
  expect(() => toWgsl(p.trace, { workgroupSize: 32 }).code).toThrow("[trace-exact]");
});
