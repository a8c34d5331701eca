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

test("a teacher that is a module comes with the command line, or by an absolute path from outside of the run", async () => {
  const [teacher, run] = [join(root, "teacher.mjs"), join(root, "taught")];
  writeFileSync(teacher, "export default (observations) => new Float32Array(observations.length / 4);");
  const small = ["--envs", "4", "--steps", "128", "--eval-envs", "2"];
  const taught = await corralInside(["train", "CartPole", "--teacher", teacher, ...small, "--out", run]);
  expect(taught.code, taught.stderr).toBe(0);
  const file = join(run, CONFIG_FILE);
  const config = JSON.parse(readFileSync(file, "utf8")) as { readonly teacher: string };
  expect(config.teacher).toBe(teacher);
  expect((await corralInside(["train", "--resume", run, "--steps", "256"])).code).toBe(0);

  const beside = join(run, "teacher.mjs");
  writeFileSync(beside, `globalThis.${RAN} = 1; export default () => [];`);
  for (const named of [beside, "teacher.mjs"]) {
    writeFileSync(file, JSON.stringify({ ...config, teacher: named }));
    const { code, stderr } = await corralInside(["train", "--resume", run, "--steps", "512"]);
    expect([code, RAN in globalThis]).toEqual([2, false]);
    expect(stderr).toContain(`[teacher-not-followed] ${file} names the teacher ${named}`);
  }
});

test("a module that is no teacher is refused by name", async () => {
  const teacher = join(root, "none.mjs");
  writeFileSync(teacher, "export default 3;");
  const run = ["train", "CartPole", "--teacher", teacher, "--envs", "4", "--steps", "128", "--out", join(root, "none")];
  const { code, stderr } = await corralInside(run);
  expect(code).toBe(2);
  expect(stderr).toContain(`[bad-teacher] ${teacher} exports 3 by default.`);
});
