// arrays, tables, buffers and integers of the tracer, by what programs compute and by what is refused
import { describe, expect, test } from "vitest";
import { array, flag, load4, param, store4, table, variable } from "../../../src/trace/control.ts";
import { trace } from "../../../src/trace/graph.ts";
import type { TraceNode } from "../../../src/trace/nodes.ts";
import { add, lt, mul, not, sub, toF32, toI32, type Scalar } from "../../../src/trace/scalar.ts";
import { runBoth as run } from "../../support/trace-runner.ts";

/** Runs `fn` inside a trace. */
const inTrace = (fn: () => void) => void trace(fn);

describe("arrays and tables", () => {
  test("tables of one name and different values are different", () => {
    const fn = ([k]: Scalar[]) => {
      const [a, b] = [table("t", [1, 2, 3]), table("t", [4, 5, 6])];
      const i = toI32(k);
      return [a(i), b(i), table("u", [1, 2, 3])(i), table("same", [9, 9])(i)];
    };
    expect(run(4, fn, [[0], [2]])).toEqual([
      [1, 4, 1, 9],
      [3, 6, 3, 9],
    ]);
  });

  test("integers", () => {
    const fn = ([k]: Scalar[]) => {
      const next = table("next", [2, 0, 1], "i32");
      const list = array("list", 3, "i32");
      list.set(next(toI32(k)), 5);
      return [0, 1, 2].map((i) => toF32(list.get(i)));
    };
    expect(run(3, fn, [[0], [1], [2]])).toEqual([
      [0, 0, 5],
      [5, 0, 0],
      [0, 5, 0],
    ]);
  });

  test("an array starts at zero in every world", () => {
    const fn = ([x]: Scalar[]) => {
      const list = array("list", 2);
      list.set(0, add(list.get(0), x));
      return [list.get(0), list.get(1)];
    };
    expect(run(2, fn, [[1], [2], [3]])).toEqual([
      [1, 0],
      [2, 0],
      [3, 0],
    ]);
  });

  test("constant indices are checked", () => {
    inTrace(() => {
      const list = array("list", 3);
      expect(() => list.get(3)).toThrow("[trace-index] list[3] is outside its 3 elements.");
      expect(() => list.set(-1, 0)).toThrow("[trace-index]");
      expect(() => list.get(0.5)).toThrow("[trace-index]");
      expect(() => table("t", [1, 2])(2)).toThrow("[trace-index] t[2] is outside its 2 elements.");
    });
  });
});

describe("buffers", () => {
  test("reads see the writes before them, not those after", () => {
    const fn = ([x]: Scalar[]) => {
      const at = 0;
      const old = load4("memory", at)[0];
      store4("memory", at, [x, 0, 0, 0]);
      const now = load4("memory", at)[0];
      store4("memory", at, [add(now, 1), 0, 0, 0]);
      return [old, now, load4("memory", at)[0]];
    };
    // every world writes the first four of the buffer, one after the other
    expect(run(3, fn, [[5], [7]])).toEqual([
      [0, 5, 6],
      [6, 7, 8],
    ]);
  });

  test("a buffer bound for reading is not written", () => {
    inTrace(() => {
      load4("memory", 0, "f32", "read");
      expect(() => store4("memory", 0, [0, 0, 0, 0])).toThrow("[trace-access]");
    });
  });
});

test("types of what is assigned", () => {
  inTrace(() => {
    const i = param("i", "i32");
    expect(() => variable("v", i)).toThrow("[trace-type] v holds f32 and is given i32. Declare it as i32, or convert.");
    expect(() => array("a", 2).set(0, i)).toThrow("[trace-type]");
    expect(() => store4("memory", 0, [i, 0, 0, 0])).toThrow("[trace-type]");
    expect(variable("w", i, "i32").get()).toBe(i);
    const done = flag("done", false);
    done.set(lt(i, 3));
    expect((not(done.get()) as TraceNode).type).toBe("bool");
  });
});

test("integers as a kernel computes them", () => {
  const fn = ([x, y]: Scalar[]) => {
    const [i, j] = [toI32(x), toI32(y)];
    return [toF32(add(i, j)), toF32(mul(i, j)), toF32(sub(i, j)), toF32(i)];
  };
  expect(
    run(4, fn, [
      [7.9, -2.9],
      [3e9, 1],
      [-4e9, 0],
    ]),
  ).toEqual([
    [5, -14, 9, 7],
    [-2147483648, 2147483647, 2147483646, 2147483647],
    [-2147483648, 0, -2147483648, -2147483648],
  ]);
});
