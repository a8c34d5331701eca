// kernels in pieces: which loops the host takes over, what crosses, and how much lives at once
import { describe, expect, test } from "vitest";
import { marksOf } from "../../../src/batch/kernel/cuts.ts";
import { array, breakIf, load4, loop, markStage, param, store4, variable, when } from "../../../src/trace/control.ts";
import { trace, type Trace } from "../../../src/trace/graph.ts";
import { analyse } from "../../../src/trace/liveness.ts";
import { CELLS, cutTrace } from "../../../src/trace/pieces.ts";
import { pressureOf } from "../../../src/trace/pressure.ts";
import { add, gt, max, mul, toI32, type Int, type Scalar } from "../../../src/trace/scalar.ts";
import { toWgsl } from "../../../src/trace/wgsl.ts";

const TILE = 8;
const cut = (made: Trace, ...marks: string[]) => cutTrace(made, new Set(marks), TILE);

/** Turns of a loop of `bound` that doubles a number and adds to it what is read, the two in stages of their own. */
const program = (bound: () => Int, end?: (x: Scalar) => void): Trace =>
  trace(() => {
    const x = variable("x", load4("state", 0)[0]);
    const unused = load4("state", 1);
    loop(bound(), () => {
      markStage("double");
      const twice = mul(x.get(), 2);
      markStage("solver");
      x.set(add(twice, load4("state", 1)[1]));
      end?.(twice);
    });
    store4("state", 0, [x.get(), unused[0], 0, 0]);
  });

describe("a kernel in pieces", () => {
  test("has the loops around its cuts turned by the host, as often as parameters say at most", () => {
    const made = cut(
      program(() => max(param("n", "i32"), 3)),
      "solver",
    )!;
    expect(made.pieces.map(({ name }) => name)).toEqual(["", "loop", "solver", "after loop"]);
    const [first, turns, last] = made.turns;
    expect([first, last]).toEqual([0, 3]);
    if (typeof turns === "number") throw new Error("no turns");
    expect(turns.turns).toEqual([1, 2]);
    expect([2, 7].map((n) => turns.most(() => n))).toEqual([3, 7]);
    // the loop's counter and flag, the number and what it became, and what is read before for behind
    expect(made.fours).toBe(4);
    for (const { trace: piece } of made.pieces)
      expect(toWgsl(piece, { workgroupSize: 32 }).buffers).toContainEqual({ name: CELLS, access: "read_write" });
  });

  test("is not cut where there is no such stage, or the host cannot count or leave a loop", () => {
    expect(cut(program(() => 3))).toBeUndefined();
    expect(
      cut(
        program(() => toI32(load4("state", 2)[0])),
        "solver",
      ),
    ).toBeUndefined();
    const leaves = (x: Scalar) => when(gt(x, 1), () => breakIf(gt(x, 2)));
    expect(
      cut(
        program(() => 3, leaves),
        "solver",
      ),
    ).toBeUndefined();
  });
});

/** Loops that write an array, and read it from the solver on so many times. */
const inLoops = (length: number, reads: number): Trace =>
  trace(
    () => {
      const shared = array("places", length);
      loop(length, (i) => shared.set(i, load4("state", i)[0]));
      markStage("solver");
      loop(length, (i) => {
        let sum = shared.get(i);
        for (let k = 1; k < reads; k++) sum = add(sum, shared.get(toI32(load4("state", add(i, k))[0])));
        store4("state", i, [sum, 0, 0, 0]);
      });
    },
    { unroll: false },
  );

test("pieces in loops for CPUs have copies of arrays with many accesses for their elements", () => {
  const solver = (length: number) => {
    const { pieces } = cutTrace(inLoops(length, 4), new Set(["solver"]), TILE, undefined, true)!;
    return toWgsl(pieces[1].trace, { workgroupSize: 32 }).code;
  };
  expect(solver(16)).toMatch(/var a\d+_shared = array<u32, 16>|var a\d+_shared: array<u32, 16>/);
  expect(solver(17)).not.toContain("_shared");
  // words of neighbouring worlds lie side by side, and where those of a world begin is said once
  expect(solver(17)).toMatch(/cells: array<array<vec4<u32>, \d+>>;/);
  expect(solver(17)).toContain("let kept_tile = &cells[world / 8];");
  expect(solver(17)).toMatch(/\(\*kept_tile\)\[kept_from \+ [^\]]*\]\[world & 3\]/);
});

test("a piece for CPUs that passes nothing has no tile of the cells", () => {
  const alone = trace(
    () => {
      markStage("solver");
      store4("state", 0, load4("state", 1));
    },
    { unroll: false },
  );
  const { pieces } = cutTrace(alone, new Set(["solver"]), TILE, undefined, true)!;
  for (const { trace: made } of pieces) expect(toWgsl(made, { workgroupSize: 32 }).code).not.toContain("cells");
});

test("loops of many operations are cut at the solver for SwiftShader", () => {
  const ofLength = (count: number) =>
    trace(
      () => {
        markStage("solver");
        let x = load4("state", 0)[0];
        for (let i = 0; i < count; i++) x = add(x, i + 1);
        store4("state", 0, [x, 0, 0, 0]);
      },
      { unroll: false },
    );
  const marks = (count: number) => marksOf(ofLength(count), { cut: "long", target: "software" });
  expect(marks(24_000)).toEqual([]);
  expect(marks(24_001)).toEqual(["solver"]);
});

test("values that wait for their use live at once", () => {
  const made = trace(() => {
    const read = Array.from({ length: 10 }, (_, i) => load4("state", i)[0]);
    read.forEach((x, i) => store4("state", 10 + i, [mul(x, 2), 0, 0, 0]));
  });
  const { most, length } = pressureOf(made, analyse(made));
  expect(most(0, length)).toBeGreaterThanOrEqual(10);
  expect(most(length - 2, length)).toBeLessThan(4);
});

/** Stores before the solver and from it on; what is read first is used behind them, which alone is a reason to cut there. */
const long = (before: number, after: number): Trace =>
  trace(() => {
    markStage("kinematics");
    const kept = Array.from({ length: 80 }, (_, i) => load4("state", i));
    const stores = (count: number) => {
      for (let i = 0; i < count; i++) store4("state", i % 80, [i, 0, 0, 0]);
    };
    markStage("collision");
    stores(before);
    markStage("solver");
    stores(after);
    markStage("integrate");
    for (const [i, four] of kept.entries()) store4("state", i, [mul(four[0], 2), four[1], four[2], four[3]]);
  });

const ON_GPU = { cut: "auto", target: "gpu" } as const;

describe("where a long kernel is cut", () => {
  test("is at the solver too, where a piece would be as long", () => {
    expect(marksOf(long(7000, 6000), ON_GPU)).toEqual(["solver", "integrate"]);
    expect(marksOf(long(5000, 5200), ON_GPU)).toContain("solver");
    expect(marksOf(long(4000, 5500), ON_GPU)).not.toContain("solver");
  });

  test("is not for the sake of little before it", () => {
    expect(marksOf(long(1000, 12_000), ON_GPU)).toEqual(["integrate"]);
  });
});
