// A folder from elsewhere cannot bring a program along: the file of a task is followed only where it lies apart
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import "../../envs/index.ts";
import { CONFIG_FILE } from "../../src/runs/run-config.ts";
import { corralInside } from "../support/cli-inside.ts";
import { RAN } from "../support/mutants.ts";
import { TINY, trainInto } from "../support/runs.ts";

const root = mkdtempSync(join(tmpdir(), "corral-named-"));
const good = join(root, "good");
beforeAll(async () => {
  await trainInto(good, "CartPole", { ...TINY, steps: 64, evalEvery: 100 });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test.each([
  ["beside its config", (run: string) => join(run, "evil.mts")],
  ["by a path that depends on where one is", (run: string) => relative(process.cwd(), join(run, "..", "evil.mts"))],
])("a task that lies %s does not run", async (_, place) => {
  const run = join(root, "run");
  cpSync(good, run, { recursive: true });
  const task = place(run);
  writeFileSync(task, `globalThis.${RAN} = 1; export default {};`);
  const file = join(run, CONFIG_FILE);
  const config = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...config, task }));
  for (const args of [
    ["play", run],
    ["train", "--resume", run],
    ["train", "--config", file, "--out", join(root, "new")],
  ]) {
    const { code, stderr } = await corralInside(args);
    expect([code, RAN in globalThis]).toEqual([2, false]);
    expect(stderr).toContain(`[task-not-followed] ${file} names the task file ${task}`);
  }
});
