// runs that start from a policy, or from a run, whose task shows fewer observations than theirs
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import { defineTask, register } from "../../../src/env/index.ts";
import { invertedPendulum } from "../../../envs/inverted_pendulum/task.ts";
import "../../../envs/index.ts";
import { encodePolicySafetensors } from "../../../src/export/safetensors.ts";
import { decodeSafetensors, encodeSafetensors } from "../../../src/io/safetensors.ts";
import { AppliedPolicy } from "../../../src/rl/networks/apply-policy.ts";
import { STATE } from "../../../src/rl/tables/device-tables.ts";
import { policyFile } from "../../../src/runs/policy-file.ts";
import { policyOfRun } from "../../../src/runs/policy.ts";
import type { TrainOptions } from "../../../src/runs/options.ts";
import { TrainingRun } from "../../../src/runs/train.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";
import { bitsOf, TINY, trainInto } from "../../support/runs.ts";

worldsOnWasm();

const { actionSpace: _, ...pendulum } = invertedPendulum as typeof invertedPendulum & { actionSpace?: unknown };
const shows = { position: "qpos", velocity: "qvel" };
const NARROW = defineTask({ ...pendulum, id: "Narrow", observe: shows } as never);
// what is new stands before, between and behind, and what is there in another order
const WIDE = defineTask({
  ...pendulum,
  id: "Wide",
  observe: { doubled: { value: "qpos", scale: 2 }, velocity: "qvel", force: "action", position: "qpos", more: "qvel" },
} as never);
const OTHER = defineTask({
  ...pendulum,
  id: "Other",
  observe: { ...shows, velocity: "qvel[0:1]", force: "action", lean: "qpos[1]" },
} as never);
const LACKING = defineTask({
  ...pendulum,
  id: "Lacking",
  observe: { position: "qpos", speed: "qvel", force: "action" },
} as never);
const GROUPED = defineTask({
  ...pendulum,
  id: "Grouped",
  observe: { policy: { ...shows, force: "action" }, critic: { ...shows, force: "action" } },
} as never);
for (const task of [NARROW, WIDE, OTHER, LACKING, GROUPED]) register(task);

const root = mkdtempSync(join(tmpdir(), "corral-wider-"));
const [run, file] = [join(root, "run"), join(root, "policy.safetensors")];
const SMALL: TrainOptions = { numEnvs: 8, evalEnvs: 2, steps: 64 };
beforeAll(async () => {
  await trainInto(run, "Narrow", { ...TINY, evalEvery: 100 });
  writeFileSync(file, encodePolicySafetensors(await policyOfRun(run)));
});
afterAll(() => rmSync(root, { recursive: true }));

/** Columns of Wide that Narrow shows. */
const COLUMNS = [5, 6, 2, 3];
const seen = Array.from({ length: 40 }, (_, i) => Math.sin(i) / 4);
const wide = Array.from({ length: 10 }, (_, world) => {
  const row = Array.from({ length: 9 }, (_, i) => 3 * Math.cos(world * 9 + i));
  COLUMNS.forEach((column, i) => (row[column] = seen[4 * world + i]));
  return row;
}).flat();

describe.each([
  ["a run", () => run],
  ["a policy", () => file],
])("from %s of fewer observations", (_, from) => {
  test("it acts as that one, whatever the others are", async () => {
    const was = new AppliedPolicy(await policyOfRun(run), 10).act(seen);
    await using training = await TrainingRun.create("Wide", { ...SMALL, from: from() });
    const policy = await training.algorithm.policy();
    expect(policy.observations).toBe(9);
    // sums are in another order
    new AppliedPolicy(policy, 10).act(wide).forEach((x, i) => expect(x).toBeCloseTo(was[i], 12));
    expect(training.algorithm.config).toMatchObject({ hidden: [8] });
  });

  test("new columns are normalised by what they have been, and learnt of", async () => {
    await using training = await TrainingRun.create("Wide", { ...SMALL, config: { valueWarmup: 0 }, from: from() });
    await training.algorithm.iterate();
    const { layers } = await training.algorithm.policy();
    const { data: variance } = training.algorithm.named(await training.algorithm.snapshot())["normalizer.variance"];
    // the velocity twice, once with what that one has seen: had the other a count of its steps, it would be 13 times less
    expect(variance[7] / variance[2]).toBeGreaterThan(0.5);
    expect(variance[7] / variance[2]).toBeLessThan(2);
    expect([...layers[0].weight].filter((__, i) => i % 9 === 7).every((x) => x !== 0)).toBe(true);
  });
});

test("a value function comes with a run, and begins anew beside a policy, which waits for it", async () => {
  await using training = await TrainingRun.create("Narrow", {
    ...SMALL,
    steps: 64_000,
    config: { valueWarmup: 2 },
    from: file,
  });
  const { algorithm } = training;
  const named = async () => algorithm.named(await algorithm.snapshot());
  const parameters = async () =>
    Object.entries(await named()).filter(([name]) => name.startsWith("policy.") || name === "log_std");
  const first = await parameters();
  const value = (await named())["value.0.weight"];
  const there = policyFile(file).named;
  for (const [name, { data }] of first) expect(data, name).toEqual(there[name].data);
  await algorithm.iterate();
  await algorithm.iterate();
  expect(await parameters()).toEqual(first);
  expect((await named())["value.0.weight"]).not.toEqual(value);
  await algorithm.iterate();
  expect(await parameters()).not.toEqual(first);
  // Adam begins anew as the policy does: 5 epochs of 4 minibatches
  const { state } = (await algorithm.snapshot()).learner;
  const decay = Math.log(new Float32Array(state.buffer)[STATE.beta2_power]) / Math.log(0.999);
  expect(Math.round(decay)).toBe(5 * 4);
});

test("updates in which it waits are 16 where nothing is said, and none from a run that began so", async () => {
  const out = join(root, "waits");
  await trainInto(out, "Narrow", { ...SMALL, from: file });
  const warmup = async (from: string, id: string, config = {}) => {
    await using training = await TrainingRun.create(id, { ...SMALL, config, from });
    return (training.algorithm.config as { valueWarmup: number }).valueWarmup;
  };
  expect([
    await warmup(file, "Wide"),
    await warmup(file, "Wide", { valueWarmup: 3 }),
    await warmup(out, "Wide"),
  ]).toEqual([16, 3, 0]);
});

test.each<[string, string, () => string, string]>([
  ["a part of another size", "Other", () => run, "it sees 2 numbers called velocity, of which there are 1 here"],
  [
    "a part that is not shown",
    "Lacking",
    () => file,
    "it sees 2 numbers called velocity, of which there are none here",
  ],
  ["groups", "Grouped", () => run, "observations in groups are taken only where they are the same"],
  ["other actions", "Hopper-v5", () => file, "policy.0.weight is [8, 4] there and would be [8, 11] for Hopper-v5 here"],
])("%s is refused by name", async (_, id, from, text) => {
  await expect(TrainingRun.create(id, { ...SMALL, from: from() })).rejects.toMatchObject({
    code: "does-not-fit",
    message: expect.stringContaining(text),
  });
});

test("a policy whose task is not known is refused where columns are to be told", async () => {
  const policy = await policyOfRun(run);
  const strange = join(root, "strange.safetensors");
  writeFileSync(strange, encodePolicySafetensors({ ...policy, id: "Strange" }));
  const text = `it sees 4 numbers where Wide shows 9, and its task Strange, which would say what they are, is not known here`;
  await expect(TrainingRun.create("Wide", { ...SMALL, from: strange })).rejects.toThrowError(text);
  // one that sees as many is taken as it is
  await using training = await TrainingRun.create("Narrow", { ...SMALL, from: strange });
  expect((await training.algorithm.policy()).layers[0].weight).toEqual(policy.layers[0].weight);
});

test("policies of what learns from a replay are no start, which their runs are", async () => {
  const replayed = join(root, "replayed.safetensors");
  writeFileSync(replayed, encodePolicySafetensors({ ...(await policyOfRun(run)), algo: "dqn" }));
  await expect(TrainingRun.create("Narrow", { algo: "dqn", from: replayed })).rejects.toThrowError(
    "a policy is a start for PPO only; pass the folder of the run that it is of.",
  );
});

test("a policy of another learner, without variances and without a spread of actions, goes on as it was", async () => {
  const { tensors, metadata } = decodeSafetensors(readFileSync(file), file);
  const kept = [...tensors].filter(([name]) => !/variance|count|log_std/.test(name));
  const other = join(root, "other.safetensors");
  const facts = { ...metadata, producer: "corral-sim 0.2.0", algo: "rsl_rl-ppo", clip_observations: "Infinity" };
  writeFileSync(other, encodeSafetensors(Object.fromEntries(kept), facts));
  const given = { ...SMALL, from: other, config: { initialLogStd: -0.25 } };
  await using training = await TrainingRun.create("Narrow", given);
  const { algorithm } = training;
  const arrays = algorithm.named(await algorithm.snapshot());
  expect([...arrays.log_std.data]).toEqual([-0.25]);
  expect(algorithm.config).toMatchObject({ normalizeObservations: true, hidden: [8], initialLogStd: -0.25 });
  const policy = await algorithm.policy();
  const was = new AppliedPolicy(await policyOfRun(run), 10).act(seen);
  new AppliedPolicy(policy, 10).act(seen).forEach((x, i) => expect(x).toBe(was[i]));
  // what it divides by goes on from there, and does not jump
  await algorithm.iterate();
  const [before, after] = [arrays, algorithm.named(await algorithm.snapshot())].map(
    (named) => named["normalizer.inverse_std"].data,
  );
  after.forEach((x, i) => expect(x / before[i]).toBeCloseTo(1, 2));
});

test("corral train --from POLICY, and stages whose second one sees more", async () => {
  const [out, again] = [join(root, "cli"), join(root, "cli-again")];
  const flags = "--envs 8 --steps 128 --eval-envs 2 --rollout-steps 8 --minibatches 2".split(" ");
  const copied = join(root, "copied.safetensors");
  copyFileSync(file, copied);
  const made = await corral(["train", "Wide", "--from", copied, ...flags, "--out", out]);
  expect(made.code, made.stderr).toBe(0);
  expect(made.stdout).toContain(`starts from ${copied}`);
  rmSync(copied);
  const longer = await corral(["train", "--resume", out, "--steps", "192"]);
  expect(longer.code, longer.stderr).toBe(0);

  const config = join(root, "stages.json");
  const base = { numEnvs: 8, steps: 64, evalEnvs: 2, hidden: [8], rolloutSteps: 8, minibatches: 2 };
  writeFileSync(config, JSON.stringify({ ...base, stages: [{ env: "Narrow" }, { env: "Wide" }] }));
  const staged = await corral(["train", "--config", config, "--out", again]);
  expect(staged.code, staged.stderr).toBe(0);
  writeFileSync(config, JSON.stringify({ ...base, stages: [{ env: "Wide" }, { env: "Narrow" }] }));
  const refused = await corral(["train", "--config", config, "--out", join(root, "none")]);
  expect(refused.stderr).toContain(
    "stage 2 cannot start from stage 1: it sees 2 numbers called doubled, of which there are none here",
  );
  expect(bitsOf(out)).toBeDefined();
});
