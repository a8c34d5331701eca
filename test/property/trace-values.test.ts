// numbers of every kind mean the same in every back end of the CPU, as the table of operations says
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { interpret } from "../../src/trace/interpret.ts";
import * as t from "../../src/trace/scalar.ts";
import { program, runJs, runWasm, type TestProgram } from "../support/trace-runner.ts";
import {
  byTable,
  traceValues,
  VALUE_INPUTS,
  VALUE_OUTPUTS,
  valueInputs,
  valuePrograms,
  type ValueProgram,
} from "../support/trace-values.ts";

const full = process.env.CORRAL_FULL !== undefined;
const made = (p: ValueProgram, wide: boolean): TestProgram =>
  program(VALUE_INPUTS, VALUE_OUTPUTS, (x) => traceValues(p, x), { outputKind: "u32", wide });
const interpreted = (p: TestProgram, precision: "f32" | "f64", rows: number[][]): number[][] =>
  runJs(p, precision, rows, {}, (traced, precise, bindings, count) => {
    for (let world = 0; world < count; world++) interpret(traced, bindings, { precision: precise, world });
  });

test.each([false, true])(
  "JavaScript, WebAssembly and the interpreter compute what the table says (wide: %s)",
  (wide) => {
    fc.assert(
      fc.property(valuePrograms, fc.array(valueInputs, { minLength: 1, maxLength: 9 }), (p, rows) => {
        const kernel = made(p, wide);
        const wanted = rows.map((row) => byTable(kernel.trace, row).map(({ value }) => value));
        expect(runJs(kernel, "f32", rows)).toEqual(wanted);
        expect(runWasm(kernel, rows)).toEqual(wanted);
        expect(interpreted(kernel, "f32", rows)).toEqual(wanted);
        expect(interpreted(kernel, "f64", rows)).toEqual(runJs(kernel, "f64", rows));
      }),
      { numRuns: full ? 20_000 : 1000 },
    );
  },
);

describe.each(["JavaScript", "WebAssembly", "the interpreter"])("in %s", (backEnd) => {
  const run = (fn: (x: t.Scalar[]) => t.Scalar[], rows: number[][]): number[][] => {
    const p = program(rows[0].length, 1, fn);
    if (backEnd === "WebAssembly") return runWasm(p, rows);
    return backEnd === "JavaScript" ? runJs(p, "f32", rows) : interpreted(p, "f32", rows);
  };
  const column = (fn: (x: t.Scalar[]) => t.Scalar, rows: number[][]) => run((x) => [fn(x)], rows).map(([y]) => y);

  test("min and max of NaN are NaN, and -0 is less than 0", () => {
    const pairs = [
      [NaN, 1],
      [1, NaN],
      [-0, 0],
      [0, -0],
      [-Infinity, NaN],
      [Infinity, 1],
    ];
    expect(column(([x, y]) => t.min(x, y), pairs)).toEqual([NaN, NaN, -0, -0, NaN, 1]);
    expect(column(([x, y]) => t.max(x, y), pairs)).toEqual([NaN, NaN, 0, 0, NaN, Infinity]);
  });

  test.each([0, -0, 1, -1.5, 1e-50, Infinity, -Infinity, NaN])("min and max beside %d", (c) => {
    const rows = [NaN, -0, 0, 1, -1.5, 2, -Infinity, Infinity, 1e-40].map((x) => [Math.fround(x)]);
    const wanted = (of: (x: number, y: number) => number) => rows.map(([x]) => of(x, Math.fround(c)));
    expect(column(([x]) => t.min(x, c), rows)).toEqual(wanted(Math.min));
    expect(column(([x]) => t.min(c, x), rows)).toEqual(wanted(Math.min));
    expect(column(([x]) => t.max(x, c), rows)).toEqual(wanted(Math.max));
    expect(column(([x]) => t.max(c, x), rows)).toEqual(wanted(Math.max));
  });

  test("a choice between a number and a zero of either sign, by any condition", () => {
    const rows = [-1, -0, 0, 1, NaN].map((x) => [x, 3]);
    const conditions: ((x: t.Scalar) => t.Bool)[] = [
      (x) => t.gt(x, 0),
      (x) => t.not(t.gt(x, 0)),
      (x) => t.ne(t.toI32(x), 0),
      (x) => t.not(t.ne(t.toI32(x), 0)),
      (x) => t.and(t.not(t.lt(x, 0)), t.ne(t.toI32(x), 1)),
      (x) => t.and(t.ne(x, 0), t.not(t.not(t.lt(x, 1)))),
    ];
    const holds: ((x: number) => boolean)[] = [
      (x) => x > 0,
      (x) => !(x > 0),
      (x) => Math.trunc(x || 0) !== 0,
      (x) => Math.trunc(x || 0) === 0,
      (x) => !(x < 0) && Math.trunc(x || 0) !== 1,
      (x) => x !== 0 && x < 1,
    ];
    conditions.forEach((condition, i) => {
      for (const zero of [0, -0]) {
        const [yes, no] = [rows.map(([x]) => (holds[i](x) ? 3 : zero)), rows.map(([x]) => (holds[i](x) ? zero : 3))];
        expect(column(([x, y]) => t.select(condition(x), y, zero), rows)).toEqual(yes);
        expect(column(([x, y]) => t.select(condition(x), zero, y), rows)).toEqual(no);
      }
    });
  });

  test("comparisons with NaN are false, but for ne", () => {
    const all = [t.lt, t.le, t.gt, t.ge, t.eq, t.ne];
    const told = all.map((fn) =>
      column(
        ([x, y]) => t.select(fn(x, y), 1, 0),
        [
          [NaN, 1],
          [NaN, NaN],
        ],
      ),
    );
    expect(told.map(String)).toEqual(["0,0", "0,0", "0,0", "0,0", "0,0", "1,1"]);
  });

  test("conversions to integers saturate, and NaN is 0; a quotient by 0 is the dividend", () => {
    const rows = [[NaN], [3e9], [-3e9], [1e20], [-1.9]];
    expect(column(([x]) => t.toF32(t.toI32(x)), rows)).toEqual([0, 2 ** 31, -(2 ** 31), 2 ** 31, -1]);
    expect(column(([x]) => t.toF32(t.toU32(x)), rows)).toEqual([0, 3e9, 0, 2 ** 32, 0]);
    expect(
      column(
        ([x, y]) => t.toF32(t.div(t.toI32(x), t.toI32(y))),
        [
          [7, 0],
          [-7, 2],
        ],
      ),
    ).toEqual([7, -3]);
  });
});
