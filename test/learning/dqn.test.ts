// DQN learns: from nothing to the reward that counts as solved, within a bounded number of steps
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { makeJsVec } from "../../src/env/js-env.ts";
import { Dqn } from "../../src/rl/dqn.ts";
import { TrainingRun } from "../../src/runs/train.ts";
import { corridor } from "../support/maze.ts";

/** At best 0.85; who does not look at the goal has less than 0. */
const GOOD = 0.7;

test("a corridor, from rewards at its end", async () => {
  const options = {
    seed: 3,
    hidden: [16],
    bufferSize: 20_000,
    batchSize: 32,
    learningStarts: 200,
    explorationSteps: 3000,
  };
  await using dqn = await Dqn.create(makeJsVec(corridor, { numEnvs: 16, seed: 1 }), { ...options, gradientSteps: 2 });
  const evaluated = () => dqn.evaluate(makeJsVec(corridor, { numEnvs: 16 }), { seed: 4 });
  expect((await evaluated()).meanReturn).toBeLessThan(GOOD);
  while (dqn.envSteps < 8000) await dqn.iterate();
  expect((await evaluated()).meanReturn).toBeGreaterThan(GOOD);
});

test.runIf(process.env.CORRAL_FULL)("CartPole to 475", async () => {
  await using run = await TrainingRun.create("CartPole", { algo: "dqn", seed: 1, until: 475, env: { device: "wasm" } });
  const returns: number[] = [];
  const result = await run.train({
    onProgress: ({ metrics }) => {
      if (metrics.episodes > 0) returns.push(metrics.episodeReturn);
    },
  });
  expect(result.reached).toBe(true);
  expect(result.envSteps).toBeLessThanOrEqual(run.settings.steps);
  // it knew nothing before
  expect(returns[0]).toBeLessThan(100);
});
