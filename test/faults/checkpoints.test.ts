// checkpoints on bad disks, cut off, altered, of other runs: told in words, and the run goes on if it can
// alone in its process, since node:fs is replaced: @vitest-environment-options {"alone":"checkpoints"}
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { worldsOnWasm } from "../support/on-wasm.ts";
import "../../envs/index.ts";
import { decodeSafetensors, encodeSafetensors } from "../../src/io/safetensors.ts";
import { CHECKPOINTS, lastCheckpoint, listCheckpoints, saveCheckpoint } from "../../src/runs/checkpoints.ts";
import { CONFIG_FILE } from "../../src/runs/run-config.ts";
import { TrainingRun } from "../../src/runs/train.ts";
import { corralInside } from "../support/cli-inside.ts";
import { disk } from "../support/disk.ts";
import { bitsOf, TINY, trainInto, trainRun, UPDATES } from "../support/runs.ts";

worldsOnWasm();

vi.mock("node:fs", async (original) => (await import("../support/disk.ts")).limitedDisk(original));

const root = mkdtempSync(join(tmpdir(), "corral-checkpoints-"));
const good = join(root, "good");
beforeAll(async () => {
  await trainInto(good, "CartPole", { ...TINY, evalEvery: 100, checkpointEvery: 4 });
});
afterAll(() => rmSync(root, { recursive: true }));

/** A copy of the good run, to be spoilt. */
function copyOf(name: string): string {
  const folder = join(root, name);
  cpSync(good, folder, { recursive: true });
  return folder;
}

test("every cut and every altered byte is noticed", () => {
  const folder = copyOf("cut");
  const [last, ...older] = listCheckpoints(folder);
  expect(older).toHaveLength(2);
  const bytes = readFileSync(last);
  const noticed = () => {
    const { checkpoint, damaged } = lastCheckpoint(folder);
    expect(damaged).toMatchObject([{ code: "checkpoint-corrupt" }]);
    expect(checkpoint.path).toBe(older[0]);
  };
  for (const length of [0, 7, 8, 100, bytes.length - 1]) {
    writeFileSync(last, bytes);
    truncateSync(last, length);
    noticed();
  }
  for (let at = 0; at < bytes.length; at += Math.ceil(bytes.length / 97)) {
    const altered = Uint8Array.from(bytes);
    altered[at] ^= 1 << (at % 8);
    writeFileSync(last, altered);
    noticed();
  }
});

test("a damaged checkpoint: the run goes on from the one before it, and says so", async () => {
  const folder = copyOf("damaged");
  truncateSync(listCheckpoints(folder)[0], 1000);
  const { code, stdout } = await corralInside(["train", "--resume", folder]);
  expect(code).toBe(0);
  expect(stdout).toContain("is damaged: ");
  expect(stdout).not.toContain(".. Use");
  expect(stdout).toContain("goes on after update 8, 512 env steps");
  expect(bitsOf(folder)).toEqual(bitsOf(good));

  for (const path of listCheckpoints(folder)) truncateSync(path, 1000);
  const { stderr, code: ended } = await corralInside(["train", "--resume", folder]);
  expect([ended, stderr]).toEqual([2, expect.stringContaining("[checkpoint-corrupt]")]);
  expect(stderr).toContain("So are the 2 before it: start the run again, with another --out.");
  expect(stderr).not.toContain("Use the one before it");
});

test("what does not fit is refused in words", async () => {
  const newer = copyOf("newer");
  const [last] = listCheckpoints(newer);
  const { tensors, metadata } = decodeSafetensors(readFileSync(last), last);
  writeFileSync(last, encodeSafetensors(Object.fromEntries(tensors), { ...metadata, version: "2" }));

  const other = copyOf("other");
  const config = JSON.parse(readFileSync(join(other, CONFIG_FILE), "utf8")) as object;
  writeFileSync(
    join(other, CONFIG_FILE),
    JSON.stringify({ ...config, "set.sutton_barto_reward": true, learningRate: 0.5 }),
  );

  const empty = copyOf("empty");
  rmSync(join(empty, CHECKPOINTS), { recursive: true });

  const cases: [string[], string][] = [
    [[newer], "has version 2 of the format"],
    [[other], "learningRate was"],
    [[empty], "one that ended before its first checkpoint is started again by the command that began it"],
    [[join(root, "none")], "[no-run]"],
    [[good, "CartPole"], "takes the environment from"],
    [[good, "--seed", "4"], "takes --seed from"],
    [[good, "--out", "x"], "takes --out from"],
  ];
  for (const [args, text] of cases) {
    const { code, stderr } = await corralInside(["train", "--resume", ...args]);
    expect(stderr, args.join(" ")).toContain(text);
    expect(code).toBe(2);
  }
  expect((await corralInside(["train", "--resume", newer])).stderr).not.toContain("goes on");
});

test("a full disk: the run goes on, says what was not written, and writes the log when there is room", async () => {
  const folder = join(root, "full");
  const options = { ...TINY, evalEvery: 100, checkpointEvery: 4 };
  const said = await trainInto(folder, "CartPole", options, (iteration) => {
    if (iteration === 2) disk.room = 100;
    if (iteration === 9) disk.room = Infinity;
  });
  expect(said.join("\n")).toContain("checkpoint of update 4 was not written");
  expect(said.join("\n")).toContain("(ENOSPC); the run goes on");
  expect(said.filter((line) => line.startsWith("the checkpoint"))).toHaveLength(1);
  expect(said.filter((line) => line.startsWith("the log"))).toHaveLength(1);
  expect(readdirSync(join(folder, CHECKPOINTS))).toEqual([`update-000000${UPDATES}.safetensors`]);
  expect(bitsOf(folder)).toEqual(bitsOf(good));
});

test("a full disk at the end: the code tells, and what was saved or the same command goes on", async () => {
  const folder = join(root, "full-at-end");
  const train = "train CartPole --envs 8 --rollout-steps 8 --hidden 8 --minibatches 2 --epochs 2".split(" ");
  train.push(..."--eval-envs 2 --eval-every 100 --checkpoint-every 4 --seed 3 --steps 768 --out".split(" "), folder);
  // enough for config and log, not for a checkpoint
  const size = statSync(listCheckpoints(good)[0]).size;
  disk.room = size;
  const { code, stdout, stderr } = await corralInside(train);
  expect(code, stderr).toBe(1);
  expect(stdout).toContain("mean of 2 episodes");
  expect(stderr).toContain("[run-not-saved] the run has ended. Not written to");
  expect(stderr).toContain(`the checkpoint of update ${UPDATES} (ENOSPC)`);
  expect(stderr).toContain("Nothing was saved: give the same command again.");

  disk.room = Infinity;
  expect((await corralInside([...train, "--json"])).code).toBe(0);
  expect(bitsOf(folder)).toEqual(bitsOf(good));

  // with --json too, and with a checkpoint to go on from
  for (const path of listCheckpoints(folder).slice(1)) rmSync(path);
  disk.room = size / 2;
  const more = await corralInside(["train", "--resume", folder, "--steps", "1024", "--json"]);
  disk.room = Infinity;
  expect(more.code).toBe(1);
  expect(JSON.parse(more.stdout)).toMatchObject({
    notWritten: expect.arrayContaining(["the checkpoint of update 16 (ENOSPC)"]),
  });
  expect(more.stderr).toContain(`corral train --resume ${folder} goes on after update ${UPDATES}.`);
});

test("episodes that a full disk does not take leave no file in the way of the next try", async () => {
  const record = join(root, "episodes.jsonl");
  const args = ["play", good, "--episodes", "2", "--record", record];
  disk.room = 100;
  const full = await corralInside(args);
  disk.room = Infinity;
  expect(full.stderr).toContain("[record-not-written]");
  expect([full.code, existsSync(record)]).toEqual([1, false]);
  expect((await corralInside(args)).code).toBe(0);
  expect(readFileSync(record, "utf8").trim().split("\n")).toHaveLength(2);
});

test("where the disk is full, older checkpoints make room for the newest", () => {
  const folder = copyOf("room");
  const [newest, ...older] = listCheckpoints(folder);
  expect(older).toHaveLength(2);
  const bytes = readFileSync(newest);
  disk.room = bytes.length - 1;
  saveCheckpoint(folder, 100, bytes);
  expect(listCheckpoints(folder)).toEqual([expect.stringContaining("00000100"), newest]);
  disk.room = 0;
  expect(() => saveCheckpoint(folder, 104, Buffer.concat([bytes, bytes, bytes]))).toThrow("ENOSPC");
  disk.room = Infinity;
  expect(listCheckpoints(folder)).toEqual([expect.stringContaining("00000100")]);
});

test("a folder that cannot be written: refused at the start, told later on", async () => {
  const file = join(root, "file");
  writeFileSync(file, "");
  await expect(trainInto(join(file, "run"), "CartPole")).rejects.toMatchObject({ code: "run-not-written" });

  const folder = join(root, "blocked");
  mkdirSync(folder);
  writeFileSync(join(folder, CHECKPOINTS), "in the way");
  const said = await trainInto(folder, "CartPole");
  expect(said).toEqual([expect.stringContaining("the checkpoint of update 5 was not written")]);
  expect(bitsOf(folder)).toHaveLength(UPDATES + 1);
});

test("a run that is stopped saves what it goes on from", async () => {
  const folder = join(root, "stopped");
  await using run = await TrainingRun.create("CartPole", { ...TINY, evalEvery: 100, checkpointEvery: 4 });
  const stopped = trainRun(folder, run, (iteration) => {
    if (iteration === 7) run.stop();
  });
  await expect(stopped).rejects.toMatchObject({ code: "stopped" });
  expect(lastCheckpoint(folder).checkpoint.about.iteration).toBe(7);
  expect((await corralInside(["train", "--resume", folder])).code).toBe(0);
  expect(bitsOf(folder)).toEqual(bitsOf(good));
});
