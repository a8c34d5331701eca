// SAC learns: from nothing to the reward that counts as solved, within a bounded number of steps
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { TrainingRun } from "../../src/runs/train.ts";

// bits of a device are of its driver, what is learnt is not: the software driver takes two minutes
const devices = process.env.CORRAL_FULL ? ["gpu", "wasm"] : ["wasm"];

test.each(devices)("InvertedPendulum-v5 to 950 on %s", async (device) => {
  const env = { device };
  await using run = await TrainingRun.create("InvertedPendulum-v5", { algo: "sac", seed: 1, until: 950, env });
  const returns: number[] = [];
  const result = await run.train({
    onProgress: ({ metrics }) => {
      if (metrics.episodes > 0) returns.push(metrics.episodeReturn);
    },
  });
  expect(result.reached).toBe(true);
  expect(result.envSteps).toBeLessThanOrEqual(run.settings.steps);
  // it knew nothing before
  expect(returns[0]).toBeLessThan(95);
});
