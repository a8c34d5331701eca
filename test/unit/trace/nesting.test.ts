// values that a text for GPUs writes where they are made, since what they are made of would live until their use
import { expect, test } from "vitest";
import { load4, store4 } from "../../../src/trace/control.ts";
import { trace, type Trace } from "../../../src/trace/graph.ts";
import { analyse } from "../../../src/trace/liveness.ts";
import { nestingOf } from "../../../src/trace/nesting.ts";
import { TraceNode } from "../../../src/trace/nodes.ts";
import { add, mul } from "../../../src/trace/scalar.ts";
import { MOST_LIVE, toWgsl } from "../../../src/trace/wgsl.ts";

/** Sums of products of what is read, all of which are stored after the last read. */
const program = (fours: number): Trace =>
  trace(() => {
    const sums = Array.from({ length: fours }, (_, i) => {
      const [a, b, c, d] = load4("state", i);
      return add(mul(a, b), mul(c, d));
    });
    sums.forEach((sum, i) => store4("state", i, [sum, 0, 0, 0]));
  });

const form = { workgroupSize: 64, privateArrays: "merged" } as const;
const forGpus = (made: Trace) => toWgsl(made, { ...form, mostLive: MOST_LIVE }).code;
const isProduct = ({ op }: TraceNode) => op === "mul" || op === "add" || op === "component";

test("reads live to where sums of them are written; what is written behind more than 24 statements is far", () => {
  const made = program(300);
  const { most, far } = nestingOf(made, analyse(made), isProduct);
  expect(most).toBeGreaterThanOrEqual(300);
  expect(most).toBeLessThan(310);
  expect([...far].map(({ op }) => op)).toEqual(Array.from({ length: 300 }, () => "add"));
  expect(nestingOf(program(10), analyse(program(10)), isProduct).most).toBeLessThan(20);
});

test("a text that keeps more than a lane has registers gives names to what is far", () => {
  const nested = /= .*\w \* .*\w \* /;
  const storesOf = (code: string) => code.split("\n").filter((line) => /^\s*state\[/.test(line));
  // products in the stores
  expect(storesOf(toWgsl(program(300), form).code).every((line) => nested.test(line))).toBe(true);
  expect(storesOf(forGpus(program(100))).every((line) => nested.test(line))).toBe(true);
  const stores = storesOf(forGpus(program(300)));
  expect(stores).toHaveLength(300);
  expect(stores.some((line) => nested.test(line))).toBe(false);
});
