// a replay in a file that lacks the last rows, as after a power cut: the run goes on from an older checkpoint
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { worldsOnWasm } from "../support/on-wasm.ts";
import "../../envs/index.ts";
import { listCheckpoints } from "../../src/runs/checkpoints.ts";
import { RunFolder } from "../../src/runs/folder.ts";
import type { TrainOptions } from "../../src/runs/options.ts";
import { TrainingRun } from "../../src/runs/train.ts";
import { trainRun } from "../support/runs.ts";

worldsOnWasm();

const root = mkdtempSync(join(tmpdir(), "corral-older-"));
afterAll(() => rmSync(root, { recursive: true }));

test("resumes from the newest checkpoint whose rows are in the file, and refuses if there is none", async () => {
  const folder = join(root, "run");
  mkdirSync(folder);
  const replayFile = join(folder, "replay.bin");
  const options: TrainOptions = {
    algo: "sac",
    numEnvs: 4,
    steps: 160,
    seed: 3,
    evalEnvs: 2,
    evalEvery: 100,
    checkpointEvery: 3,
    config: {
      collectSteps: 4,
      gradientSteps: 1,
      batchSize: 8,
      bufferSize: 400,
      learningStarts: 16,
      hidden: [8],
      storage: "file",
    },
    replayFile,
  };
  const copy = (update: number) => join(root, `after-${update}`);
  {
    await using run = await TrainingRun.create("InvertedPendulum-v5", options);
    await trainRun(folder, run, (update) => {
      if (update === 1 || update === 7) copyFileSync(replayFile, copy(update));
    });
  }
  expect(listCheckpoints(folder).map((path) => /\d+/.exec(path.slice(-20))![0])).toEqual([
    "00000010",
    "00000009",
    "00000006",
  ]);

  const resumed = async (update: number) => {
    copyFileSync(copy(update), replayFile);
    await using run = await TrainingRun.create("InvertedPendulum-v5", { ...options, reuseReplay: true });
    const { opened, notes, iteration } = await RunFolder.resume(folder, run);
    opened.close();
    return { notes, iteration };
  };
  const { notes, iteration } = await resumed(7);
  expect(iteration).toBe(6);
  expect(notes.filter((note) => note.includes("the snapshot was taken at row"))).toHaveLength(2);
  await expect(resumed(1)).rejects.toMatchObject({ code: expect.stringMatching(/^bad-/) });
});
