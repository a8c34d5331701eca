// without an adapter too, plans are what is held, to the byte, with threads among the fields, and refusals lose nothing
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import "../../../envs/index.ts";
import { invertedPendulum } from "../../../envs/inverted_pendulum/task.ts";
import { makeVec, register, type Task } from "../../../src/env/index.ts";
import { hostBudget } from "../../../src/memory/host-budget.ts";
import { totalBytes } from "../../../src/memory/cost.ts";
import type { BudgetExceededError } from "../../../src/memory/errors.ts";
import { planTable } from "../../../src/memory/table.ts";
import { Ppo } from "../../../src/rl/index.ts";
import type { TrainOptions } from "../../../src/runs/options.ts";
import { planRun } from "../../../src/runs/plan.ts";
import { TrainingRun } from "../../../src/runs/train.ts";
import { plan } from "../../../src/sizing/plan.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";
import { TINY, trainInto } from "../../support/runs.ts";

const root = mkdtempSync(join(tmpdir(), "corral-plan-wasm-"));
afterAll(() => rmSync(root, { recursive: true }));
// a budget that was given stays
const { limit } = hostBudget();
afterEach(() => hostBudget().change({ limit }));

const small = { hidden: [8], rolloutSteps: 8, minibatches: 2 };
const wasm = { device: "wasm", threads: 2 } as const;

test("a plan has pages, private arrays and stacks as fields, which add up to what is held", async () => {
  const options = { numEnvs: 1024, ...wasm };
  const planned = await plan("HalfCheetah-v5", options);
  const before = hostBudget().live;
  await using env = await makeVec("HalfCheetah-v5", options);
  expect(hostBudget().live - before).toBe(planned.totalBytes);
  expect(env.plan.totalBytes).toBe(planned.totalBytes);
  expect(planned.fields.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(planned.totalBytes);
  expect(planned.fields.find(({ name }) => name === "threads")).toMatchObject({ bytes: 2 ** 24, remedy: "threads: 1" });
  expect(planTable(planned)).toMatch(/wasm +threads .* 16\.0 MiB/);
  const alone = await plan("HalfCheetah-v5", { ...options, threads: 1 });
  expect(alone.fields.some(({ name }) => name === "threads")).toBe(false);
});

test.each([
  ["CartPole", { threads: 2 }],
  ["HalfCheetah-v5", { threads: 3, shards: 5 }],
] as const)("the largest count is exact, however many worlds ask: %s", async (id, options) => {
  const free = 40e6;
  const of = (numEnvs: number) => plan(id, { ...options, device: "wasm", numEnvs, budget: free });
  const { largestNumEnvs: most } = await of(40);
  for (const asked of [64, 8000, 300_000]) {
    const { largestNumEnvs, totalBytes: bytes, cost, numEnvs, tileWidth } = await of(asked);
    expect([largestNumEnvs, totalBytes(cost, numEnvs / tileWidth)]).toEqual([most, bytes]);
  }
  expect((await of(most)).totalBytes).toBeLessThanOrEqual(free);
  expect((await of(most + 8)).totalBytes).toBeGreaterThan(free);
});

test("the most worlds of a run have room for those that collect, however many ask", async () => {
  const budget = 30e6;
  const of = (numEnvs: number) => {
    const env = { ...wasm, threads: 1, budget };
    return planRun("InvertedPendulum-v5", { numEnvs, evalEnvs: 4, ...ASYNC, config: small, env });
  };
  const { largestNumEnvs: most } = await of(8);
  expect((await of(400)).largestNumEnvs).toBe(most);
  expect((await of(most)).totalBytes).toBeLessThanOrEqual(budget);
  expect((await of(most + 1)).totalBytes).toBeGreaterThan(budget);
});

test("a batch that does not fit is refused with what its threads take, and one without them fits", async () => {
  const before = hostBudget().live;
  const options = { numEnvs: 1024, device: "wasm", budget: before + 2 ** 23 } as const;
  const refusal = await makeVec("HalfCheetah-v5", { ...options, threads: 2 }).catch((error: unknown) => error);
  expect((refusal as BudgetExceededError).code).toBe("budget-exceeded");
  expect((refusal as BudgetExceededError).remedies).toContain("threads: 1");
  expect(hostBudget().live).toBe(before);
  await using env = await makeVec("HalfCheetah-v5", { ...options, threads: 1 });
  expect(hostBudget().live - before).toBe(env.plan.totalBytes);
});

const grouped = {
  ...invertedPendulum,
  id: "PlannedGroups",
  observe: { policy: { q: "qpos" }, critic: { q: "qpos", v: "qvel", mass: "xpos(body.pole)" } },
} as Task;
register(grouped);

const HOST = { hidden: [8], batchSize: 16, bufferSize: 4000, storage: "host" };
const ASYNC = { collect: "async", collectThreads: 1 } as const;
const CASES: [string, string, TrainOptions][] = [
  ["PPO", "CartPole", { numEnvs: 40, config: small }],
  ["PPO, evaluated in fewer worlds", "HalfCheetah-v5", { numEnvs: 200, evalEnvs: 8, config: small }],
  ["PPO, whose critic sees more", grouped.id, { numEnvs: 24, config: small }],
  ["SAC", "InvertedPendulum-v5", { algo: "sac", numEnvs: 9, config: { hidden: [8], batchSize: 16, bufferSize: 4000 } }],
  ["SAC, rows on the host", "InvertedPendulum-v5", { algo: "sac", numEnvs: 32, config: HOST }],
  ["threads that collect", "InvertedPendulum-v5", { numEnvs: 8, ...ASYNC, config: small }],
];

test.each(CASES)("what is shared is within the whole: %s", async (_, id, options) => {
  for (const env of [{}, wasm]) {
    const { sharedBytes, sharedBytesPerShard, stagingBytes, totalBytes } = await planRun(id, { ...options, env });
    expect(sharedBytes + sharedBytesPerShard).toBeLessThanOrEqual(totalBytes);
    expect(stagingBytes > 0).toBe(env !== wasm);
  }
});

test.each(CASES)("a run holds what was planned: %s", async (_, id, options) => {
  const given = { ...options, env: { ...wasm } };
  const planned = await planRun(id, given);
  const before = hostBudget().live;
  const run = await TrainingRun.create(id, given);
  try {
    expect(hostBudget().live - before).toBe(planned.totalBytes);
    await run.evaluate();
    expect(hostBudget().live - before).toBe(planned.totalBytes);
    expect(run.bytes).toBe(planned.totalBytes);
    expect(planned.fields.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(planned.totalBytes);
  } finally {
    await run.close();
  }
  expect(hostBudget().live).toBe(before);
});

test("a run that does not fit is refused as one; as many worlds as it names train", async () => {
  const before = hostBudget().live;
  const options: TrainOptions = {
    numEnvs: 50_000,
    config: small,
    env: { ...wasm, threads: 1, budget: before + 2 ** 21 },
  };
  const refusal = (await TrainingRun.create("CartPole", options).catch(
    (error: unknown) => error,
  )) as BudgetExceededError;
  expect(refusal.code).toBe("budget-exceeded");
  expect(hostBudget().live).toBe(before);
  const { largestNumEnvs } = refusal.plan;
  expect(largestNumEnvs).toBeGreaterThan(0);
  await using run = await TrainingRun.create("CartPole", { ...options, numEnvs: largestNumEnvs });
  await run.evaluate();
  expect(hostBudget().live - before).toBeLessThanOrEqual(2 ** 21);
});

test("rows on the host are of the same budget: one that they do not fit refuses the whole run before it begins", async () => {
  const before = hostBudget().live;
  const config = { ...HOST, bufferSize: 4_000_000 };
  const options = { algo: "sac", numEnvs: 8, config, env: { ...wasm, threads: 1, budget: before + 2 ** 25 } } as const;
  const refusal = await TrainingRun.create("InvertedPendulum-v5", options).catch((error: unknown) => error);
  expect((refusal as BudgetExceededError).code).toBe("budget-exceeded");
  expect((refusal as BudgetExceededError).plan.name).toContain("training");
  expect((refusal as BudgetExceededError).remedies).toContain('a smaller bufferSize, or storage: "file"');
  expect(hostBudget().live).toBe(before);
});

test("a learner of more than a memory of WebAssembly is refused with figures", async () => {
  await using env = await makeVec("CartPole", { numEnvs: 1024, device: "wasm" });
  const before = hostBudget().live;
  await expect(Ppo.create(env, { rolloutSteps: 65_536, minibatches: 64, hidden: [8] })).rejects.toThrow(/GiB/);
  expect(hostBudget().live).toBe(before);
});

test("commands take --device", async () => {
  const planned = await corral(["plan", "CartPole", "--envs", "64", "--device", "wasm", "--threads", "1", "--json"]);
  expect(planned.code, planned.stderr).toBe(0);
  const ofRun = await corral(["plan", "CartPole", "--train", "--envs", "4096", "--device", "wasm", "--budget", "2MiB"]);
  expect([ofRun.code, ofRun.stdout]).toEqual([3, expect.stringContaining("worlds train (budget: 2.00 MiB)")]);
  const tuned = await corral(["tune", "CartPole", "--device", "wasm"]);
  expect([tuned.code, tuned.stderr]).toEqual([2, expect.stringContaining("[nothing-to-tune]")]);
  const folder = join(root, "run");
  await trainInto(folder, "CartPole", TINY);
  const played = await corral(["play", folder, "--episodes", "2", "--device", "wasm", "--threads", "1"]);
  expect([played.code, played.stdout]).toEqual([0, expect.stringContaining("CartPole on wasm")]);
});
