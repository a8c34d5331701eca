// in a clone, bin/corral.js runs the sources
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SHIPPED } from "../../support/shipped.ts";
import { corralFromSources } from "../../support/cli.ts";
import { ROOT } from "../../support/imports.ts";

test("corral list of a clone names the environments", async () => {
  const { code, stdout } = await corralFromSources(["list", "--json"]);
  expect(code).toBe(0);
  const { environments } = JSON.parse(stdout) as { environments: { id: string }[] };
  expect(environments.map(({ id }) => id)).toEqual(SHIPPED);
});

test("wrong usage ends with code 2, on stderr", async () => {
  const { code, stdout, stderr } = await corralFromSources(["train", "CartPole", "--env", "8"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("nearest: --envs");
});

test("a project that links a clone gets what was built of it, as its tasks do", () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-linked-"));
  try {
    const [clone, project] = ["clone", "project"].map((name) => join(folder, name));
    const files = {
      "package.json": '{ "name": "corral", "type": "module", "exports": { "./package.json": "./package.json" } }',
      "src/cli/main.ts": "",
      "dist/src/cli/main.js": 'export const main = () => console.log("built") ?? 0;',
    };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(clone, name, ".."), { recursive: true });
      writeFileSync(join(clone, name), text);
    }
    cpSync(join(ROOT, "bin"), join(clone, "bin"), { recursive: true });
    mkdirSync(join(project, "node_modules"), { recursive: true });
    symlinkSync(clone, join(project, "node_modules", "corral"));
    const run = (cwd: string) =>
      spawnSync(process.execPath, [join(clone, "bin/corral.js"), "list"], { cwd, encoding: "utf8" });
    expect(run(project)).toMatchObject({ status: 0, stdout: "built\n" });
    // in the clone itself sources run, whose dependencies this one lacks
    expect(run(clone).stderr).toContain("the dependencies are not installed");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
