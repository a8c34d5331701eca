import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fillIn, fillInPart, parseOption, type OptionTable } from "../../../src/core/options.ts";
import { boolean, either, integer, oneOf, positive, range, text, vector, word } from "../../../src/core/schema.ts";
import { optionsDoc } from "../../../tools/options-doc.ts";

const TABLE = {
  count: { default: 3, min: 1, max: 9, integer: true, doc: "how many" },
  rate: { default: 0.5, min: 0, doc: "how fast" },
  on: { default: true, doc: "whether" },
  mode: { default: "a", oneOf: ["a", "b"], doc: "which" },
  hidden: { default: [4], doc: "how wide" },
  between: { kind: range(), doc: "from where to where" },
  steps: { kind: integer(1), doc: "a most", code: "bad-steps" },
} as const satisfies OptionTable;

const error = (run: () => unknown): string => {
  try {
    run();
  } catch (e) {
    return (e as Error).message;
  }
  return "none";
};

describe("a table of options", () => {
  test("gives defaults, and leaves out what has none", () => {
    const made = fillIn(TABLE, { count: 5, rate: undefined }, { of: "it" });
    expect(made).toEqual({ count: 5, rate: 0.5, on: true, mode: "a", hidden: [4] });
  });

  test.each([
    [{ count: 10 }, "[bad-option] count is 10; pass an integer from 1 to 9."],
    [{ count: "3" }, '[bad-option] count is "3"; pass an integer from 1 to 9.'],
    [{ steps: 0 }, "[bad-steps] steps is 0; pass an integer of at least 1."],
    [{ steps: 1e16 }, "[bad-steps] steps is 10000000000000000; pass an integer from 1 to 9007199254740991."],
    [{ rate: NaN }, "[bad-option] rate is NaN; pass a number of at least 0."],
    [{ on: 1 }, "[bad-option] on is 1; pass true or false."],
    [{ mode: "c" }, '[bad-option] mode is "c"; pass "a" or "b".'],
    [{ hidden: [0] }, "[bad-option] hidden is [0]; pass up to 16 widths from 1 to 8192, such as [64, 64]."],
    [{ between: [1, 0] }, "[bad-option] between is [1,0]; pass [low, high], finite, low <= high."],
    [{ steps: 0 }, "[bad-steps] steps is 0; pass an integer of at least 1."],
    [{ cuont: 3 }, '[unknown-option] it has no option "cuont"; nearest: count, on.'],
  ])("refuses %j with value, bound and remedy", (given, message) => {
    expect(error(() => fillIn(TABLE, given as never, { of: "it" }))).toBe(message);
  });

  test("names the part that options are of", () => {
    expect(error(() => fillInPart("part", TABLE, { count: 0 }))).toContain("part.count is 0");
    expect(error(() => fillInPart("part", TABLE, []))).toContain("part is []; pass an object of count, rate,");
  });

  test("reads flags", () => {
    expect(parseOption(TABLE.count, "7")).toBe(7);
    expect(parseOption(TABLE.on, "false")).toBe(false);
    expect(parseOption(TABLE.mode, "7")).toBe("7");
    expect(parseOption(TABLE.hidden, "8,4")).toEqual([8, 4]);
    expect(parseOption(TABLE.hidden, "")).toEqual([]);
    for (const [row, flag] of [
      [TABLE.count, ""],
      [TABLE.on, "yes"],
      [TABLE.hidden, "8,,4"],
    ] as const)
      expect(parseOption(row, flag)).toBeUndefined();
  });
});

test("kinds of options: what they take, and what not", () => {
  const takes = (kind: { read: (value: unknown, path: []) => unknown }, value: unknown) =>
    error(() => kind.read(value, [])) === "none";
  expect([1e-300, 5, 0, -1, Infinity, "1"].map((x) => takes(positive, x))).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
  expect([[0, 0], [0, Infinity], new Float32Array(2), [0], [NaN, 1]].map((x) => takes(range(), x))).toEqual([
    true,
    false,
    true,
    false,
    false,
  ]);
  expect(takes(range(false), [-Infinity, Infinity])).toBe(true);
  expect([[1, 2], new Float64Array(2), [1], [1, NaN]].map((x) => takes(vector(2), x))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  const solver = word({ CG: 1, Newton: 2 });
  expect([solver.read("Newton", []), solver.read(1, [])]).toEqual([2, 1]);
  expect(["newton", 3, "constructor"].map((x) => takes(solver, x))).toEqual([false, false, false]);
  const two = either(oneOf("all"), boolean);
  expect(["all", true, "none"].map((x) => takes(two, x))).toEqual([true, true, false]);
  expect(takes(text(2), "abc")).toBe(false);
});

test("docs/options.md is up to date (npx tsx tools/options-doc.ts)", () => {
  expect(readFileSync(new URL("../../../docs/options.md", import.meta.url), "utf8")).toBe(optionsDoc());
});
