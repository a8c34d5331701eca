// PPO learns: from nothing to the reward that counts as solved, within a bounded number of steps
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { TrainingRun } from "../../src/runs/train.ts";
import { holdDevice } from "../support/hold-device.ts";
import { sweep } from "../support/sweep.ts";

holdDevice();

// bits of a device are of its driver, what is learnt is not: the software driver takes ten times as long
const CASES = [
  { id: "CartPole", until: 475, steps: 250_000, env: {} },
  { id: "InvertedPendulum-v5", until: 950, steps: 250_000, env: {} },
  { id: "CartPole", until: 475, steps: 250_000, env: { device: "wasm" } },
  { id: "InvertedPendulum-v5", until: 950, steps: 250_000, env: { device: "wasm" } },
];

test.each(sweep(CASES, ["wasm"], ({ env }) => env.device ?? "gpu"))(
  "$id to $until, $env",
  async ({ id, until, steps, env }) => {
    await using run = await TrainingRun.create(id, { seed: 1, steps, until, env });
    const returns: number[] = [];
    const result = await run.train({ onProgress: ({ metrics }) => returns.push(metrics.episodeReturn) });
    expect(result.reached).toBe(true);
    expect(result.envSteps).toBeLessThanOrEqual(steps);
    // it knew nothing before
    expect(returns[0]).toBeLessThan(0.1 * until);
  },
);
