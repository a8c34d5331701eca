// programs operation by operation: what JavaScript computes, also of a program that was stored; and where bad numbers come from
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import "../../envs/index.ts";
import { planVecKernels } from "../../src/env/index.ts";
import { pack } from "../../src/record/pack.ts";
import { unpack } from "../../src/record/unpack.ts";
import { array, loop, stage, table, variable } from "../../src/trace/control.ts";
import type { Trace } from "../../src/trace/graph.ts";
import { interpret, interpreted, type Interpretation } from "../../src/trace/interpret.ts";
import {
  div,
  toI32,
  eq,
  mul,
  select,
  sqrt,
  sub,
  bitcastU32,
  toF32,
  band,
  add,
  type Scalar,
} from "../../src/trace/scalar.ts";
import { loadTrace } from "../../src/trace/load.ts";
import { storeTrace } from "../../src/trace/store.ts";
import { toWgsl } from "../../src/trace/wgsl.ts";
import { INPUTS, MEMORY, OUTPUTS, programs, runTraced } from "../support/trace-programs.ts";
import { program, runJs } from "../support/trace-runner.ts";

const full = process.env.CORRAL_FULL !== undefined;
const inputs = fc.array(fc.integer({ min: -32, max: 31 }), { minLength: INPUTS, maxLength: INPUTS });
const rows = fc.array(inputs, { minLength: 1, maxLength: 4 });
const stored = (made: Trace) => loadTrace(unpack(pack(storeTrace(made)), "the program"));
const code = (made: Trace) => toWgsl(made, { workgroupSize: 32, title: "test" }).code;

describe.each([true, false])("unrolled: %s", (unroll) => {
  test.each(["f64", "f32", "wide"] as const)("random programs in %s, as they are and stored", (kind) => {
    const wide = kind === "wide";
    const precision = wide ? "f32" : kind;
    fc.assert(
      fc.property(programs(), rows, (body, worlds) => {
        const p = program(INPUTS, OUTPUTS, (x) => runTraced(body, x), { unroll, wide });
        const wanted = runJs(p, precision, worlds, { memory: MEMORY });
        for (const made of [p.trace, stored(p.trace)]) {
          const got = runJs(p, precision, worlds, { memory: MEMORY }, (_, precise, bindings, count) => {
            for (let world = 0; world < count; world++) interpret(made, bindings, { precision: precise, world });
          });
          expect(got).toEqual(wanted);
        }
      }),
      { numRuns: full ? 4000 : 200 },
    );
  });

  test("stored programs emit the same code", () => {
    fc.assert(
      fc.property(programs(), (body) => {
        const { trace: made } = program(INPUTS, OUTPUTS, (x) => runTraced(body, x), { unroll });
        expect(code(stored(made))).toBe(code(made));
      }),
      { numRuns: full ? 2000 : 100 },
    );
  });
});

test("the kernels of an environment, stored, emit the same code", async () => {
  const { traces } = await planVecKernels("Hopper-v5", { numEnvs: 1 });
  for (const made of traces.values()) expect(code(stored(made))).toBe(code(made));
});

test("reads of a long table share it", () => {
  const { trace: made } = program(1, 1, (x) => {
    const values = table(
      "values",
      Float64Array.from({ length: 100_000 }, (_, i) => i),
    );
    const read = Array.from({ length: 500 }, (_, i) => values(toI32(add(x[0], i))));
    return [read.reduce((sum, value) => add(sum, value))];
  });
  const before = process.memoryUsage().heapUsed + process.memoryUsage().external;
  const run = interpreted(made, "f32");
  const taken = process.memoryUsage().heapUsed + process.memoryUsage().external - before;
  // 500 tables of their own are 400 MB
  expect(taken).toBeLessThan(64e6);
  const buffers = { inputs: new Float64Array(4), outputs: new Float64Array(4) };
  run({ buffers, params: new Float64Array(4) });
  expect(buffers.outputs[0]).toBe((499 * 500) / 2);
});

describe("where a number that is not finite comes from", () => {
  const run = (fn: (x: Scalar[]) => Scalar[], x: number[]): Interpretation => {
    const p = program(x.length, 1, (given) => {
      const [y] = fn(given);
      return [toF32(band(bitcastU32(y), 0x7f800000))];
    });
    let found: Interpretation | undefined;
    runJs(p, "f32", [x], {}, (made, precision, bindings) => {
      found = interpret(made, bindings, { precision });
    });
    return found!;
  };

  test("the operation, its stage, its operands, and the turn of each loop", () => {
    const { findings, assignments } = run(
      ([a, b]) => {
        const field = array("qacc", 3);
        stage("solver", () => loop(3, (i) => field.set(i, div(a, sub(toF32(i), b))), { label: "steps" }));
        const sum = variable("reward", 0);
        stage("task", () => sum.set(mul(add(field.get(0), field.get(1)), 2)));
        return [sum.get()];
      },
      [5, 1],
    );
    expect(findings).toMatchObject([
      {
        stage: "task",
        value: Infinity,
        origin: {
          op: "div",
          stage: "solver",
          operands: [{ value: 5 }, { value: 0 }],
          loops: [{ label: "steps", index: 1 }],
        },
      },
    ]);
    expect(assignments.map(({ name, element, stage: at }) => [name, element, at])).toEqual([
      ["qacc", 1, "solver"],
      ["reward", undefined, "task"],
    ]);
  });

  test("what no one chooses is no culprit", () => {
    const { findings } = run(([a, b]) => [select(eq(b, 0), 7, div(a, b))], [1, 0]);
    expect(findings).toEqual([]);
  });

  test("a buffer that held it", () => {
    const { findings } = run(([a, b]) => [mul(sqrt(a), b)], [Infinity, 2]);
    expect(findings).toMatchObject([{ origin: { op: "load", name: "inputs[0]", value: Infinity } }]);
  });
});
