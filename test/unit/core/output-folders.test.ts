// where commands write: a file goes into a folder that is there, and no folder is made above the one that was asked for
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import "../../../envs/index.ts";
import { makeOutputFolder } from "../../../src/core/make-folder.ts";
import { corralInside } from "../../support/cli-inside.ts";
import { TINY, trainInto } from "../../support/runs.ts";

worldsOnWasm();

const root = mkdtempSync(join(tmpdir(), "corral-output-"));
const run = join(root, "run");
const absent = join(root, "absent");
beforeAll(async () => {
  await trainInto(run, "CartPole", { ...TINY, steps: 64, evalEvery: 100 });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test.each([
  ["export to a file", ["export", run, "--format", "onnx", "--to", join(absent, "x.onnx")], "[export-not-written]"],
  ["export to a folder", ["export", run, "--format", "wgsl", "--to", join(absent, "web")], "[export-not-written]"],
  ["train", ["train", "CartPole", "--out", join(absent, "run")], "[run-not-written]"],
  ["bench", ["bench", "CartPole", "--quick", "--out", join(absent, "results")], "[output-not-written]"],
  ["play", ["play", run, "--record", join(absent, "x.jsonl")], "[record-not-written]"],
])("%s: a folder that is not there is not made", async (name, args, code) => {
  const { code: exit, stderr } = await corralInside(args);
  expect(exit, name).toBe(1);
  expect(stderr).toContain(code);
  expect(existsSync(absent)).toBe(false);
});

test("the folder itself is made, and within the working folder those above it", async () => {
  const to = join(root, "web");
  expect((await corralInside(["export", run, "--format", "wgsl", "--to", to])).code).toBe(0);
  expect(existsSync(join(to, "policy.wgsl")) || existsSync(to)).toBe(true);
  const here = `node_modules/.corral-output-${process.pid}`;
  makeOutputFolder(join(here, "a", "b"));
  expect(existsSync(join(here, "a", "b"))).toBe(true);
  rmSync(here, { recursive: true });
});
