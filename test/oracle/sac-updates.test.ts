// twenty updates of SAC on one batch, beside Stable-Baselines3's own: losses, order, Adam, temperature, targets
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { learnBatch } from "../../src/rl/sac/batch.ts";
import { Flag, SAC_STATE } from "../../src/rl/tables/device-tables.ts";
import { DRAW } from "../support/sac-case.ts";
import { makeUpdates, numbersOf, UPDATES } from "../support/sac-updates.ts";
import { learnerBounds } from "../support/tolerances.ts";

interface Recorded {
  readonly logAlpha: number;
  readonly params: ReturnType<typeof numbersOf>;
}

const flat = (values: unknown): number[] => [values].flat(2) as number[];

test("parameters and temperature after twenty updates are Stable-Baselines3's", async () => {
  const recorded = JSON.parse(
    readFileSync(new URL("../fixtures/sb3/sac-updates.json", import.meta.url), "utf8"),
  ) as Recorded;
  const made = await makeUpdates();
  await using learner = made.learner;
  for (let k = 0; k < UPDATES; k++)
    learnBatch(learner, { draw: DRAW + k, flags: Flag.firstMinibatch, samples: false, movesPolicy: true });
  const before = numbersOf(made, made.params);
  const now = numbersOf(made, await learner.read("params", new Float32Array(made.params.length)));
  expect(Object.keys(now).sort()).toEqual(Object.keys(recorded.params).sort());
  const bound = learnerBounds.updates.value;
  for (const [name, values] of Object.entries(now)) {
    const [start, here, there] = [before[name], values, recorded.params[name]].map(flat);
    expect(here.length, name).toBe(there.length);
    expect(Math.max(...here.map((x, i) => Math.abs(x - there[i]))), name).toBeLessThan(bound);
    // something was learnt
    expect(Math.max(...here.map((x, i) => Math.abs(x - start[i]))), name).toBeGreaterThan(10 * bound);
  }
  const state = await learner.readState();
  expect(Math.abs(state[SAC_STATE.log_alpha] - recorded.logAlpha)).toBeLessThan(bound);
  expect(Math.abs(recorded.logAlpha - made.logAlpha)).toBeGreaterThan(10 * bound);
});
