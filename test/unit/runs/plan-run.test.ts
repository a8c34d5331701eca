// a training run is planned as one: its plan is what it makes, to the byte, and what its refusals advise succeeds
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../../envs/index.ts";
import { type GpuDevice, openDevice } from "../../../src/gpu/device.ts";
import { createBudget } from "../../../src/memory/device-budget.ts";
import { BudgetExceededError } from "../../../src/memory/errors.ts";
import { planRun, type RunPlan } from "../../../src/runs/plan.ts";
import type { TrainOptions } from "../../../src/runs/options.ts";
import { TrainingRun } from "../../../src/runs/train.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";
import { watchDevice, type WatchedDevice } from "../../support/watch-device.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

const root = mkdtempSync(join(tmpdir(), "corral-plan-run-"));
// the null adapter makes everything and computes nothing
let gpu: GpuDevice;
let watch: WatchedDevice;
beforeAll(async () => {
  gpu = await openDevice({ adapter: "null" });
  watch = watchDevice(gpu);
});
afterAll(() => {
  watch.remove();
  gpu.close();
  rmSync(root, { recursive: true });
});

const small = { hidden: [8], rolloutSteps: 8, minibatches: 2 };
const sac = { hidden: [8], batchSize: 16, bufferSize: 4000 };
// its jobs are more than one binding of a uniform holds
const MEMORY = { hidden: [8], bufferSize: 4000, batchSize: 256, nSteps: 1, recurrent: "gru", recurrentSize: 8 };
const CASES: [string, string, TrainOptions][] = [
  ["few worlds", "CartPole", { numEnvs: 5, config: small }],
  ["shards, no recorder", "Hopper-v5", { numEnvs: 77, config: small, env: { shards: 3, recorder: false } }],
  ["a memory", "InvertedPendulum-v5", { numEnvs: 40, config: { ...small, recurrent: "gru" } }],
  ["27,000 actions", "ArmTable", { numEnvs: 16, evalEnvs: 4, config: { ...small, actionEmbedding: 4 } }],
  ["SAC", "InvertedPendulum-v5", { algo: "sac", numEnvs: 9, config: sac }],
  [
    "SAC, rows on the host, normalised",
    "Hopper-v5",
    { algo: "sac", numEnvs: 9, config: { ...sac, storage: "host", normalizeObservations: true } },
  ],
  ["SAC with a memory", "InvertedPendulum-v5", { algo: "sac", numEnvs: 9, config: MEMORY }],
  ["DQN", "CartPole", { algo: "dqn", numEnvs: 9, config: sac }],
  ["SAC of discrete actions", "ArmTable", { algo: "sac-discrete", numEnvs: 9, config: { ...sac, actionEmbedding: 4 } }],
];

test.each(CASES)("what a run makes is what was planned: %s", async (_, id, options) => {
  const budget = await createBudget(gpu);
  expect([watch.liveBytes(), budget.live]).toEqual([0, 0]);
  const plan = await planRun(id, options, { limits: gpu.limits });
  const run = await TrainingRun.create(id, { ...options, env: { ...options.env, device: gpu } });
  try {
    expect([watch.liveBytes(), budget.live, run.bytes]).toEqual([plan.totalBytes, plan.totalBytes, plan.totalBytes]);
    expect(run.memory).toEqual(plan.parts.map(({ name, plan: { totalBytes } }) => [name, totalBytes]));
    expect(plan.fields.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(plan.totalBytes);
    expect(plan.problems).toEqual([]);
    expect(plan.instead).toHaveLength(["CartPole", "ArmTable"].includes(id) ? 2 : 0);
  } finally {
    await run.close();
  }
  expect([watch.liveBytes(), budget.live]).toEqual([0, 0]);
});

/** Options of a run on the null adapter within a budget. */
const within = (options: TrainOptions, budget: string | number): TrainOptions => ({
  ...options,
  env: { ...options.env, device: gpu, budget },
});

describe.each<[string, TrainOptions]>([
  ["Hopper-v5", { numEnvs: 100_000, config: small }],
  ["InvertedPendulum-v5", { algo: "sac", numEnvs: 3000, config: { ...sac, bufferSize: 20_000 } }],
])("%s, too many worlds", (id, options) => {
  const BUDGET = "3MiB";

  test("the most worlds that train are named exactly, before anything is made", async () => {
    const before = { ...watch.made };
    const refused = TrainingRun.create(id, within(options, BUDGET));
    await expect(refused).rejects.toThrowError(BudgetExceededError);
    expect(watch.made).toEqual(before);
    const error = (await refused.catch((e: unknown) => e)) as BudgetExceededError;
    const [, numEnvs] = /numEnvs: (\d+), the most that fits/.exec(error.message)!.map(Number);
    const plan = error.plan as RunPlan;
    expect(plan.largestNumEnvs).toBe(numEnvs);
    expect(plan.parts.map(({ name }) => name)).toEqual(["environments", "evaluation", "learner"]);
    expect(error.message).toContain(`training ${id} with`);

    // the advice that is printed, and one world more
    const run = await TrainingRun.create(id, within({ ...options, numEnvs }, BUDGET));
    expect(run.env.numEnvs).toBe(numEnvs);
    await run.close();
    const more = TrainingRun.create(id, within({ ...options, numEnvs: numEnvs + 1 }, BUDGET));
    await expect(more).rejects.toThrowError(BudgetExceededError);
  });

  test("shrink trains them", async () => {
    const told: string[] = [];
    const shrink = { onOverBudget: "shrink", onShrink: (text: string) => told.push(text) } as const;
    await using run = await TrainingRun.create(id, { ...within(options, BUDGET), ...shrink });
    const { numEnvs, evalEnvs } = run.settings;
    expect(numEnvs).toBeGreaterThan(32);
    expect([run.env.numEnvs, evalEnvs]).toEqual([numEnvs, 32]);
    expect(told).toEqual([expect.stringMatching(/worlds do not fit \(.* needed, 3\.00 MiB free\); [\d,]+ train\.$/)]);
    expect(await planRun(id, within({ ...options, numEnvs }, BUDGET), { limits: gpu.limits })).toMatchObject({
      totalBytes: run.bytes,
      largestNumEnvs: numEnvs,
      problems: [],
    });
  });
});

test("limits of a device end the growth of a run too, with advice that succeeds", async () => {
  const options: TrainOptions = { numEnvs: 100_000, config: { ...small, rolloutSteps: 64 } };
  const plan = await planRun("Ant-v5", options);
  expect(plan.problems).toEqual([expect.objectContaining({ code: "limit-exceeded" })]);
  const [, numEnvs] = /Pass numEnvs: (\d+)\./.exec(plan.problems[0].text)!.map(Number);
  expect(plan.largestNumEnvs).toBe(numEnvs);
  expect((await planRun("Ant-v5", { ...options, numEnvs })).problems).toEqual([]);
  expect((await planRun("Ant-v5", { ...options, numEnvs: numEnvs + 1 })).problems).toHaveLength(1);
  expect(plan.bound).toMatchObject({ limit: "maxStorageBufferBindingSize", arena: "rollout_obs" });
});

test("what lies on the host is told", async () => {
  const host = async (options: TrainOptions) => (await planRun("InvertedPendulum-v5", options)).host.map((h) => h.name);
  expect(await host({ numEnvs: 8 })).toEqual([]);
  const rows = { ...sac, storage: "file" };
  expect(await host({ algo: "sac", numEnvs: 8, config: rows, collect: "async", collectThreads: 2 })).toEqual([
    "the replay, on the disk",
    "worlds that collect",
  ]);
});

test("a budget's listener makes room before a run is refused", async () => {
  const options: TrainOptions = { numEnvs: 64, config: small };
  const other = await TrainingRun.create("CartPole", within(options, "4GiB"));
  const budget = await createBudget(gpu);
  const limit = Math.floor(1.5 * other.bytes);
  const stop = budget.onPressure(async ({ level }) => (level === 1 ? other.close() : undefined));
  await using run = await TrainingRun.create("CartPole", within(options, limit));
  expect(budget.live).toBe(run.bytes);
  stop();
});

const FLAGS = "--hidden 8 --rollout-steps 8 --minibatches 2".split(" ");

test("corral plan --train says how many worlds train; corral train follows, and says that it does", async () => {
  const plan = ["plan", "CartPole", "--train", ...FLAGS, "--envs", "100000", "--budget", "2MiB"];
  const { code, stdout } = await corral(plan);
  expect(code).toBe(3);
  expect(stdout).toMatch(/^learner.rollout_obs /m);
  expect(stdout).toMatch(/^budget-exceeded +[\d.]+ MiB needed, 2.00 MiB free$/m);
  const [, most] = /^At most ([\d,]+) worlds train \(budget: 2.00 MiB\)\.$/m.exec(stdout)!;
  const json = JSON.parse((await corral([...plan, "--json"])).stdout) as RunPlan;
  expect(json.largestNumEnvs).toBe(Number(most.replaceAll(",", "")));
  expect(json.parts).toMatchObject([{ name: "environments", numEnvs: 100_000 }, { numEnvs: 32 }, { name: "learner" }]);

  const out = join(root, "run");
  const train = ["train", "CartPole", ...FLAGS, "--envs", "100000", "--budget", "2MiB", "--steps", "1"];
  const refused = await corral([...train, "--on-over-budget", "throw", "--out", out]);
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining(`numEnvs: ${json.largestNumEnvs}, the`)]);
  const run = await corral([...train, "--out", out]);
  expect(run.code, run.stderr).toBe(0);
  expect(run.stdout).toContain(`CartPole: 100,000 worlds do not fit (`);
  expect(run.stdout).toContain(`; ${most} train.`);
  const config = JSON.parse(readFileSync(join(out, "config.json"), "utf8")) as Record<string, unknown>;
  expect(config.numEnvs).toBe(json.largestNumEnvs);
  expect(readFileSync(join(out, "log.jsonl"), "utf8")).toContain('"event":"fewer-worlds"');
  const more = await corral(["train", "--resume", out, "--steps", String(2 * 8 * json.largestNumEnvs)]);
  expect(more.code, more.stderr).toBe(0);
});

test.each([
  [["plan", "CartPole", "--train", "--measure", "10"], "--measure is given with --train"],
  [["plan", "CartPole", "--train", "--device", "tpu"], "--device is 'tpu': pass auto"],
  [["plan", "CartPole", "--envs", "8", "--device", "tpu"], "--device is 'tpu': pass auto"],
  [["plan", "CartPole", "--envs", "8", "--hidden", "8"], "--hidden is given without --train"],
  [["plan", "CartPole", "--train", "--algo", "sac"], "[unsupported-space]"],
])("%s: %s", async (args, text) => {
  const { code, stderr } = await corral(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
});

test("a replay that no buffer holds is told of, with what makes it smaller", async () => {
  const options: TrainOptions = { algo: "sac", config: { bufferSize: 100_000_000 } };
  const { problems, largestNumEnvs } = await planRun("Ant-v5", options);
  expect(largestNumEnvs).toBe(0);
  expect(problems[0].text).toMatch(
    /^arena replay_obs of .* No count of worlds fits\. What helps: a smaller bufferSize, or storage: "host"\.$/,
  );
  expect((await planRun("Ant-v5", { ...options, config: { bufferSize: 100_000 } })).problems).toEqual([]);
});
