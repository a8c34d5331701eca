// runs that grow: each starts from what another has learnt, with other worlds and parameters of the task
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import "../../../envs/index.ts";
import { Ppo } from "../../../src/rl/ppo.ts";
import { SAC_STATE, STATE } from "../../../src/rl/tables/device-tables.ts";
import { lastCheckpoint } from "../../../src/runs/checkpoints.ts";
import { planRun } from "../../../src/runs/plan.ts";
import { TrainingRun } from "../../../src/runs/train.ts";
import type { TrainOptions } from "../../../src/runs/options.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";
import { bitsOf, TINY, trainInto } from "../../support/runs.ts";

worldsOnWasm();

const root = mkdtempSync(join(tmpdir(), "corral-from-"));
const [ppo, sac] = [join(root, "ppo"), join(root, "sac")];
const SAC: TrainOptions = {
  algo: "sac",
  numEnvs: 4,
  steps: 80,
  evalEnvs: 2,
  config: { batchSize: 16, bufferSize: 400, learningStarts: 32, hidden: [8], normalizeObservations: true },
};
beforeAll(async () => {
  await trainInto(ppo, "InvertedPendulum-v5", { ...TINY, evalEvery: 100 });
  await trainInto(sac, "InvertedPendulum-v5", SAC);
});
afterAll(() => rmSync(root, { recursive: true }));

const learnt = (folder: string): Record<string, Uint32Array> =>
  lastCheckpoint(folder).checkpoint.state.snapshot.learner;
const configOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as Record<string, unknown>;

describe("what a run starts from", () => {
  test("PPO: policy, value and both normalisers; optimizer, counts and bounds of actions are its own", async () => {
    const options: TrainOptions = { ...TINY, numEnvs: 24, config: { learningRate: 1e-4 }, from: ppo };
    await using run = await TrainingRun.create("InvertedPendulum-v5", options);
    const { learner, iteration, envSteps } = await run.algorithm.snapshot();
    const was = learnt(ppo);
    expect([iteration, envSteps]).toEqual([0, 0]);
    expect(learner.params).toEqual(was.params);
    expect(learner.norm).toEqual(was.norm);
    expect(learner.moments.every((word) => word === 0)).toBe(true);
    const [first, end] = [STATE.reward_mean, STATE.reward_scale + 1];
    expect(learner.state.subarray(first, end)).toEqual(was.state.subarray(first, end));
    expect(new Float32Array(learner.state.buffer)[STATE.reward_scale]).not.toBe(1);
    // its hidden layers are that run's
    expect(run.algorithm.config).toMatchObject({ hidden: [8], learningRate: 1e-4 });
    expect(run.settings.from).toContain("update-00000012.safetensors");
    expect((await planRun("InvertedPendulum-v5", options)).totalBytes).toBe(run.bytes);
  });

  test("PPO: a spread outside of the new bounds comes into them, so that worlds act by what the loss reads", async () => {
    const config = { minLogStd: 0.5 };
    await using run = await TrainingRun.create("InvertedPendulum-v5", { ...TINY, config, from: ppo });
    const { algorithm } = run;
    if (!(algorithm instanceof Ppo)) throw new Error("not PPO");
    expect([...algorithm.named(await algorithm.snapshot()).log_std.data]).toEqual([0.5]);
  });

  test("SAC: policy, critics, targets, temperature and normaliser, into another replay", async () => {
    await using run = await TrainingRun.create("InvertedPendulum-v5", {
      numEnvs: 7,
      config: { bufferSize: 700 },
      from: sac,
    });
    const { learner } = await run.algorithm.snapshot();
    expect(run.algorithm.algo).toBe("sac");
    expect(learner.params).toEqual(learnt(sac).params);
    expect(learner.norm).toEqual(learnt(sac).norm);
    expect(learner.state[SAC_STATE.log_alpha]).toBe(learnt(sac).state[SAC_STATE.log_alpha]);
    await run.algorithm.iterate();
  });

  test("collecting threads act by it from the first rollout on", async () => {
    const options: TrainOptions = { ...TINY, config: {}, from: ppo, collect: "async", collectThreads: 1 };
    await using run = await TrainingRun.create("InvertedPendulum-v5", { ...options, evalEnvs: 2 });
    const { episodeLength } = await run.algorithm.iterate();
    expect(episodeLength).not.toBe(0);
  });

  test.each<[string, string, TrainOptions, string]>([
    ["another task", "CartPole", { from: "ppo" }, "policy.1.weight is [1, 8] there and would be [2, 8] for CartPole"],
    [
      "other observations",
      "Hopper-v5",
      { from: "ppo" },
      "policy.0.weight is [8, 4] there and would be [8, 11] for Hopper-v5",
    ],
    ["other layers", "InvertedPendulum-v5", { from: "ppo", config: { hidden: [9] } }, "hidden is 8 there and 9 here"],
    [
      "another activation",
      "InvertedPendulum-v5",
      { from: "ppo", config: { activation: "relu" } },
      "activation is tanh there",
    ],
    ["another algorithm", "InvertedPendulum-v5", { from: "sac", algo: "ppo" }, "it was trained with sac, not ppo"],
  ])("%s is refused by name", async (_, id, options, text) => {
    const started = TrainingRun.create(id, { numEnvs: 8, ...options, from: join(root, options.from!) });
    await expect(started).rejects.toMatchObject({ code: "does-not-fit", message: expect.stringContaining(text) });
  });
});

test("corral train --from: more worlds and another task's parameters; made again, killed and gone on to the same bits", async () => {
  const first = join(root, "first");
  const flags = "--envs 16 --steps 512 --set reset_noise_scale=0.05 --eval-envs 2".split(" ");
  const run = await corral(["train", "--from", ppo, ...flags, "--out", first]);
  expect(run.code, run.stderr).toBe(0);
  expect(run.stdout).toContain(`starts from ${join(ppo, "checkpoints", "update-00000012.safetensors")}`);
  expect(run.stdout).toContain("16 worlds, 512 env steps of PPO");
  // what was not given is that run's
  expect(configOf(first)).toMatchObject({
    env: "InvertedPendulum-v5",
    seed: 3,
    hidden: [8],
    "set.reset_noise_scale": 0.05,
  });

  const again = join(root, "again");
  expect((await corral(["train", "--config", join(first, "config.json"), "--out", again])).code).toBe(0);
  expect(bitsOf(again)).toEqual(bitsOf(first));

  // a run with an environment of its own has that one's defaults; it goes on without the run that it started from
  const other = join(root, "other");
  const named = ["train", "InvertedPendulum-v5", "--from", sac, "--steps", "64", "--envs", "4", "--out", other];
  const small = "--batch-size 16 --buffer-size 400 --learning-starts 32 --hidden 8 --eval-envs 2".split(" ");
  const grown = await corral([...named, ...small]);
  expect(grown.code, grown.stderr).toBe(0);
  expect(configOf(other)).toMatchObject({ algo: "sac", gradientSteps: 16 });
  rmSync(sac, { recursive: true });
  const more = await corral(["train", "--resume", other, "--steps", "128"]);
  expect(more.code, more.stderr).toBe(0);
});

test("stages in one config: each from the one before, gone on where they ended, refused before the first begins", async () => {
  const [config, bad, out] = ["stages.json", "bad.json", "stages"].map((name) => join(root, name));
  const base = { env: "InvertedPendulum-v5", evalEnvs: 2, hidden: [8], rolloutSteps: 8, minibatches: 2, steps: 128 };
  const stages = [
    { numEnvs: 4, "set.reset_noise_scale": 0.001 },
    { numEnvs: 16, "set.reset_noise_scale": 0.02 },
  ];
  writeFileSync(bad, JSON.stringify({ ...base, stages: [...stages, { gama: 0.9 }] }));
  const refused = await corral(["train", "--config", bad, "--out", out]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('ppo has no option "gama"')]);
  expect(existsSync(out)).toBe(false);

  writeFileSync(config, JSON.stringify({ ...base, stages }));
  const { code, stdout, stderr } = await corral(["train", "--config", config, "--out", out, "--json"]);
  expect(code, stderr).toBe(0);
  const ends = (JSON.parse(stdout) as { stages: { folder: string }[] }).stages;
  const [first, second] = ends.map(({ folder }) => folder);
  expect([first, second]).toEqual([join(out, "stage-1"), join(out, "stage-2")]);
  expect(configOf(first)).toMatchObject({ numEnvs: 4, "set.reset_noise_scale": 0.001 });
  const { path } = lastCheckpoint(first).checkpoint;
  expect(configOf(second)).toMatchObject({ numEnvs: 16, "set.reset_noise_scale": 0.02, from: path });

  expect((await corral(["train", "--config", config, "--out", out])).stderr).toContain("[run-exists]");
  const bits = bitsOf(second);
  rmSync(second, { recursive: true });
  const again = await corral(["train", "--resume", out]);
  expect(again.code, again.stderr).toBe(0);
  expect(again.stdout).not.toContain("stage 1 of 2");
  expect(bitsOf(second)).toEqual(bits);
});

const STAGES = {
  env: "InvertedPendulum-v5",
  evalEnvs: 2,
  hidden: [8],
  rolloutSteps: 8,
  minibatches: 2,
  numEnvs: 4,
  steps: 64,
};

test.each([
  [{ env: "HalfCheetah-v5" }, "stage 2 cannot start from stage 1: policy.0.weight is [8, 4] there"],
  [{ hidden: [16] }, "stage 2 cannot start from stage 1: hidden is 8 there and 16 here"],
  [{ algo: "sac" }, 'sac has no option "rolloutSteps"'],
  [{ evalEnvs: 8 }, "evalEnvs"],
  [{ "set.nothing": 1 }, "nothing"],
  [{ budget: "1KiB" }, "[budget-exceeded]"],
  [{ env: "./task.mts" }, "[task-not-followed]"],
])("a stage that cannot follow is refused before the first begins: %j", async (second, text) => {
  const [config, out] = [join(root, "unfit.json"), join(root, "unfit")];
  writeFileSync(config, JSON.stringify({ ...STAGES, stages: [{}, second] }));
  const { code, stderr } = await corral(["train", "--config", config, "--out", out]);
  expect(stderr).toContain(text);
  expect([code === 0, existsSync(out)]).toEqual([false, false]);
});

test("stages of an environment of the command line, and of their own, go on with --resume", async () => {
  const [config, out] = [join(root, "named.json"), join(root, "named")];
  const { env: _, ...base } = STAGES;
  writeFileSync(config, JSON.stringify({ ...base, stages: [{ env: "InvertedPendulum-v5" }, { seed: 1 }] }));
  const made = await corral(["train", "InvertedPendulum-v5", "--config", config, "--out", out]);
  expect(made.code, made.stderr).toBe(0);
  rmSync(join(out, "stage-2"), { recursive: true });
  const again = await corral(["train", "--resume", out]);
  expect([again.code, again.stderr]).toEqual([0, expect.not.stringContaining("missing")]);
  expect(configOf(join(out, "stage-2"))).toMatchObject({ env: "InvertedPendulum-v5", seed: 1 });
});

test.each([
  [["--from", "nowhere"], "[no-run]"],
  [["CartPole", "--from", "ppo"], "[does-not-fit]"],
  [["--from", "ppo", "--algo", "sac"], "[does-not-fit]"],
])("corral train %s: %s", async (args, text) => {
  const out = join(root, "refused");
  const { code, stderr } = await corral(["train", ...args.map((a) => (a === "ppo" ? ppo : a)), "--out", out]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
});
