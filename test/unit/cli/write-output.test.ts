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

const policy = "envs/go1/policy.safetensors";

test.each([
  ["html", "page.html", ["stress", "CartPole"]],
  ["html", "page.html", ["bench", "CartPole"]],
  ["out", "results", ["bench", "CartPole"]],
  ["out", "page.html", ["evaluate", policy, "--sweep", "mass=1,2"]],
  ["out", "ant.gif", ["render", "Ant-v5"]],
])("--%s %s that would not be written is no wrong usage: %j", async (option, name, args) => {
  writeFileSync(join(root, "plain"), "");
  const path = join(root, "plain", name);
  const { code, stdout, stderr } = await corralInside([...args, `--${option}`, path]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(`[output-not-written] --${option} is '${path}', which cannot be written: ENOTDIR. `);
});

test("a page that would be written is not made where the run is refused", async () => {
  const later = join(root, "later.html");
  const failed = await corral(["stress", "CartPole", "--html", later, "--device", "wasm", "--budget", "1KB"]);
  expect([failed.code, failed.stderr, existsSync(later)]).toEqual([
    3,
    expect.stringContaining("[budget-exceeded] CartPole with 64 worlds"),
    false,
  ]);
});
