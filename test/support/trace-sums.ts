// random expressions without cancellation, for which a relative rounding bound holds
import fc from "fast-check";
import { add, div, max, min, mul, sqrt, type Scalar } from "../../src/trace/scalar.ts";

export const SUM_INPUTS = 4;

export type Sum =
  | { k: number }
  | { c: number }
  | { root: Sum }
  | { op: "add" | "mul" | "div" | "min" | "max"; a: Sum; b: Sum };

/** Expressions of up to 31 operations on inputs and constants from 1/2 to 2. */
export const sums: fc.Arbitrary<Sum> = fc.letrec<{ sum: Sum }>((tie) => ({
  sum: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.record({ k: fc.nat(SUM_INPUTS - 1) }),
    fc.record({ c: fc.double({ min: 0.5, max: 2, noNaN: true }) }),
    fc.record({ root: tie("sum") }),
    {
      arbitrary: fc.record({
        op: fc.constantFrom("add" as const, "mul" as const, "div" as const, "min" as const, "max" as const),
        a: tie("sum"),
        b: tie("sum"),
      }),
      weight: 5,
    },
  ),
})).sum;

export const sumInputs = fc.array(fc.double({ min: 0.5, max: 2, noNaN: true }), {
  minLength: SUM_INPUTS,
  maxLength: SUM_INPUTS,
});

export function traceSum(e: Sum, x: readonly Scalar[]): Scalar {
  if ("k" in e) return x[e.k];
  if ("c" in e) return e.c;
  if ("root" in e) return sqrt(traceSum(e.root, x));
  return { add, mul, div, min, max }[e.op](traceSum(e.a, x), traceSum(e.b, x));
}

export function plainSum(e: Sum, x: readonly number[]): number {
  if ("k" in e) return x[e.k];
  if ("c" in e) return e.c;
  if ("root" in e) return Math.sqrt(plainSum(e.root, x));
  const [a, b] = [plainSum(e.a, x), plainSum(e.b, x)];
  return { add: a + b, mul: a * b, div: a / b, min: Math.min(a, b), max: Math.max(a, b) }[e.op];
}
