// batches on the CPU take the machine's memory: they have a budget too, and are refused before any array is made
// alone in its process, since bytes of the process are counted: @vitest-environment-options {"alone":"host-memory"}
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec } from "../../src/env/index.ts";
import { BudgetExceededError } from "../../src/memory/errors.ts";
import { hostBudget } from "../../src/memory/host-budget.ts";
import { createSimulation } from "../../src/batch/simulation.ts";
import { collect } from "../support/collect.ts";
import { loadTestModel } from "../support/mjcf.ts";

const ID = "InvertedPendulum-v5";

describe("the budget of the CPU", () => {
  const { limit, source } = hostBudget();
  afterEach(() => {
    hostBudget().assertEmpty();
    hostBudget().change({ limit, source });
  });

  test("comes from the machine, and refuses what would not fit", async () => {
    expect(source).toMatch(/^40 % of /);
    const refused = makeVec(ID, { numEnvs: 100_000_000, device: "cpu" });
    await expect(refused).rejects.toThrowError(BudgetExceededError);
    await expect(refused).rejects.toThrowError(/largest|numEnvs: \d+, the most that fits/);
    const model = await loadTestModel("envs/inverted_pendulum");
    const tooMany = createSimulation(model, { numEnvs: 100_000_000, device: "cpu-f64" });
    await expect(tooMany).rejects.toThrowError(BudgetExceededError);
  });

  test("counts the bytes of the arrays, and has them back", async () => {
    const options = { numEnvs: 1000, device: "cpu", recorder: false } as const;
    // what earlier tests left would go in between
    collect();
    await setTimeout(50);
    collect();
    const before = process.memoryUsage().arrayBuffers;
    await using env = await makeVec(ID, options);
    const { plan } = env;
    expect(hostBudget().live).toBe(plan.totalBytes - plan.stagingBytes);
    expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThan(hostBudget().live);
    await env.reset();
    await env.close();
    await env.close();
    expect(hostBudget().live).toBe(0);
  });

  test("shrinks a batch to what fits", async () => {
    const { plan } = await one();
    const budget = 100 * plan.bytesPerWorld;
    await using env = await makeVec(ID, { numEnvs: 5000, device: "cpu", budget, onOverBudget: "shrink" });
    expect(env.numEnvs).toBeLessThan(101);
    expect(env.numEnvs).toBeGreaterThan(80);
    expect((await env.reset()).observations).toHaveLength(4 * env.numEnvs);
    const more = makeVec(ID, { numEnvs: 800, device: "cpu" });
    await expect(more).rejects.toThrowError(`close ${ID}, which holds`);
  });

  test.each(["2 gigs", -1])("refuses a budget of %s", async (budget) => {
    await expect(makeVec(ID, { numEnvs: 8, device: "cpu", budget })).rejects.toThrowError("[bad-bytes]");
  });

  async function one() {
    await using env = await makeVec(ID, { numEnvs: 8, device: "cpu" });
    return env;
  }
});
