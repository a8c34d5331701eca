// one process at a time in the folder of a run; what was killed before it saved anything is started again
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { worldsOnWasm } from "../support/on-wasm.ts";
import "../../envs/index.ts";
import { listCheckpoints } from "../../src/runs/checkpoints.ts";
import { LOCK_FILE, lockRun } from "../../src/runs/lock.ts";
import { corralInside as corral } from "../support/cli-inside.ts";
import { logOf } from "../support/runs.ts";

worldsOnWasm();

const root = mkdtempSync(join(tmpdir(), "corral-lock-"));
afterAll(() => rmSync(root, { recursive: true }));

const TINY = "--envs 4 --eval-envs 2 --hidden 8 --eval-every 100".split(" ");
const ppo = (out: string) => ["train", "CartPole", ...TINY, "--rollout-steps", "8", "--steps", "64", "--out", out];
const codeOf = (folder: string): unknown => {
  try {
    lockRun(folder)[Symbol.dispose]();
    return "free";
  } catch (error) {
    return (error as { code: string }).code;
  }
};

function folderOf(name: string, lock?: string): string {
  const folder = join(root, name);
  mkdirSync(folder);
  if (lock !== undefined) writeFileSync(join(folder, LOCK_FILE), lock);
  return folder;
}

/** A process that has ended. */
const GONE = spawnSync(process.execPath, ["-e", "0"]).pid;
const holder = (changes: object) => JSON.stringify({ pid: GONE, host: hostname(), started: "1 boot", ...changes });

test("two that train into the same folder: the second is told who holds it", async () => {
  const folder = join(root, "both");
  mkdirSync(folder);
  {
    using lock = lockRun(folder);
    expect(lock.tookOver).toBe(false);
    const { code, stderr } = await corral(ppo(folder));
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`[run-locked] ${folder} is held by process ${process.pid}`),
    ]);
    expect(readdirSync(folder)).toEqual([LOCK_FILE]);
  }
  expect(readdirSync(folder)).toEqual([]);
  expect((await corral(ppo(folder))).code).toBe(0);
  expect(readdirSync(folder)).not.toContain(LOCK_FILE);
  using _ = lockRun(folder);
  const resumed = await corral(["train", "--resume", folder, "--steps", "128"]);
  expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringContaining("[run-locked]")]);
  expect(logOf(folder).at(-1)).toMatchObject({ end: true, envSteps: 64 });
});

test("a lock of a process that is gone is taken over, and no other", () => {
  const cases: [string, string, string][] = [
    ["dead", holder({}), "free"],
    ["its number is another's now", holder({ pid: process.pid }), "free"],
    ["cut off", '{"pid":', "free"],
    ["alive", holder({ pid: process.pid, started: "" }), "run-locked"],
    ["elsewhere", holder({ host: "elsewhere" }), "run-locked"],
  ];
  for (const [name, lock, expected] of cases) {
    const folder = folderOf(name, lock);
    // half of a page: of one who was killed while it wrote
    const half = `.report.html.partial-${GONE}`;
    writeFileSync(join(folder, half), "<p");
    expect([name, codeOf(folder)]).toEqual([name, expected]);
    expect(readdirSync(folder)).toEqual(expected === "free" ? [] : [half, LOCK_FILE]);
  }
});

test("what was killed before its first checkpoint is started again by the same command", async () => {
  const sac = "--algo sac --collect-steps 4 --batch-size 16 --buffer-size 200 --learning-starts 16 --storage file";
  const train = (out: string) =>
    corral(["train", "InvertedPendulum-v5", ...TINY, ...sac.split(" "), "--steps", "64", "--out", out]);
  // while the replay was made
  const early = folderOf("early", holder({}));
  writeFileSync(join(early, "replay.bin"), new Uint8Array(5000));
  const { code, stderr } = await train(early);
  expect(code, stderr).toBe(0);

  // after some updates
  const later = join(root, "later");
  expect((await train(later)).code).toBe(0);
  rmSync(join(later, "checkpoints"), { recursive: true });
  const again = await train(later);
  expect(again.code, again.stderr).toBe(0);
  expect(logOf(later).filter(({ iteration }) => iteration === 1)).toHaveLength(1);
  expect(readdirSync(later).filter((name) => name.startsWith("events."))).toHaveLength(1);

  // a run that has saved something is kept, and so is a replay that no run of this folder made
  expect(listCheckpoints(later).length).toBeGreaterThan(0);
  expect((await train(later)).stderr).toContain("[run-exists]");
  const others = folderOf("others");
  writeFileSync(join(others, "replay.bin"), "mine");
  expect((await train(others)).stderr).toContain("[replay-exists]");
  expect(readFileSync(join(others, "replay.bin"), "utf8")).toBe("mine");
});

test("what cannot begin leaves no folder", async () => {
  const folder = join(root, "nothing");
  expect((await corral([...ppo(folder), "--budget", "1KiB"])).code).toBe(3);
  expect(existsSync(folder)).toBe(false);
});
