// SAC of discrete actions learns: from nothing to a reward that is good, within a bounded number of steps; and the
// policy that it leaves acts as it does
import { expect, test } from "vitest";
import { makeJsVec } from "../../src/env/js-env.ts";
import { AppliedPolicy } from "../../src/rl/networks/apply-policy.ts";
import { SacDiscrete } from "../../src/rl/sac-discrete.ts";
import { corridor } from "../support/maze.ts";

/** At best 0.85; who does not look at the goal has less than 0. */
const GOOD = 0.7;

test("a corridor, from rewards at its end", async () => {
  const options = { seed: 3, hidden: [16], bufferSize: 20_000, batchSize: 32, learningStarts: 200, gradientSteps: 2 };
  await using sac = await SacDiscrete.create(makeJsVec(corridor, { numEnvs: 16, seed: 1 }), options);
  const evaluated = (onStep?: Parameters<typeof sac.evaluate>[1]) =>
    sac.evaluate(makeJsVec(corridor, { numEnvs: 16 }), { seed: 4, ...onStep });
  expect((await evaluated()).meanReturn).toBeLessThan(GOOD);
  while (sac.envSteps < 3000) await sac.iterate();
  const applied = new AppliedPolicy(await sac.policy(), 16);
  const { meanReturn } = await evaluated({
    onStep: ({ observations, actions }) => expect([...actions]).toEqual([...applied.act(observations)]),
  });
  expect(meanReturn).toBeGreaterThan(GOOD);
});
