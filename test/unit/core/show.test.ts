// text of strangers: it shows, stays in its line, and does no more
import fc from "fast-check";
import { expect, test } from "vitest";
import { table } from "../../../src/cli/table.ts";
import { alternatives } from "../../../src/core/names.ts";
import { inLine, listed, show } from "../../../src/core/show.ts";

// oxlint-disable-next-line no-control-regex
const NOT_IN_LINE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

test("a name in a sentence or a table stays in its line", () => {
  const name = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(name, fc.array(name, { minLength: 1, maxLength: 4 }), (one, others) => {
      expect(inLine(one)).not.toMatch(NOT_IN_LINE);
      expect(listed(others)).not.toMatch(NOT_IN_LINE);
      expect(alternatives(one, others).hint).not.toMatch(NOT_IN_LINE);
      const lines = table([["name", "count"], ...others.map((text) => [text, "1"])]).split("\n");
      expect(lines).toHaveLength(1 + others.length);
      for (const line of lines) expect(line).not.toMatch(NOT_IN_LINE);
    }),
  );
});

test("ends of lines are written out", () => {
  expect(inLine("hip\nidentical: 9 steps\t\u2028")).toBe("hip\\nidentical: 9 steps\\t\\u2028");
  expect(inLine("hip joint é 足")).toBe("hip joint é 足");
});

test("what is of a class is named after it", () => {
  expect([new Map(), new ArrayBuffer(1), new URL("a:b")].map(show)).toEqual(["a Map", "an ArrayBuffer", "a URL"]);
});
