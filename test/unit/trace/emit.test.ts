// the text that back ends emit: what is left out, names, literals, costs; every kernel compiles with no driver
import { expect, test } from "vitest";
import { compileOnNull } from "../../../src/gpu/compile-on-null.ts";
import {
  array,
  breakIf,
  each,
  flag,
  load4,
  loop,
  param,
  stage,
  store4,
  table,
  variable,
  when,
  world,
} from "../../../src/trace/control.ts";
import { costOf } from "../../../src/trace/cost.ts";
import { trace, type Trace } from "../../../src/trace/graph.ts";
import { toJavaScript } from "../../../src/trace/javascript.ts";
import * as t from "../../../src/trace/scalar.ts";
import { f32Literal, toWgsl } from "../../../src/trace/wgsl.ts";
import { program, runJs, testKernel } from "../../support/trace-runner.ts";

const wgsl = (made: Trace): string => toWgsl(made, { workgroupSize: 32 }).code;
/** The lines of the entry point after the world's index. */
const body = (made: Trace): string => {
  const code = wgsl(made);
  return code.slice(code.indexOf("return; }") + 10);
};
const javascript = (made: Trace): string =>
  toJavaScript(made, "f32", { buffers: {}, params: new Float64Array(9) }).source;
const out = (...values: t.Scalar[]) => {
  const at = (k: number) => values[k] ?? 0;
  store4("out", world(), [at(0), at(1), at(2), at(3)]);
};

/** A program with one of everything. */
function everything(): void {
  const x = stage("read", () => load4("state", world()));
  const list = array("list", 4);
  const weights = table("weights", [1, 2, 4, 8]);
  const sum = variable("sum", 0);
  const done = flag("done", false);
  stage("loop", () => {
    each(4, (i) => list.set(i, t.mul(x[0], weights(i))));
    loop(4, (i) => {
      breakIf(done.get());
      const value = list.get(i);
      when(
        t.gt(value, x[1]),
        () => sum.set(t.add(sum.get(), value)),
        () => done.set(t.isFinite32(value)),
      );
    });
  });
  stage("write", () => out(sum.get(), t.mul(param("timestep"), x[2]), t.toF32(t.firstTrailingBit(t.bitcastU32(x[3])))));
}

test("straight-line WGSL", async () => {
  const made = trace(everything);
  expect(body(made)).toMatchInlineSnapshot(`
    "  var v0_sum: f32;
      var v1_done: bool;
      var a0_list: array<f32, 4>;

      // read
      let t_0 = world;
      let t_1 = bitcast<vec4<f32>>(state[t_0]);
      v0_sum = 0.0;
      v1_done = false;

      // loop
      a0_list[0] = t_1.x;
      a0_list[1] = t_1.x * 2.0;
      a0_list[2] = t_1.x * 4.0;
      a0_list[3] = t_1.x * 8.0;
      for (var i_10 = 0; i_10 < 4 + U.zero; i_10++) {
        let t_11 = v1_done;
        if (t_11) { break; }
        if (!(t_11)) {
          let t_12 = a0_list[i_10];
          if (t_12 > t_1.y) {
            let t_14 = v0_sum;
            v0_sum = t_12 + t_14;
          } else {
            v1_done = (bitcast<u32>(t_12) & 2139095040u) != 2139095040u;
          }
        }
      }

      // write
      let t_19 = v0_sum;
      out[t_0] = bitcast<vec4<u32>>(vec4<f32>(t_19, t_1.z * U.timestep, f32(i32(firstTrailingBit(bitcast<u32>(t_1.w)))), 0.0));
    }
    "
  `);
  await compileOnNull(wgsl(made), "everything", ["main"]);
});

test("rolled WGSL", async () => {
  const made = trace(everything, { unroll: false });
  expect(body(made)).toMatchInlineSnapshot(`
    "  var v0_sum: f32;
      var v1_done: bool;
      var a0_list: array<f32, 4>;

      // read
      let t_0 = world;
      let t_1 = bitcast<vec4<f32>>(state[t_0]);
      v0_sum = 0.0;
      v1_done = false;

      // loop
      for (var i_7 = 0; i_7 < 4 + U.zero; i_7++) {
        a0_list[i_7] = t_1.x * bitcast<f32>(tables_f[(i_7) >> 2u][(i_7) & 3]);
      }
      for (var i_10 = 0; i_10 < 4 + U.zero; i_10++) {
        let t_11 = v1_done;
        if (t_11) { break; }
        if (!(t_11)) {
          let t_12 = a0_list[i_10];
          if (t_12 > t_1.y) {
            let t_14 = v0_sum;
            v0_sum = t_12 + t_14;
          } else {
            v1_done = (bitcast<u32>(t_12) & 2139095040u) != 2139095040u;
          }
        }
      }

      // write
      let t_19 = v0_sum;
      out[t_0] = bitcast<vec4<u32>>(vec4<f32>(t_19, t_1.z * U.timestep, f32(i32(firstTrailingBit(bitcast<u32>(t_1.w)))), 0.0));
    }
    "
  `);
  await compileOnNull(wgsl(made), "everything", ["main"]);
});

test("loops whose body is light test first; others at their end", () => {
  /** A loop whose body has so many statements, of which those after the first may be left out. */
  const looped = (statements: number, leaves: boolean, bound?: t.Int) => () => {
    const sum = variable("sum", 0);
    loop(bound ?? 4, (i) => {
      if (leaves) breakIf(t.gt(i, 2));
      for (let k = 0; k < statements; k++) when(t.gt(i, k), () => sum.set(t.add(sum.get(), t.toF32(i))));
    });
    out(sum.get());
  };
  const testsFirst = (program: () => void) => body(trace(program)).includes("for (");
  expect(testsFirst(looped(8, false))).toBe(true);
  expect(testsFirst(looped(80, false))).toBe(false);
  expect(testsFirst(looped(80, true))).toBe(true);
  // no turn at all may be needed
  const none = () => looped(8, false, param("count", "i32"))();
  expect(testsFirst(none)).toBe(false);
  expect(body(trace(none))).toContain("if (0 < U.count) {");
});

test("conjunctions of comparisons do not branch", async () => {
  const made = trace(() => {
    const [x, y, z] = load4("state", world());
    out(t.select(t.or(t.and(t.lt(x, y), t.not(t.lt(y, z))), t.eq(x, z)), 1, 0, "f32"));
  });
  expect(body(made)).toMatchInlineSnapshot(`
    "  let t_0 = world;
      let t_1 = bitcast<vec4<f32>>(state[t_0]);
      let t_12 = select(0.0, 1.0, (((t_1.x < t_1.y) & (!(t_1.y < t_1.z))) | (t_1.x == t_1.z)));
      out[t_0] = bitcast<vec4<u32>>(vec4<f32>(t_12, 0.0, 0.0, 0.0));
    }
    "
  `);
  await compileOnNull(wgsl(made), "conjunctions", ["main"]);
});

test("a write at run time parts the zeros of many elements", async () => {
  const lengths = [300, 1, 300, 200];
  const made = trace(() => {
    const [put, got] = load4("state", world()).map(t.toI32);
    const lists = lengths.map((length, k) => array(`list${k}`, length, k === 2 ? "i32" : "f32"));
    lists.forEach((list, k) => list.set(put, k));
    out(...lists.map((list) => t.toF32(list.get(got))));
  });
  const zeros = body(made)
    .split("\n")
    .filter((line) => /var |U.zero/.test(line));
  expect(zeros.map((line) => line.trim())).toEqual([
    "var a0_list0 = array<f32, 300>();",
    "var a1_list1 = array<f32, 1>();",
    "a0_list0[U.zero] = 0.0;",
    "var a2_list2 = array<i32, 300>();",
    "var a3_list3 = array<f32, 200>();",
  ]);
  await compileOnNull(wgsl(made), "arrays", ["main"]);
});

test("JavaScript in float32", () => {
  expect(javascript(trace(everything, { unroll: false }))).toMatchInlineSnapshot(`
    ""use strict";
    const { fround } = Math;
    let turns = 0;
    const B_state = B.state;
    const B_out = B.out;
    const a0_list = new Float64Array(4);
    return (function kernel(world) {
      a0_list.fill(0);
      let v0_sum = 0;
      let v1_done = false;

      // read
      const t_0 = world;
      const t_1 = t_0 * 4;
      const t_2 = fround(B_state[t_1 + 0]);
      const t_3 = fround(B_state[t_1 + 1]);
      const t_4 = fround(B_state[t_1 + 2]);
      const t_5 = fround(B_state[t_1 + 3]);
      v0_sum = 0;
      v1_done = false;

      // loop
      for (let i_7 = 0; i_7 < 4; i_7++) {
        a0_list[i_7] = fround((t_2 * T_f32[i_7 + 0]));
      }
      for (let i_10 = 0; i_10 < 4; i_10++) {
        const t_11 = v1_done;
        if (t_11) { break; }
        if (!(t_11)) {
          const t_12 = a0_list[i_10];
          if (t_12 > t_3) {
            const t_14 = v0_sum;
            v0_sum = fround((t_12 + t_14));
          } else {
            v1_done = ((bitsOf(t_12) & 2139095040) >>> 0) !== 2139095040;
          }
        }
      }

      // write
      const t_19 = v0_sum;
      B_out[(t_0) * 4 + 0] = t_19;
      B_out[(t_0) * 4 + 1] = fround((t_4 * fround(P[2])));
      B_out[(t_0) * 4 + 2] = fround(Number((31 - Math.clz32(bitsOf(t_5) & -bitsOf(t_5)))));
      B_out[(t_0) * 4 + 3] = 0;
    });"
  `);
});

test("costs", () => {
  expect(costOf(trace(everything, { unroll: false }))).toMatchInlineSnapshot(`
    {
      "arithmetic": 11,
      "branches": 1,
      "indexed": 2,
      "loads": 1,
      "loops": 2,
      "operations": {
        "add": 1,
        "band": 1,
        "bitcast_u32": 2,
        "ctz": 1,
        "f32": 1,
        "gt": 1,
        "mul": 2,
        "ne": 1,
        "table": 1,
      },
      "squares": 16,
      "stages": {
        "loop": 7,
        "write": 4,
      },
      "stores": 1,
    }
  `);
});

test("a constant that reaches a loop through a variable makes no constant expression", async () => {
  const made = trace(() => {
    const [n] = load4("state", world());
    const zero = variable("zero", 0);
    const sum = variable("sum", 0);
    const list = array("list", 2);
    const index = variable("index", 7, "i32");
    // 1 / 0 and list[7] are errors of a WGSL compiler, even if they are not reached
    loop(t.toI32(n), () => {
      when(t.ne(zero.get(), 0), () => sum.set(t.add(t.div(1, zero.get()), list.get(index.get()))));
    });
    list.set(t.toI32(n), 1);
    out(sum.get());
  });
  await compileOnNull(wgsl(made), "constants", ["main"]);
});

test("any name may be given", async () => {
  const names = [
    "for",
    "min",
    "let",
    "in",
    "fround",
    "world",
    "U",
    "gid",
    "main",
    "vec4",
    "t",
    "t_5",
    "v0_for",
    "state",
    "out",
  ];
  const odd = [
    "joint.hip-1",
    "ä ö",
    "1st",
    "_",
    "__x",
    "",
    "x_1",
    "x_1",
    "this",
    "B",
    "tables_f",
    "kernel",
    "timestep",
  ];
  const p = program(2, 1, ([x, y]) => {
    let sum: t.Scalar = 0;
    [...names, ...odd].forEach((name, k) => {
      const v = variable(name);
      const list = array(name, 2);
      v.set(t.add(t.mul(x, k + 2), y));
      list.set(t.toI32(x), v.get());
      when(t.gt(y, k), () => v.set(t.add(v.get(), 1)));
      sum = t.add(sum, t.mul(t.add(v.get(), list.get(1)), v.get()));
    });
    return [t.add(sum, param("timestep"))];
  });
  await compileOnNull(testKernel(p).code, "names", ["main"]);
  const want = [...names, ...odd].reduce((sum, _, k) => {
    const v = k + 2 + 3;
    const after = 3 > k ? v + 1 : v;
    return sum + (after + v) * after;
  }, 0);
  expect(runJs(p, "f64", [[1, 3]])).toEqual([[want]]);
});

test("the shortest literals that read back as the same float32", () => {
  const cases: [number, string][] = [
    [0, "0.0"],
    [-0, "0.0"],
    [1, "1.0"],
    [0.1, "0.1"],
    [1 / 3, "0.33333334"],
    [1e10, "10000000000.0"],
    [1e30, "1e+30"],
    [16777217, "16777216.0"],
    [1e-40, "0.0"],
    [2 ** -126, "1.1754944e-38"],
    [1e300, "3.4028234663852886e+38"],
    [-1e300, "-3.4028234663852886e+38"],
  ];
  for (const [x, text] of cases) expect(f32Literal(x)).toBe(text);
  for (let k = -120; k < 120; k++) {
    const x = Math.fround(1.2345678 * 2 ** k);
    expect(Math.fround(Number(f32Literal(x)))).toBe(x);
  }
});

test("host numbers are rounded where a float32 kernel reads them", () => {
  const p = program(1, 3, ([x]) => [x, param("timestep"), t.toF32(param("count", "i32"))]);
  const params = { timestep: 0.1, count: 16777217 };
  expect(runJs(p, "f32", [[0.2]], { params })).toEqual([[Math.fround(0.2), Math.fround(0.1), 16777216]]);
  expect(runJs(p, "f64", [[0.2]], { params })).toEqual([[0.2, 0.1, 16777217]]);
});

test("a kernel of more values than a thread's stack holds runs in JavaScript", () => {
  const count = 130_000;
  const p = program(1, 2, ([x]) => {
    // used twice, so that each has a name; in a branch, so that variables stay
    const values = Array.from({ length: count }, (_, i) => t.add(x, i));
    const last = variable("last", 0);
    when(t.gt(x, 0), () => last.set(values[count - 1]));
    return [values.reduce<t.Scalar>((sum, v) => t.add(sum, t.mul(v, v)), 0), last.get()];
  });
  const squares = (count * (count + 1) * (2 * count + 1)) / 6;
  expect(runJs(p, "f64", [[1]])).toEqual([[squares, count]]);
});
