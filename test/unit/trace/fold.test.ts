// what the tracer computes and simplifies while it records, and what it refuses
import { describe, expect, test } from "vitest";
import { param } from "../../../src/trace/control.ts";
import { trace } from "../../../src/trace/graph.ts";
import { TraceNode } from "../../../src/trace/nodes.ts";
import * as t from "../../../src/trace/scalar.ts";

/** Runs `fn` with float, integer, unsigned and boolean values that are not known. */
function record(fn: (v: { x: TraceNode; y: TraceNode; i: TraceNode; u: TraceNode; b: TraceNode }) => void): void {
  trace(() => {
    const [x, y, i, u] = [param("x"), param("y"), param("i", "i32"), param("u", "u32")];
    fn({ x, y, i, u, b: t.lt(x, 0) as TraceNode });
  });
}

/** An expression as text: `(add x 1)`. */
function show(a: unknown): string {
  if (!(a instanceof TraceNode)) return String(a);
  if (a.op === "param") return (a.source as { name: string }).name;
  return `(${[a.op, ...a.args.map(show)].join(" ")})`;
}

describe("numbers fold in float64", () => {
  test("arithmetic", () => {
    expect(t.add(0.1, 0.2)).toBe(0.1 + 0.2);
    expect(t.sub(1, 3)).toBe(-2);
    expect(t.mul(3, -4)).toBe(-12);
    expect(t.div(1, 3)).toBe(1 / 3);
    expect(t.neg(0)).toBe(0);
    expect(t.sqrt(2)).toBe(Math.SQRT2);
    expect(t.abs(-2)).toBe(2);
    expect([t.min(1, 2), t.max(1, 2), t.clamp(5, 0, 3), t.clamp(-5, 0, 3)]).toEqual([1, 2, 3, 0]);
    expect([t.floor(-1.5), t.sign(-3), t.square(3)]).toEqual([-2, -1, 9]);
    expect([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49, 7].map((x) => (t.round(x) as number) + 0)).toEqual([
      0, 2, 2, 0, -2, -2, 0, 7,
    ]);
    expect([t.idiv(7, 2), t.idiv(-7, 2), t.idiv(6, 3)]).toEqual([3, -3, 2]);
    expect(t.dotn([1, 2, 3], [4, 5, 6])).toBe(32);
    expect(t.sum([1, 2, 3])).toBe(6);
  });

  test("comparisons and logic", () => {
    expect([t.lt(1, 2), t.le(2, 2), t.gt(1, 2), t.ge(2, 2), t.eq(1, 1), t.ne(1, 1)]).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ]);
    expect([t.and(true, false), t.or(true, false), t.not(true)]).toEqual([false, true, false]);
    expect([t.select(true, 1, 2), t.select(false, 1, 2)]).toEqual([1, 2]);
  });

  test("words", () => {
    expect(t.uadd(0xffffffff, 2)).toBe(1);
    expect(t.umul(0xffffffff, 0xffffffff)).toBe(1);
    expect([t.band(0xff00, 0x0ff0), t.bor(1, 0x80000000), t.bxor(0xffffffff, 1)]).toEqual([
      0x0f00, 0x80000001, 0xfffffffe,
    ]);
    expect([t.shl(1, 31), t.shr(0x80000000, 31)]).toEqual([0x80000000, 1]);
    expect([t.firstTrailingBit(1), t.firstTrailingBit(0x80000000), t.firstTrailingBit(12)]).toEqual([0, 31, 2]);
    expect(t.bitcastU32(1)).toBe(0x3f800000);
    expect(t.bitcastF32(0x40490fdb)).toBe(Math.fround(Math.PI));
    expect([t.toI32(-1.7), t.toI32(1.7), t.toU32(3.9), t.toF32(3)]).toEqual([-1, 1, 3, 3]);
    expect([t.isFinite32(1), t.isFinite32(1e39), t.isFinite32(Number.NaN)]).toEqual([true, false, false]);
  });
});

test("zeros and ones vanish", () => {
  record(({ x }) => {
    expect([
      t.add(x, 0),
      t.add(0, x),
      t.sub(x, 0),
      t.mul(x, 1),
      t.mul(1, x),
      t.div(x, 1),
      t.max(x, x),
      t.min(x, x),
    ]).toEqual(Array(8).fill(x));
    expect([t.mul(x, 0), t.mul(0, x), t.sub(x, x), t.div(0, x)]).toEqual([0, 0, 0, 0]);
    expect([t.dotn([0, 1, 0], [x, x, x]), t.sum([0, x, 0])]).toEqual([x, x]);
  });
});

test("signs move outwards and into sums", () => {
  record(({ x, y }) => {
    expect(t.neg(t.neg(x))).toBe(x);
    expect(show(t.mul(x, -1))).toBe("(neg x)");
    expect(show(t.mul(t.neg(x), y))).toBe("(neg (mul x y))");
    expect(show(t.mul(t.neg(x), t.neg(y)))).toBe("(mul x y)");
    expect(show(t.add(x, t.neg(y)))).toBe("(sub x y)");
    expect(show(t.add(t.neg(x), y))).toBe("(sub y x)");
    expect(show(t.sub(x, t.neg(y)))).toBe("(add x y)");
    expect(show(t.neg(t.sub(x, y)))).toBe("(sub y x)");
    expect(show(t.sub(0, x))).toBe("(neg x)");
    expect(show(t.add(x, -2))).toBe("(sub x 2)");
  });
});

test("quotients by constants are products, unless the reciprocal is no normal float", () => {
  record(({ x, i, u }) => {
    expect(show(t.div(x, 4))).toBe("(mul x 0.25)");
    expect(show(t.div(x, 1e-39))).toBe("(div x 1e-39)");
    expect(show(t.div(x, 1e38))).toBe("(div x 1e+38)");
    expect(show(t.div(i, 4))).toBe("(div i 4)");
    expect(show(t.idiv(u, 4))).toBe("(div u 4)");
  });
});

test("equal expressions are one, in either order of commutative operands", () => {
  record(({ x, y }) => {
    expect(t.add(x, y)).toBe(t.add(y, x));
    expect(t.mul(x, 3)).toBe(t.mul(3, x));
    expect(t.min(x, y)).toBe(t.min(y, x));
    expect(t.sub(x, y)).not.toBe(t.sub(y, x));
    expect(t.select(t.lt(x, y), x, y)).toBe(t.select(t.lt(x, y), x, y));
    expect(t.add(x, 1)).not.toBe(t.add(x, 2));
  });
});

test("logic with what is known", () => {
  record(({ x, y, b }) => {
    expect([t.and(b, true), t.and(true, b), t.or(b, false), t.or(false, b), t.and(b, b), t.or(b, b)]).toEqual(
      Array(6).fill(b),
    );
    expect([t.and(b, false), t.or(b, true)]).toEqual([false, true]);
    expect(t.not(t.not(b))).toBe(b);
    expect(t.select(b, x, x)).toBe(x);
    expect(t.select(true, x, y)).toBe(x);
  });
});

test("types follow the operands", () => {
  record(({ x, i, u, b }) => {
    const types = [t.add(x, 1), t.add(i, 1), t.add(1, u), t.lt(i, 1), t.select(b, i, 0), t.select(b, 1, 0, "u32")];
    expect(types.map((n) => (n as TraceNode).type)).toEqual(["f32", "i32", "u32", "bool", "i32", "u32"]);
    expect(
      [t.toF32(i), t.toI32(x), t.toU32(i), t.bitcastU32(x), t.bitcastF32(u)].map((n) => (n as TraceNode).type),
    ).toEqual(["f32", "i32", "u32", "u32", "f32"]);
    expect(t.toF32(x)).toBe(x);
  });
});

describe("refusals", () => {
  test("results that no kernel can hold", () => {
    expect(() => t.div(1, 0)).toThrow(
      "[trace-non-finite] folding div gives Infinity, which no kernel can hold. Check the model's numbers.",
    );
    expect(() => t.sqrt(-1)).toThrow("folding sqrt gives NaN");
    expect(() => t.mul(1e200, 1e200)).toThrow("folding mul gives Infinity");
    record(({ x }) => expect(() => t.div(x, 0)).toThrow("[trace-non-finite] division by the constant 0 in a kernel."));
  });

  test("operations on nodes outside a trace", () => {
    let outside!: TraceNode;
    record(({ x }) => {
      outside = x;
    });
    expect(() => t.add(outside, 1)).toThrow("[trace-inactive]");
    record(({ y }) => expect(() => t.mul(outside, y)).toThrow("[trace-scope]"));
  });

  test("mixed types", () => {
    record(({ x, i, u, b }) => {
      const text = "[trace-type] an operation mixes f32 and i32. Convert one with toF32, toI32 or toU32.";
      expect(() => t.add(x, i)).toThrow(text);
      expect(() => t.lt(x, i)).toThrow(text);
      expect(() => t.select(b, x, i)).toThrow(text);
      expect(() => t.max(u, i)).toThrow("[trace-type] an operation mixes u32 and i32");
      expect(() => t.band(i, 1)).toThrow("[trace-type] band takes u32 and was given i32. Convert it with toU32.");
      // a flag is no number
      expect(() => t.mul(x, b as never)).toThrow("[trace-type]");
    });
  });
});
