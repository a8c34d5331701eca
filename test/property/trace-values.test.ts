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
const made = (p: ValueProgram): TestProgram =>
  program(VALUE_INPUTS, VALUE_OUTPUTS, (x) => traceValues(p, x), { outputKind: "u32" });
const interpreted = (p: TestProgram, precision: "f32" | "f64", rows: number[][]): number[][] =>
  runJs(p, precision, rows, {}, (traced, precise, bindings, count) => {
    for (let world = 0; world < count; world++) interpret(traced, bindings, { precision: precise, world });
  });

test("JavaScript, WebAssembly and the interpreter compute what the table says", () => {
  fc.assert(
    fc.property(valuePrograms, fc.array(valueInputs, { minLength: 1, maxLength: 9 }), (p, rows) => {
      const kernel = made(p);
      const wanted = rows.map((row) => byTable(kernel.trace, row).map(({ value }) => value));
      expect(runJs(kernel, "f32", rows)).toEqual(wanted);
      expect(runWasm(kernel, rows)).toEqual(wanted);
      expect(interpreted(kernel, "f32", rows)).toEqual(wanted);
      expect(interpreted(kernel, "f64", rows)).toEqual(runJs(kernel, "f64", rows));
    }),
    { numRuns: full ? 20_000 : 1000 },
  );
});

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
