// what `corral plan` says beside the bytes: limits of other machines, what options save, capacities that were measured
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Capacity, spreadOf } from "../../../src/sizing/contact-counts.ts";
import { candidatesOf, type Saving } from "../../../src/sizing/savings.ts";
import { defaultLimits, type Plan } from "../../../src/memory/index.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";

type Planned = Plan & { savings: Saving[]; measured?: Capacity };

async function plan(...args: string[]): Promise<Planned> {
  const { code, stdout, stderr } = await corral(["plan", ...args, "--json"]);
  expect(stderr).not.toContain("[");
  expect(code).toBe(0);
  return JSON.parse(stdout) as Planned;
}

describe("corral plan", () => {
  let folder: string;
  const file = (name: string, content: unknown) => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "corral-plan-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("plans with the limits of another machine, or of this one's adapter", async () => {
    const limits = { ...defaultLimits, maxStorageBufferBindingSize: 2 ** 20 };
    const there = await plan("CartPole", "--envs", "100000", "--adapter-limits", file("doctor.json", { limits }));
    expect(there.shardBound).toMatchObject({ limit: "maxStorageBufferBindingSize", value: 2 ** 20 });
    expect(there.shards.length).toBeGreaterThan(1);
    const here = await plan("CartPole", "--envs", "64", "--adapter-limits", "auto");
    expect(here.shardBound.value).toBeGreaterThanOrEqual(2 ** 27);
  });

  test.each([
    ["missing.json", undefined, "ENOENT"],
    ["words.json", "no JSON", "is not valid JSON"],
    ["part.json", { maxBufferSize: 1 }, "maxStorageBufferBindingSize is missing"],
    ["bad.json", { limits: { ...defaultLimits, maxBufferSize: -1 } }, "maxBufferSize is -1"],
  ])("limits in %s are bad usage", async (name, content, text) => {
    const path = content === undefined ? join(folder, name) : file(name, content);
    const { code, stderr } = await corral(["plan", "CartPole", "--envs", "8", "--adapter-limits", path]);
    expect(code).toBe(2);
    expect(stderr).toContain("[bad-limits]");
    expect(stderr).toContain(text);
  });

  test("flags of runs that say true or false may stand alone, for true", async () => {
    const layers = (...flags: string[]) =>
      plan("CartPole", "--train", "--algo", "dqn", "--layer-norm", ...flags).then(({ totalBytes }) => totalBytes);
    const bytes = await layers("true");
    expect(await layers()).toBe(bytes);
    expect(await layers("--double-q", "--envs", "16")).toBe(await layers("true", "--envs", "16"));
    expect(await layers("false")).toBeLessThan(bytes);
    const { totalBytes } = await plan("--train", "--algo", "dqn", "--layer-norm", "CartPole");
    expect(totalBytes).toBe(bytes);
  });

  test("says what options save: planning with them gives that", async () => {
    const set = ["--set", "snapshotEvery=10", "--set", "autoreset=same-step"];
    const all = await plan("Ant-v5", "--envs", "1000", ...set);
    const changes = all.savings.map(({ change }) => change);
    expect(changes).toContain("include_cfrc_ext_in_observation=false");
    expect(changes).toContain("no snapshotEvery");
    expect(changes).toContain("autoreset=next-step");
    expect(changes).toContain("recorder=false");
    const saving = all.savings.find(({ change }) => change.startsWith("include"))!;
    const without = await plan("Ant-v5", "--envs", "1000", ...set, "--set", saving.change);
    expect(all.totalBytes - without.totalBytes).toBe(saving.bytes);
    expect(all.bytesPerWorld - without.bytesPerWorld).toBe(saving.bytesPerWorld);
    expect(without.largestNumEnvs).toBe(saving.largestNumEnvs);
  });

  test("measures contacts and rows, and what covers them", async () => {
    const { measured } = await plan("Hopper-v5", "--envs", "64", "--measure", "40", "--worlds", "8");
    const { contacts, rows, bound, covering, steps, worlds } = measured!;
    expect([steps, worlds]).toEqual([40, 8]);
    expect(contacts.max).toBeGreaterThan(0);
    expect(contacts.histogram.reduce((sum, times) => sum + times, 0)).toBeLessThanOrEqual(320);
    expect(rows.max).toBeGreaterThanOrEqual(contacts.max);
    expect(covering.nconmax).toBeGreaterThan(contacts.max);
    expect(covering.nconmax).toBeLessThanOrEqual(bound.nconmax);

    const text = await corral([
      "plan",
      "CartPole",
      "--envs",
      "8",
      "--measure",
      "5",
      "--worlds",
      "2",
      "--device",
      "cpu",
    ]);
    expect(text.stdout).toMatch(/^Measured: 5 control steps of 2 worlds with random actions, on cpu/m);
    expect(text.stdout).toContain("No two geoms can touch");
  });
});

test("the spread of counts", () => {
  expect(spreadOf([])).toEqual({ mean: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0, histogram: [] });
  expect(spreadOf([0, 90, 9, 1])).toMatchObject({ mean: 1.11, p50: 1, p90: 1, p99: 2, p999: 3, max: 3 });
});

test("candidates are what differs from what was given", () => {
  const none = { recorder: false };
  expect(candidatesOf(none, { number: 1, on: true })).toEqual([{ change: "on=false", options: { on: false } }]);
  expect(candidatesOf({ ...none, on: false }, { on: true })).toEqual([{ change: "on=true", options: { on: true } }]);
  expect(candidatesOf({ recorder: { keep: 3, everySteps: 5 } }, {})).toEqual([
    { change: "recorder=false", options: { recorder: false } },
    { change: "recorder.everySteps: 3", options: { recorder: { keep: 3, everySteps: 3 } } },
  ]);
  expect(candidatesOf({}, undefined)).toEqual([{ change: "applied=false", options: { applied: false } }]);
});
