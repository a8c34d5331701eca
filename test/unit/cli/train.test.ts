import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PPO_OPTIONS } from "../../../src/rl/ppo/config.ts";
import { SAC_OPTIONS } from "../../../src/rl/sac/config.ts";
import { warnings } from "../../../src/cli/train-watch.ts";
import type { TrainProgress } from "../../../src/runs/progress.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";

worldsOnWasm();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-train-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const SMALL = [
  "--envs",
  "8",
  "--steps",
  "256",
  "--rollout-steps",
  "8",
  "--hidden",
  "8",
  "--eval-envs",
  "2",
  "--eval-every",
  "3",
];
const lines = (run: string) =>
  readFileSync(join(run, "log.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test("one of what was clipped is told in the singular", () => {
  const metrics = {
    rewardsClipped: 1,
    observationsClipped: 2,
    ratiosClipped: 1,
    badSteps: 1,
  } as TrainProgress["metrics"];
  const told = ["1 reward clipped", "2 observations clipped", "1 ratio clipped", "1 bad step"];
  expect(warnings({ metrics })).toEqual(told);
});

describe("corral train", () => {
  test("needs no adapter: --device wasm learns, is resumed and played there", async () => {
    const run = join(folder, "wasm");
    const { code, stdout, stderr } = await corral([
      "train",
      "CartPole",
      ...SMALL,
      "--device",
      "wasm",
      "--schedule",
      "constant",
      "--out",
      run,
    ]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("CartPole on wasm");
    expect(JSON.parse(readFileSync(join(run, "config.json"), "utf8"))).toMatchObject({ device: "wasm" });
    const resumed = await corral(["train", "--resume", run, "--steps", "320"]);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(lines(run).at(-1)).toMatchObject({ end: true, envSteps: 320 });
    const played = await corral(["play", run, "--episodes", "2"]);
    expect(played.stdout).toContain("CartPole on wasm");
    // its bits are those of its device
    const other = await corral(["train", "--resume", run, "--device", "gpu"]);
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("--resume takes --device")]);
    const none = await corral(["train", "CartPole", ...SMALL, "--device", "cpu", "--out", join(folder, "cpu")]);
    expect([none.code, none.stderr]).toEqual([expect.any(Number), expect.stringContaining('device: "wasm"')]);
  });

  test("trains, logs every update, keeps a config that makes the run again", async () => {
    const first = join(folder, "first");
    const { code, stdout, stderr } = await corral(["train", "CartPole", ...SMALL, "--seed", "3", "--out", first]);
    expect(code, stderr).toBe(0);
    for (const part of ["CartPole on ", "256 env steps of PPO", "memory", "env steps/s", "mean of 2 episodes"]) {
      expect(stdout).toContain(part);
    }
    expect(stdout).not.toContain("\u001B");

    const log = lines(first);
    expect(log).toHaveLength(5);
    expect(log.slice(0, 4).map(({ envSteps }) => envSteps)).toEqual([64, 128, 192, 256]);
    expect(log.map((line) => "evalReturn" in line)).toEqual([false, false, true, true, false]);
    expect(readFileSync(join(first, "report.html"), "utf8")).toContain("<h1>CartPole, PPO, seed 3</h1>");
    expect(log[4]).toMatchObject({ end: true, envSteps: 256, iterations: 4, episodes: 2 });

    // hidden was given, minLogStd is the default
    const config = JSON.parse(readFileSync(join(first, "config.json"), "utf8")) as Record<string, unknown>;
    expect(config).toMatchObject({ env: "CartPole", algo: "ppo", numEnvs: 8, seed: 3, hidden: [8], minLogStd: -5 });
    expect(config.targetKl).toBe("Infinity");

    const second = join(folder, "second");
    const again = await corral(["train", "--config", join(first, "config.json"), "--out", second, "--json"]);
    expect(again.code, again.stderr).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({
      id: "CartPole",
      folder: second,
      config: { hidden: [8], seed: 3 },
    });
    const numbers = (run: string) =>
      lines(run).map(({ policyLoss, kl, evalReturn }) => ({ policyLoss, kl, evalReturn }));
    expect(numbers(second)).toEqual(numbers(first));
  });

  test("trains with SAC, keeps its replay in the folder, and goes on from there to the same bits", async () => {
    const sac = ["--algo", "sac", "--envs", "4", "--collect-steps", "8", "--gradient-steps", "2", "--batch-size", "16"];
    const small = [...sac, "--hidden", "8", "--learning-starts", "64", "--buffer-size", "400", "--eval-every", "50"];
    const train = (out: string, ...more: string[]) =>
      corral(["train", "InvertedPendulum-v5", ...small, "--storage", "file", "--out", out, ...more]);
    const [whole, part] = [join(folder, "sac"), join(folder, "sac-part")];
    const ended = await train(whole, "--steps", "320");
    expect(ended.code, ended.stderr).toBe(0);
    for (const text of ["320 env steps of SAC", "temperature", "mean of 4 episodes"])
      expect(ended.stdout).toContain(text);
    const config = JSON.parse(readFileSync(join(whole, "config.json"), "utf8")) as Record<string, unknown>;
    expect(config).toMatchObject({ env: "InvertedPendulum-v5", algo: "sac", storage: "file", maxGradNorm: "Infinity" });

    expect((await train(part, "--steps", "192")).code).toBe(0);
    const resumed = await corral(["train", "--resume", part, "--steps", "320"]);
    expect(resumed.code, resumed.stderr).toBe(0);
    const numbers = (run: string) =>
      lines(run)
        .filter((line) => "valueLoss" in line)
        .map(({ envSteps, valueLoss, entropy, temperature }) => ({ envSteps, valueLoss, entropy, temperature }));
    expect(numbers(part)).toEqual(numbers(whole));
    expect(numbers(whole)).toHaveLength(10);

    rmSync(join(part, "replay.bin"));
    const lost = await corral(["train", "--resume", part, "--steps", "400"]);
    expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining("does not go on without its replay")]);
    // what could not begin leaves no replay in the way
    const refused = join(folder, "sac-refused");
    for (const _ of [0, 1]) {
      const { code, stderr } = await train(refused, "--steps", "320", "--budget", "1KiB");
      expect([code, stderr]).toEqual([3, expect.not.stringContaining("replay-exists")]);
    }
  });

  test("fails where --until was not reached", async () => {
    const out = join(folder, "until");
    const { code, stdout } = await corral(["train", "CartPole", ...SMALL, "--until", "501", "--out", out]);
    expect(code).toBe(1);
    expect(stdout).toContain("501 NOT reached");
    // a config that was cut short
    writeFileSync(join(out, "config.json"), "{");
    const { stderr } = await corral(["train", "--resume", out]);
    expect(stderr).toContain(`begin a run from its checkpoints: corral train ENV --from ${out}.`);
  });

  test("every hyperparameter is a flag that the help explains", async () => {
    const { stdout } = await corral(["train", "--help"]);
    for (const { doc } of [PPO_OPTIONS, SAC_OPTIONS].flatMap((table) => Object.values(table)))
      expect(stdout.replace(/\s+/g, " ")).toContain(doc);
    for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(100);
    expect(stdout).toContain("--gae-lambda");
  });

  test("refuses bad input before anything is made", async () => {
    const file = join(folder, "config.json");
    writeFileSync(file, JSON.stringify({ learningrate: 1 }));
    const texts = join(folder, "texts.json");
    writeFileSync(texts, JSON.stringify({ steps: "100" }));
    const replayed = ["InvertedPendulum-v5", "--algo", "sac", "--storage", "file"];
    const cases: [string[], number, string][] = [
      [[], 2, "ENV is missing"],
      [["CartPol"], 2, "nearest: CartPole"],
      [["CartPole", "--algo", "a2c"], 2, "pass ppo, sac, sac-discrete or dqn"],
      [["CartPole", "--algo", "sac"], 2, "Train it with SacDiscrete (--algo sac-discrete), DQN or PPO"],
      [["Hopper-v5", "--algo", "sac", "--epochs", "3"], 2, 'sac has no option "epochs"'],
      [["Hopper-v5", "--tau", "0.1"], 2, 'ppo has no option "tau"'],
      [["InvertedPendulum-v5", "--algo", "sac", "--storage", "tape"], 2, "storage is"],
      [["CartPole", "--storage", "file"], 2, 'ppo has no option "storage"'],
      [[...replayed, "--out", join(file, "below")], 1, "cannot be written (ENOTDIR)"],
      [[...replayed, "--out", file], 1, "cannot be written (EEXIST)"],
      [["CartPole", "--learning-rat", "0.1"], 2, "nearest: --learning-rate"],
      [["CartPole", "--dir", "runs"], 2, "nearest: --out"],
      [["CartPole", "--on-non-finite-update", "ignore"], 2, 'pass "throw" or "lower"'],
      [["CartPole", "--hidden", "a"], 2, "pass numbers such as 64,64"],
      [["CartPole", "--hidden", "0"], 2, "hidden is [0]"],
      [["CartPole", "--gamma", "1.5"], 2, "gamma is 1.5"],
      [["CartPole", "--normalize-rewards", "yes"], 2, "pass true or false"],
      [["CartPole", "--steps", "0"], 2, "pass an integer of at least 1"],
      [["CartPole", "--steps", "1e400"], 2, "--steps is Infinity; pass an integer from 1 to 9007199254740991"],
      [["CartPole", "--schedule", "cosine"], 2, "adaptive"],
      [["CartPole", "--schedule", "adaptive"], 2, "targetKl is Infinity"],
      [["CartPole", "--config", file], 2, "nearest: learningRate"],
      [["CartPole", "--config", join(folder, "none.json")], 2, "cannot be read"],
      [["CartPole", "--config", texts], 2, '--steps is "100"; pass an integer of at least 1.'],
      [["CartPole", "--eval-envs", "65"], 2, "evalEnvs is 65; the learner has room for 64 worlds"],
      [["CartPole", "--budget", "1KiB"], 3, "budget"],
      [["CartPole", "--out", join(folder, "first")], 2, "holds a run already"],
    ];
    for (const [args, code, text] of cases) {
      const ended = await corral(["train", ...args]);
      expect(ended.stderr, args.join(" ")).toContain(text);
      expect([ended.code, ended.stdout], args.join(" ")).toEqual([code, ""]);
    }
  });
});
