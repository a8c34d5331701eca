// blocks, variables and loops of the tracer, by what programs compute and by what is refused
import { describe, expect, test } from "vitest";
import { array, breakIf, each, flag, loop, param, store4, table, variable, when } from "../../../src/trace/control.ts";
import { trace } from "../../../src/trace/graph.ts";
import {
  add,
  eq,
  gt,
  isNode,
  lt,
  mul,
  select,
  sub,
  toF32,
  toI32,
  type Int,
  type Scalar,
} from "../../../src/trace/scalar.ts";
import { runBoth as run } from "../../support/trace-runner.ts";

/** Runs `fn` inside a trace. */
const inTrace = (fn: () => void, unroll = true) => void trace(fn, { unroll });

describe("variables", () => {
  test("reads are the assigned value within a block", () => {
    inTrace(() => {
      const x = param("x");
      const v = variable("v", 3);
      expect(v.get()).toBe(3);
      v.set(x);
      expect(v.get()).toBe(x);
      expect(variable("w").get()).toBe(0);
      expect(flag("f", false).get()).toBe(false);
    });
  });

  test("a branch knows what was assigned before it, and what follows no longer does", () => {
    inTrace(() => {
      const v = variable("v", 1);
      const w = variable("w", 2);
      when(
        lt(param("x"), 0),
        () => {
          expect(v.get()).toBe(1);
          v.set(5);
          expect(v.get()).toBe(5);
        },
        () => expect(v.get()).toBe(1),
      );
      expect(isNode(v.get())).toBe(true);
      expect(w.get()).toBe(2);
    });
  });

  test("branches set what they set", () => {
    const fn = ([x]: Scalar[]) => {
      const v = variable("v", 1);
      const w = variable("w");
      when(
        gt(x, 0),
        () => v.set(add(v.get(), x)),
        () => w.set(7),
      );
      when(gt(x, 10), () => when(gt(x, 20), () => v.set(-1)));
      return [v.get(), w.get()];
    };
    expect(run(2, fn, [[-1], [0], [3], [15], [25]])).toEqual([
      [1, 7],
      [1, 7],
      [4, 0],
      [16, 0],
      [-1, 0],
    ]);
  });

  test("a known condition leaves no branch", () => {
    const made = trace(() => {
      const v = variable("v", 0);
      when(
        true,
        () => v.set(1),
        () => v.set(2),
      );
      expect(v.get()).toBe(1);
      when(false, () => v.set(3));
      expect(v.get()).toBe(1);
    });
    expect(made.root.statements.some((s) => s.kind === "when")).toBe(false);
  });

  test("loops carry them from turn to turn", () => {
    const fn = ([x, n]: Scalar[]) => {
      const [a, b] = [variable("a", 0), variable("b", 1)];
      loop(toI32(n), () => {
        const next = add(a.get(), b.get());
        a.set(b.get());
        b.set(next);
      });
      return [a.get(), mul(b.get(), x)];
    };
    expect(
      run(2, fn, [
        [1, 0],
        [1, 1],
        [2, 10],
      ]),
    ).toEqual([
      [0, 1],
      [1, 1],
      [55, 178],
    ]);
  });

  test("a loop body does not know what held before the loop", () => {
    inTrace(() => {
      const v = variable("v", 1);
      loop(param("n", "i32"), () => {
        expect(isNode(v.get())).toBe(true);
        v.set(2);
        expect(v.get()).toBe(2);
        when(lt(param("x"), 0), () => expect(v.get()).toBe(2));
      });
      expect(isNode(v.get())).toBe(true);
    });
  });

  test("nested loops, with a variable set once in each", () => {
    const fn = ([n]: Scalar[]) => {
      const total = variable("total", 0);
      const first = variable("first");
      loop(toI32(n), (i) => {
        const here = mul(toF32(i), 10);
        first.set(here);
        loop(3, (j) => {
          total.set(add(total.get(), add(first.get(), toF32(j))));
        });
      });
      return [total.get(), first.get()];
    };
    expect(run(2, fn, [[0], [1], [3]])).toEqual([
      [0, 0],
      [3, 0],
      [99, 20],
    ]);
  });

  test("without an initial value they keep theirs between the turns of a loop", () => {
    const fn = ([n]: Scalar[]) => {
      const out = variable("out", 0);
      loop(toI32(n), () => {
        const v = variable("v");
        v.set(add(v.get(), 1));
        out.set(v.get());
      });
      return [out.get()];
    };
    expect(run(1, fn, [[0], [1], [4]])).toEqual([[0], [1], [4]]);
  });

  test("a value read before the assignment that follows it stays", () => {
    const fn = ([x, n]: Scalar[]) => {
      const v = variable("v", 0);
      let before: Scalar = 0;
      let sum: Scalar = 0;
      when(gt(n, 0), () => v.set(x));
      before = v.get();
      sum = add(before, 1);
      v.set(100);
      return [before, sum, v.get()];
    };
    expect(
      run(3, fn, [
        [5, 1],
        [5, 0],
      ]),
    ).toEqual([
      [5, 6, 100],
      [0, 1, 100],
    ]);
  });
});

describe("elements of arrays", () => {
  test("are known until something may have written to the array", () => {
    inTrace(() => {
      const a = array("a", 4);
      const [i, j, x] = [param("i", "i32"), param("j", "i32"), param("x")];
      const first = a.get(i);
      expect(a.get(i)).toBe(first);
      expect(a.get(j)).not.toBe(first);
      when(lt(x, 0), () => expect(a.get(i)).toBe(first));
      loop(3, () => expect(a.get(i)).not.toBe(first));
      a.set(j, x);
      expect(a.get(j)).toBe(x);
      expect(a.get(i)).not.toBe(first);
      const second = a.get(i);
      when(
        lt(x, 0),
        () => a.set(0, 1),
        () => expect(a.get(i)).toBe(second),
      );
      expect(a.get(i)).not.toBe(second);
      expect(a.get(j)).not.toBe(x);
    });
  });

  test("are what they were where indices meet", () => {
    const fn = ([x, y]: Scalar[]) => {
      const a = array("a", 3);
      const [i, j] = [toI32(x), toI32(y)];
      a.set(i, 5);
      const before = a.get(i);
      a.set(j, 7);
      when(gt(y, 1), () => a.set(i, 9));
      return [before, a.get(i), a.get(j)];
    };
    const rows = [
      [0, 0],
      [0, 1],
      [2, 2],
      [1, 2],
    ];
    expect(run(3, fn, rows)).toEqual([
      [5, 7, 7],
      [5, 5, 7],
      [5, 9, 9],
      [5, 9, 7],
    ]);
  });
});

describe("loops", () => {
  test("each gives the same unrolled and rolled", () => {
    const fn = ([x]: Scalar[]) => {
      const values = table("values", [2, 3, 5, 7, 11]);
      const sum = variable("sum", 0);
      const list = array("list", 5);
      each(5, (i) => {
        sum.set(add(mul(sum.get(), x), values(i)));
        list.set(i, sum.get());
      });
      each(4, (i) => list.set(i, sub(list.get(i), list.get(add(i, 1)))), { start: 1 });
      return [sum.get(), ...[0, 1, 2, 3, 4].map((i) => list.get(i))];
    };
    expect(run(6, fn, [[0], [2]])).toEqual([naive(0), naive(2)]);
  });

  test("breakIf leaves the innermost", () => {
    const fn = ([limit]: Scalar[]) => {
      const count = variable("count", 0);
      const outer = variable("outer", 0);
      loop(4, (i) => {
        loop(10, (j) => {
          breakIf(gt(toF32(j), limit));
          count.set(add(count.get(), 1));
        });
        when(eq(i, 2), () => breakIf(gt(limit, 5)));
        outer.set(add(outer.get(), 1));
      });
      return [count.get(), outer.get()];
    };
    expect(run(2, fn, [[-1], [3], [6], [100]])).toEqual([
      [0, 4],
      [16, 4],
      [21, 2],
      [30, 2],
    ]);
  });

  test("a loop that cannot run is not recorded, and one turn of each is unrolled", () => {
    const made = trace(
      () => {
        loop(0, () => expect.unreachable());
        loop(3, () => expect.unreachable(), { start: 3 });
        each(0, () => expect.unreachable());
        each(1, (i) => expect(i).toBe(0));
      },
      { unroll: false },
    );
    expect(made.root.statements).toEqual([]);
  });

  test("starts known only at run time", () => {
    const fn = ([start]: Scalar[]) => {
      const sum = variable("sum", 0);
      loop(5, (i) => sum.set(add(sum.get(), toF32(i))), { start: toI32(start) });
      return [sum.get()];
    };
    expect(run(1, fn, [[0], [3], [5], [9], [-2]])).toEqual([[10], [7], [0], [0], [7]]);
  });

  test("bounds that are chosen at run time", () => {
    const fn = ([limit]: Scalar[]) => {
      const sum = variable("sum", 0);
      loop(select(gt(limit, 2), 0, toI32(limit)), (i) => sum.set(add(sum.get(), toF32(add(i, 1)))));
      return [sum.get()];
    };
    expect(run(1, fn, [[0], [2], [3], [7]])).toEqual([[0], [3], [0], [0]]);
  });

  test("refusals", () => {
    inTrace(() => {
      expect(() => breakIf(true)).toThrow(
        "[trace-break] breakIf was called outside any loop. Call it in the body of loop().",
      );
      loop(3, () => {
        each(2, () => expect(() => breakIf(lt(param("x"), 0))).toThrow("[trace-break] breakIf was called inside each"));
        breakIf(lt(param("x"), 0));
      });
    });
    inTrace(() => each(3, () => expect(() => breakIf(false)).toThrow("[trace-break]")), false);
  });
});

/** The list of the test above. */
function naive(x: number): number[] {
  const list: number[] = [];
  let sum = 0;
  for (const v of [2, 3, 5, 7, 11]) list.push((sum = sum * x + v));
  for (let i = 1; i < 4; i++) list[i] -= list[i + 1];
  return [sum, ...list];
}

describe("scopes", () => {
  test("what a branch or loop made is not seen outside it", () => {
    inTrace(() => {
      const x = param("x");
      let inside!: Scalar;
      when(lt(x, 0), () => {
        inside = add(x, 1);
        expect(add(x, 1)).toBe(inside);
      });
      expect(() => mul(inside, 2)).toThrow(
        "[trace-scope] a value (add) is used outside the branch, loop or trace it was made in. Carry it out in a variable().",
      );
      expect(() => variable("v", inside)).toThrow("[trace-scope]");
      expect(() => store4("memory", 0, [inside, 0, 0, 0])).toThrow("[trace-scope]");
      expect(() => when(lt(inside, 0), () => {})).toThrow("[trace-scope]");
      expect(() => array("list", 2).set(0, inside)).toThrow("[trace-scope]");

      // the same expression is made again
      const again = add(x, 1);
      expect(again).not.toBe(inside);
      when(lt(x, 5), () => expect(add(x, 1)).toBe(again));

      let index!: Int;
      loop(3, (i) => (index = i));
      expect(() => add(index, 1)).toThrow("[trace-scope]");
    });
  });

  test("the two branches of a when do not share", () => {
    inTrace(() => {
      const x = param("x");
      const made: Scalar[] = [];
      when(
        lt(x, 0),
        () => made.push(mul(x, 3)),
        () => made.push(mul(x, 3)),
      );
      expect(made[0]).not.toBe(made[1]);
    });
  });
});
