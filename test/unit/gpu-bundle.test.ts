// what runs on a machine with a GPU asks for every stage, and for every environment
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { SHIPPED } from "../support/shipped.ts";
import { corral } from "../support/cli.ts";

test("run.sh checks, tunes, benches every environment, trains and fills the memory", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-bundle-"));
  const file = (...names: string[]) => join(folder, ...names);
  try {
    mkdirSync(file("node", "bin"), { recursive: true });
    copyFileSync(fileURLToPath(new URL("../../tools/gpu-bundle/run.sh", import.meta.url)), file("run.sh"));
    // a process of its own: what other files of this one registered is no environment that is shipped
    writeFileSync(file("list.txt"), (await corral(["list"])).stdout);
    // in place of Node one that says what it was asked for
    const node = `#!/bin/sh
echo "$*" >>"${file("calls.txt")}"
case $2 in doctor) echo "  kind      gpu" ;; list) cat "${file("list.txt")}" ;; esac
`;
    writeFileSync(file("node", "bin", "node"), node, { mode: 0o755 });
    const { status, stderr } = spawnSync("sh", [file("run.sh"), "--out", file("out")], {
      encoding: "utf8",
      cwd: folder,
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);

    const calls = readFileSync(file("calls.txt"), "utf8").trim().split("\n");
    const of = (command: string) => calls.filter((call) => call.includes(`corral.js ${command} `));
    const targets = (command: string) => of(command).map((call) => call.split(" ")[2]);
    expect(
      targets("bench")
        .filter((id) => !id.startsWith("--"))
        .sort(),
    ).toEqual(SHIPPED);
    expect(calls.filter((call) => call.includes("checks.mjs"))).toHaveLength(1);
    expect(new Set(targets("tune"))).toEqual(new Set(targets("stress")));
    expect(of("train")).toHaveLength(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
