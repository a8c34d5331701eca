// files that belong together: all get their names, or none
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeAllWhole } from "../../../src/io/write-whole.ts";

test("where one of several files cannot be written, those of before stay as they were", () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-whole-"));
  try {
    const [first, second] = ["first", "second"].map((name) => join(folder, name));
    writeFileSync(first, "before");
    const bytes = new TextEncoder().encode("after");
    expect(() => writeAllWhole({ [first]: bytes, [join(folder, "missing", "second")]: bytes })).toThrow(/ENOENT/);
    expect([readdirSync(folder), readFileSync(first, "utf8")]).toEqual([["first"], "before"]);

    writeAllWhole({ [first]: bytes, [second]: bytes });
    expect(readdirSync(folder)).toEqual(["first", "second"]);
    expect([first, second].map((path) => readFileSync(path, "utf8"))).toEqual(["after", "after"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
