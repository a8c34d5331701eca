// what commands write is whole, or is not there
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { corral } from "../../support/cli.ts";
import { corralInside } from "../../support/cli-inside.ts";
import { writeOutput } from "../../../src/cli/write-output.ts";

const root = mkdtempSync(join(tmpdir(), "corral-write-output-"));
afterAll(() => rmSync(root, { recursive: true }));

test("a file system that refuses is named with a remedy, and nothing is left", () => {
  writeOutput(join(root, "page.html"), "<p>");
  expect(readFileSync(join(root, "page.html"), "utf8")).toBe("<p>");
  expect(() => writeOutput(join(root, "page.html", "inside.html"), "<p>")).toThrow(
    /^\[output-not-written\] .*inside\.html cannot be written \(ENOTDIR\)\. Write to another place\.$/,
  );
  // a folder is in the place of the file
  expect(() => writeOutput(root, "<p>")).toThrow("[output-not-written]");
  expect(readdirSync(root)).toEqual(["page.html"]);
});

test("a page that would not be written is refused before the run, and is not made", async () => {
  writeFileSync(join(root, "plain"), "");
  const html = join(root, "plain", "page.html");
  const refused = await corralInside(["stress", "CartPole", "--html", html, "--device", "wasm"]);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining(`[usage] --html is '${html}', which cannot be written`),
  ]);
  const later = join(root, "later.html");
  const failed = await corral(["stress", "CartPole", "--html", later, "--device", "wasm", "--budget", "1KB"]);
  expect([failed.code, failed.stderr, existsSync(later)]).toEqual([
    3,
    expect.stringContaining("[budget-exceeded] CartPole with 64 worlds"),
    false,
  ]);
});
