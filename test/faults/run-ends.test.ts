// real processes whose output goes away: the run is saved, its folder is free, and the exit code tells
import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { worldsOnWasm } from "../support/on-wasm.ts";
import "../../envs/index.ts";
import { lastCheckpoint } from "../../src/runs/checkpoints.ts";
import { LOCK_FILE } from "../../src/runs/lock.ts";
import { builtCorral } from "../support/built.ts";
import { corralInside } from "../support/cli-inside.ts";
import { ROOT } from "../support/imports.ts";
import { logOf } from "../support/runs.ts";

worldsOnWasm();

const root = mkdtempSync(join(tmpdir(), "corral-ends-"));
afterAll(() => rmSync(root, { recursive: true }));

const SMALL = "train CartPole --envs 8 --rollout-steps 8 --hidden 8 --eval-envs 2 --eval-every 100000".split(" ");
/** Never reached. */
const ENDLESS = ["--steps", "1000000000"];

/** Trains without end in a process of its own, does something once a line was printed, and waits for its end. */
async function endedBy(folder: string, end: (child: ReturnType<typeof spawn>) => void) {
  const child = spawn(process.execPath, [builtCorral(), ...SMALL, ...ENDLESS, "--out", folder], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => {
    if (printed.includes("env steps/s")) return;
    printed += chunk.toString();
    if (printed.includes("env steps/s")) end(child);
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, stderr };
}

test.each<[string, (child: ReturnType<typeof spawn>) => void]>([
  ["a pipe that is closed", (child) => child.stdout!.destroy()],
  ["SIGHUP", (child) => child.kill("SIGHUP")],
  ["SIGTERM", (child) => child.kill("SIGTERM")],
])("%s stops a run as Ctrl-C does", async (name, end) => {
  const folder = join(root, name);
  const { code, stderr } = await endedBy(folder, end);
  expect([code, stderr]).toEqual([1, expect.stringContaining("[stopped] the run was stopped after update ")]);
  if (name.startsWith("a pipe")) expect(stderr).toContain("Its output could not be written (EPIPE).");
  expect(existsSync(join(folder, LOCK_FILE))).toBe(false);
  expect(existsSync(join(folder, "report.html"))).toBe(true);

  const { iteration } = lastCheckpoint(folder).checkpoint.about;
  expect(stderr).toContain(`corral train --resume ${folder} goes on after update ${iteration}.`);
  expect(logOf(folder).at(-2)).toMatchObject({ iteration });
  const more = await corralInside(["train", "--resume", folder, "--steps", String(64 * (iteration + 1))]);
  expect(more.code, more.stderr).toBe(0);
});

test.runIf(existsSync("/dev/full"))(
  "output onto a full disk: the run goes on to its end, and the code tells",
  async () => {
    const folder = join(root, "full");
    const full = openSync("/dev/full", "w");
    const args = [builtCorral(), ...SMALL, "--steps", "256", "--out", folder];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", full, "pipe"] });
    closeSync(full);
    let stderr = "";
    child.stderr!.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect([code, stderr]).toEqual([1, expect.stringContaining("[output-not-written] stdout took no more (ENOSPC)")]);
    expect(lastCheckpoint(folder).checkpoint.about.iteration).toBe(4);
    expect(logOf(folder).at(-1)).toMatchObject({ end: true, envSteps: 256 });
  },
);

test.each([["list"], ["doctor", "--json"], ["train", "--help"]])(
  "%s into a closed pipe: the code tells",
  async (...args) => {
    const child = spawn(process.execPath, [builtCorral(), ...args], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    expect([await new Promise((resolve) => child.on("close", resolve)), stderr]).toEqual([141, ""]);
  },
);
