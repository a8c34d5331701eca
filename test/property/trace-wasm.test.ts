// WebAssembly gives the bits of JavaScript in float32: random programs, and the kernels of environments
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import "../../envs/index.ts";
import { planVecKernels } from "../../src/env/index.ts";
import { array, breakIf, loop, table, variable, when } from "../../src/trace/control.ts";
import * as math from "../../src/trace/math.ts";
import * as t from "../../src/trace/scalar.ts";
import { toWasm } from "../../src/trace/wasm/index.ts";
import { INPUTS, MEMORY, OUTPUTS, programs, runTraced } from "../support/trace-programs.ts";
import { asWasm, program, runJs, runWasm, type Lists } from "../support/trace-runner.ts";

const full = process.env.CORRAL_FULL !== undefined;
const inputs = fc.array(fc.integer({ min: -32, max: 31 }), { minLength: INPUTS, maxLength: INPUTS });
const rows = fc.array(inputs, { minLength: 1, maxLength: 9 });

describe.each([true, false])("unrolled: %s", (unroll) => {
  test("random programs, in which worlds part", () => {
    fc.assert(
      fc.property(programs(), rows, (body, worlds) => {
        const p = program(INPUTS, OUTPUTS, (x) => runTraced(body, x), { unroll });
        expect(runWasm(p, worlds, { memory: MEMORY })).toEqual(runJs(p, "f32", worlds, { memory: MEMORY }));
      }),
      { numRuns: full ? 10_000 : 500 },
    );
  });

  test("random programs in float64 between float32", () => {
    fc.assert(
      fc.property(programs(), rows, (body, worlds) => {
        const p = program(INPUTS, OUTPUTS, (x) => runTraced(body, x), { unroll, wide: true });
        expect(runWasm(p, worlds, { memory: MEMORY })).toEqual(runJs(p, "f32", worlds, { memory: MEMORY }));
      }),
      { numRuns: full ? 10_000 : 500 },
    );
  });
});

test("a wide program keeps in float64 what it does not write", () => {
  const narrow = program(1, 1, ([x]) => [t.sub(t.add(x, 1), x)]);
  const wide = program(1, 1, ([x]) => [t.sub(t.add(x, 1), x)], { wide: true });
  expect(runWasm(narrow, [[2 ** 30]])).toEqual([[0]]);
  expect(runWasm(wide, [[2 ** 30]])).toEqual([[1]]);
  // tables, constants and arrays too; results are rounded
  const third = program(
    1,
    2,
    ([x]) => {
      const list = array("list", 2);
      list.set(t.toI32(x), t.div(1, 3));
      return [t.sub(list.get(t.toI32(x)), Math.fround(1 / 3)), list.get(t.toI32(x))];
    },
    { wide: true },
  );
  expect(runWasm(third, [[0], [1]])).toEqual(
    Array(2).fill([Math.fround(1 / 3 - Math.fround(1 / 3)), Math.fround(1 / 3)]),
  );
});

test("indices out of range touch nobody's memory in a wide program", () => {
  const p = program(
    1,
    2,
    ([x]) => {
      const list = array("list", 3);
      list.set(t.toI32(x), 7);
      return [list.get(0), list.get(2)];
    },
    { wide: true },
  );
  expect(runWasm(p, [[-1], [3], [2e9], [2]])).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 7],
  ]);
});

test.each([false, true])("where worlds part a variable is replaced, or keeps what it holds (wide: %s)", (wide) => {
  const p = program(
    2,
    3,
    ([x, y]) => {
      const [least, kept, most] = ["least", "kept", "most"].map((name) => variable(name, 0));
      when(t.gt(x, 0), () => {
        const turns = t.toI32(y);
        loop(turns, (i) => {
          const here = t.mul(t.sub(t.toF32(i), x), t.sub(t.toF32(i), x));
          least.set(t.select(t.lt(here, t.add(x, least.get())), here, least.get()));
          most.set(t.select(t.not(t.ne(i, 2)), most.get(), t.add(most.get(), here)));
          kept.set(t.add(kept.get(), x));
        });
        // read before a loop in which it changes from turn to turn
        const before = kept.get();
        loop(turns, (i) => kept.set(t.select(t.eq(i, 1), t.toF32(i), before)));
      });
      return [least, kept, most].map((v) => v.get());
    },
    { wide },
  );
  const rows = [-1, 1, 2, 3, 0.5].flatMap((x) => [0, 2, 3, 5].map((y) => [x, y]));
  expect(runWasm(p, rows)).toEqual(runJs(p, "f32", rows));
});

test.each([false, true])("tables side by side are read at an index of each world (wide: %s)", (wide) => {
  const p = program(
    1,
    5,
    ([x]) => {
      const of = (count: number) =>
        Array.from({ length: count }, (_, k) =>
          table(
            `of${count}_${k}`,
            [1, 2, 3, 4, 5].map((i) => 10 * i + k / 4),
          ),
        );
      const i = t.toI32(x);
      const [a, b, c] = of(3).map((read) => read(i));
      return [a, b, c, ...of(2).map((read) => read(t.add(i, 1)))];
    },
    { wide },
  );
  const rows = [0, 3, 1, 2, 3].map((x) => [x]);
  expect(runWasm(p, rows)).toEqual(runJs(p, "f32", rows));
  // beyond the tables is nobody's memory
  expect(() => runWasm(p, [[-1], [5], [2e9]])).not.toThrow();
});

test.each([false, true])("worlds that skip a write lose nothing that they read (wide: %s)", (wide) => {
  const p = program(
    2,
    2,
    ([x, y]) => {
      const own = array("own", 2, "f32", true, true);
      const sum = variable("sum", 0);
      loop(2, (i) => when(t.gt(x, t.toF32(i)), () => own.set(i, t.add(y, t.toF32(i)))));
      // what would change nothing in a world that skips it
      loop(2, (i) => when(t.gt(x, 1), () => own.set(i, t.select(t.gt(x, 1), t.neg(y), own.get(i)))));
      loop(2, (i) => when(t.gt(x, t.toF32(i)), () => sum.set(t.add(sum.get(), own.get(i)))));
      return [sum.get(), y];
    },
    { wide },
  );
  const rows = [0, 1, 2, 1, 2].map((x, i) => [x, 3 + i]);
  expect(runWasm(p, rows)).toEqual(runJs(p, "f32", rows));
});

test.each([false, true])("the size of a word is the word itself (wide: %s)", (wide) => {
  const p = program(1, 1, ([x]) => [t.abs(x)], { kind: "u32", wide });
  const words = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
  const rows = words.map((x) => [x]);
  expect(runWasm(p, rows)).toEqual(rows);
  expect(runJs(p, "f32", rows)).toEqual(rows);
});

test("a sum of 20,000 terms needs no stack", () => {
  const p = program(1, 1, ([x]) => [Array.from({ length: 20_000 }, (_, i) => t.mul(x, i)).reduce(t.add)]);
  expect(runWasm(p, [[2], [3]])).toEqual(runJs(p, "f32", [[2], [3]]));
});

const widths = test.each([{ wide: false }, { wide: true }]);

widths("worlds leave a loop one by one, and index arrays each for itself: %o", ({ wide }) => {
  const traced = ([n, x]: t.Scalar[]) => {
    const list = array("list", 5);
    const sum = variable("sum", 0);
    loop(t.toI32(n), (i) => {
      list.set(t.toI32(t.sub(4, t.toF32(i))), t.mul(x, t.toF32(i)));
      breakIf(t.gt(sum.get(), 5));
      sum.set(t.add(sum.get(), x));
    });
    return [sum.get(), list.get(t.toI32(x))];
  };
  const p = program(2, 2, traced, { wide });
  const worlds = [0, 1, 2, 3, 4, 5, 3].map((n, i) => [n, i % 5]);
  expect(runWasm(p, worlds)).toEqual(runJs(p, "f32", worlds));
});

widths("worlds that took as much effort run together the next time: %o", ({ wide }) => {
  const traced = ([n]: t.Scalar[]) => {
    const sum = variable("sum", 0);
    loop(t.toI32(n), (i) => when(t.gt(i, 2), () => sum.set(t.add(sum.get(), n))));
    return [sum.get()];
  };
  const p = program(1, 1, traced, { wide });
  // more than are put in order together
  const worlds = Array.from({ length: 303 }, (_, i) => [(7 * i) % 40]);
  let lists!: Lists;
  const found = runJs(
    p,
    "f32",
    worlds,
    {},
    asWasm([], (seen) => (lists = seen)),
  );
  expect(found).toEqual(runJs(p, "f32", worlds));
  expect(lists.effort).toEqual(worlds.map(([n]) => n));
  expect(lists.order.toSorted((a, b) => a - b)).toEqual(worlds.map((_, i) => i));
  for (const part of [lists.order.slice(0, 256), lists.order.slice(256)]) {
    const effort = part.map((w) => lists.effort[w]);
    expect(effort).toEqual(effort.toSorted((a, b) => a - b));
  }
});

widths("worlds that left a loop read after it what they left in its variables: %o", ({ wide }) => {
  const traced = ([n, x]: t.Scalar[]) => {
    let last!: ReturnType<typeof variable>;
    loop(t.toI32(n), (i) => {
      last = variable("last");
      last.set(t.mul(x, t.toF32(i)));
    });
    return [last.get()];
  };
  const p = program(2, 1, traced, { wide });
  const worlds = [1, 4, 2, 3].map((n, i) => [n, i + 1]);
  expect(runWasm(p, worlds)).toEqual(runJs(p, "f32", worlds));
});

widths("a world that is no number, or turns long in a loop, is nothing to the others of its vector: %o", ({ wide }) => {
  const traced = ([n, x]: t.Scalar[]) => {
    const list = array("list", 6);
    const sum = variable("sum", 0);
    const at = t.toI32(t.clamp(x, 0, 5));
    loop(t.toI32(n), (i) => {
      when(
        t.lt(x, t.toF32(i)),
        () => list.set(at, t.add(list.get(at), t.div(t.toF32(i), t.sub(x, 1)))),
        () => sum.set(t.max(sum.get(), t.sqrt(t.sub(x, t.toF32(i))))),
      );
      breakIf(t.gt(list.get(t.band(t.toU32(n), 3)), 2));
    });
    return [sum.get(), list.get(at), math.exp(x), t.select(t.gt(x, 2), x, t.min(x, sum.get()))];
  };
  const p = program(2, 4, traced, { wide });
  const worlds = [Number.NaN, 1, 2.5, Infinity, 3, -1, Number.NaN, 0, 4, -Infinity, 2].map((x, i) => [(5 * i) % 7, x]);
  const alone = worlds.map((world) => runWasm(p, [world])[0]);
  expect(runJs(p, "f32", worlds)).toEqual(alone);
  // beside any other, at any place, in batches of any size
  for (let from = 0; from < worlds.length; from++)
    for (let count = 1; count <= worlds.length - from; count++)
      expect(runWasm(p, worlds.slice(from, from + count))).toEqual(alone.slice(from, from + count));
});

test("scratch is not cleared between vectors of worlds, other arrays are", () => {
  // worlds that do not write read what the vector before them has left
  const reading = (isScratch: boolean) =>
    program(2, 1, ([x, writes]) => {
      const list = array("list", 4, "f32", isScratch);
      const at = t.toI32(t.mul(writes, 0));
      when(t.gt(writes, 0), () => list.set(at, x));
      return [list.get(at)];
    });
  const worlds = [0, 0, 0, 0, 1, 1, 1, 1].map((writes, i) => [i + 2, writes]);
  expect(runWasm(reading(false), worlds).flat()).toEqual([0, 0, 0, 0, 6, 7, 8, 9]);
  expect(runWasm(reading(true), worlds).flat()).toEqual([6, 7, 8, 9, 6, 7, 8, 9]);
});

test("kernels of environments are valid modules", async () => {
  for (const id of full
    ? ["HalfCheetah-v5", "Ant-v5", "Humanoid-v5", "PickAndPlace"]
    : ["CartPole", "HalfCheetah-v5"]) {
    const { traces } = await planVecKernels(id, { numEnvs: 1 });
    for (const made of traces.values()) expect(WebAssembly.validate(toWasm(made).module)).toBe(true);
  }
});

test("a trace of the host's functions is refused", () => {
  const p = program(1, 1, ([x]) => [math.sin(x)], { exact: true });
  expect(() => toWasm(p.trace)).toThrow(
    "[trace-exact] a trace recorded with exact: true calls the host's float64 functions, which WebAssembly lacks.",
  );
});
