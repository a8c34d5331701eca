// a folder from elsewhere cannot bring a program along: the file of a task is followed only where it lies apart
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { worldsOnWasm } from "../support/on-wasm.ts";
import "../../envs/index.ts";
import { CONFIG_FILE } from "../../src/runs/run-config.ts";
import { corralInside } from "../support/cli-inside.ts";
import { RAN } from "../support/mutants.ts";
import { TINY, trainInto } from "../support/runs.ts";

worldsOnWasm();

const CARTPOLE = new URL("../../envs/cartpole/task.ts", import.meta.url).href;
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

test("a task that lies beside the folder of its run is followed, by --from too", async () => {
  const [task, run] = [join(root, "own.mts"), join(root, "own")];
  writeFileSync(task, `export { cartpole as default } from ${JSON.stringify(CARTPOLE)};`);
  const small = ["--envs", "4", "--steps", "128"];
  expect((await corralInside(["train", task, ...small, "--out", run])).code).toBe(0);
  const { code, stderr } = await corralInside(["train", "--from", run, ...small, "--out", join(root, "grown")]);
  expect(stderr).not.toContain("task-not-followed");
  expect(code).toBe(0);
});
