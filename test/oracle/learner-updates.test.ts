// twenty updates on one batch: of DQN beside Stable-Baselines3's own `train` (loss, clipping, Adam, copies of targets), of SAC over
// discrete actions beside one in torch (losses, order, Adam, temperature, targets), of PPO beside rsl_rl's own `update`
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LEARNER_UPDATES, type Numbers } from "../support/learner-updates.ts";
import { learnerBounds } from "../support/tolerances.ts";

const flat = (values: unknown): number[] => [values].flat(2) as number[];

test.each(Object.entries(LEARNER_UPDATES))("%s: parameters after twenty updates", async (algo, { make }) => {
  const file = new URL(`../fixtures/learners/${algo}.json`, import.meta.url);
  const recorded = JSON.parse(readFileSync(file, "utf8")) as { readonly logAlpha: number; readonly params: Numbers };
  const updates = await make();
  const before = updates.input;
  const now = await updates.run();
  await updates.close();
  expect(Object.keys(now.params).sort()).toEqual(Object.keys(recorded.params).sort());
  const bound = learnerBounds.updates.value;
  for (const [name, values] of Object.entries(now.params)) {
    const [start, here, there] = [before.params[name], values, recorded.params[name]].map(flat);
    expect(here.length, name).toBe(there.length);
    expect(Math.max(...here.map((x, i) => Math.abs(x - there[i]))), name).toBeLessThan(bound);
    // something was learnt
    expect(Math.max(...here.map((x, i) => Math.abs(x - start[i]))), name).toBeGreaterThan(10 * bound);
  }
  expect(Math.abs(now.logAlpha - recorded.logAlpha)).toBeLessThan(bound);
  if (algo === "sac-discrete") expect(Math.abs(now.logAlpha - before.logAlpha)).toBeGreaterThan(10 * bound);
});
