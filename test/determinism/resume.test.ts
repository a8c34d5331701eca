// a training run that was cut off and goes on is the uninterrupted run: parameters, moments, worlds, log
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import "../../envs/index.ts";
import { lastCheckpoint, listCheckpoints } from "../../src/runs/checkpoints.ts";
import { LOG_FILE } from "../../src/runs/folder.ts";
import type { TrainOptions } from "../../src/runs/options.ts";
import { builtCorral } from "../support/built.ts";
import { corralInside } from "../support/cli-inside.ts";
import { ROOT } from "../support/imports.ts";
import { bitsOf, cutAfter, CutOff, logOf, stateOf, TINY, trainInto, UPDATES, wordsOf } from "../support/runs.ts";
import { holdDevice } from "../support/hold-device.ts";
import { isFull } from "../support/sweep.ts";

holdDevice();

const root = mkdtempSync(join(tmpdir(), "corral-resume-"));
afterAll(() => rmSync(root, { recursive: true }));

/** On the driver with `test:full`: what a run keeps is of no device, and adaptive PPO and SAC are on the driver. */
const OFTEN_ON_WASM: TrainOptions = isFull ? TINY : { ...TINY, env: { device: "wasm" } };

const ADAPTIVE = {
  ...TINY,
  env: { reset_noise_scale: 0.02 },
  config: { ...TINY.config, schedule: "adaptive", targetKl: 0.01, finalLogStd: -2 },
} satisfies TrainOptions;
/** 60 updates of 4 env steps each, the first 16 of them with uniform actions. */
const SAC: TrainOptions = {
  algo: "sac",
  numEnvs: 4,
  steps: 240,
  seed: 3,
  evalEnvs: 2,
  evalEvery: 40,
  checkpointEvery: 25,
  config: { collectSteps: 1, gradientSteps: 1, batchSize: 16, bufferSize: 160, learningStarts: 64, hidden: [8] },
};

/** The same of DQN, whose actions are random less and less. */
const DQN: TrainOptions = {
  ...SAC,
  algo: "dqn",
  env: { device: "wasm" },
  config: { ...SAC.config, explorationSteps: 200 },
};

const SAC_DISCRETE: TrainOptions = { ...SAC, algo: "sac-discrete", env: { device: "wasm" } };

describe.each<[string, string, TrainOptions, number, number]>([
  ["ppo, adaptive", "InvertedPendulum-v5", ADAPTIVE, 5, UPDATES],
  ["ppo", "CartPole", OFTEN_ON_WASM, 5, UPDATES],
  ["sac", "InvertedPendulum-v5", SAC, 25, 60],
  ["dqn", "CartPole", DQN, 25, 60],
  ["sac of discrete actions", "CartPole", SAC_DISCRETE, 25, 60],
  ["ppo, async", "InvertedPendulum-v5", { ...OFTEN_ON_WASM, collect: "async", collectThreads: 1 }, 5, UPDATES],
])("%s", (name, id, options, from, updates) => {
  test("a run that was cut off goes on to the same bits", async () => {
    const [whole, cut] = [join(root, `whole-${name}`), join(root, `cut-${name}`)];
    await trainInto(whole, id, options);
    await expect(trainInto(cut, id, options, cutAfter(from + 3))).rejects.toThrow(CutOff);
    expect(logOf(cut)).toHaveLength(from + 3);

    const { code, stdout, stderr } = await corralInside(["train", "--resume", cut]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain(`goes on after update ${from}, `);
    expect(bitsOf(cut)).toEqual(bitsOf(whole));
    expect(
      bitsOf(cut)
        .filter((line) => !line.end)
        .map(({ iteration }) => iteration),
    ).toEqual(Array.from({ length: updates }, (_, i) => i + 1));
    expect(logOf(cut)[from]).toMatchObject({ event: "resumed", iteration: from });
    expect(wordsOf(cut)).toEqual(wordsOf(whole));
    expect(stateOf(cut)).toEqual(stateOf(whole));
    expect([...lastCheckpoint(cut).checkpoint.policy.keys()]).toContain("policy.0.weight");

    // there is nothing left to do, and more if more is asked for
    expect((await corralInside(["train", "--resume", cut, "--json"])).code).toBe(0);
    expect(bitsOf(cut)).toEqual(bitsOf(whole));
    const more = await corralInside(["train", "--resume", cut, "--steps", String(options.steps! + 1)]);
    expect(more.code, more.stderr).toBe(0);
    expect(logOf(cut).at(-1)).toMatchObject({ end: true, iterations: updates + 1 });
  });
});

const KILLS = isFull ? 3 : 2;

test("kill -9 at any moment loses at most an interval, and never the last good checkpoint", async () => {
  const [whole, folder] = [join(root, "whole"), join(root, "killed")];
  const updates = 400;
  // the subject is the process: as WebAssembly it starts in a second
  const flags =
    "--device wasm --envs 8 --rollout-steps 8 --hidden 8 --eval-envs 2 --eval-every 500 --checkpoint-every 2".split(
      " ",
    );
  const args = ["train", "CartPole", ...flags, "--steps", String(64 * updates)];
  expect((await corralInside([...args, "--out", whole])).code).toBe(0);

  let reached = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const child = spawn(
      process.execPath,
      [builtCorral(), ...(kill === 0 ? [...args, "--out", folder] : ["train", "--resume", folder])],
      { cwd: ROOT, stdio: "ignore" },
    );
    const ended = new Promise((resolve) => child.on("close", resolve));
    const log = join(folder, LOG_FILE);
    const size = () => (existsSync(log) ? statSync(log).size : 0);
    const before = size();
    while (size() <= before + 2000 && child.exitCode === null) await sleep(5);
    await sleep(Math.random() * 100);
    child.kill("SIGKILL");
    await ended;

    const logged = logOf(folder).length === 0 ? 0 : Math.max(...iterationsOf(folder));
    const { checkpoint, damaged } = lastCheckpoint(folder);
    expect(damaged).toEqual([]);
    expect(checkpoint.about.iteration).toBeGreaterThanOrEqual(Math.max(reached, logged - 3));
    expect(listCheckpoints(folder).length).toBeLessThanOrEqual(4);
    reached = checkpoint.about.iteration;
  }
  expect(reached).toBeLessThan(updates);
  expect((await corralInside(["train", "--resume", folder])).code).toBe(0);
  expect(bitsOf(folder)).toEqual(bitsOf(whole));
  expect(wordsOf(folder)).toEqual(wordsOf(whole));
});

/** Updates in the log of a run that was killed, whose last line may be cut off. */
const iterationsOf = (folder: string): number[] => logOf(folder).map(({ iteration }) => iteration as number);
