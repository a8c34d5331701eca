/** PPO with a memory learns what one observation does not tell: CartPole whose velocities are hidden. */
import { expect, test } from "vitest";
import { cartpole } from "../../envs/cartpole/task.ts";
import { defineTask, makeVec } from "../../src/env/index.ts";
import { Ppo } from "../../src/rl/index.ts";

const hidden = defineTask({
  ...cartpole,
  id: "CartPoleWithoutVelocities",
  observe: ({ d }) => ({ position: [d.qpos.at(0), d.qpos.at(1)] }),
});

const UPDATES = 48;
const GOAL = 150;

test("CartPole without velocities", async () => {
  await using env = await makeVec(hidden, { numEnvs: 32, seed: 1 });
  await using others = await makeVec(hidden, { numEnvs: 16, seed: 2 });
  await using ppo = await Ppo.create(env, {
    seed: 1,
    rolloutSteps: 32,
    hidden: [16],
    recurrent: "gru",
    recurrentSize: 16,
    recurrentSteps: 16,
    epochs: 6,
    minibatches: 2,
    learningRate: 5e-3,
    schedule: "constant",
  });
  const returns: number[] = [];
  while (ppo.iteration < UPDATES && !(returns.at(-1)! >= GOAL)) {
    for (let i = 0; i < 8; i++) await ppo.iterate();
    returns.push((await ppo.evaluate(others)).meanReturn);
  }
  expect(returns.at(-1)).toBeGreaterThanOrEqual(GOAL);
});
