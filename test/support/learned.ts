// CartPole learned on the device "wasm": the same in Node and in a page
import type { makeVec } from "../../src/env/index.ts";
import type { Ppo } from "../../src/rl/index.ts";

const SEED = 1;
/** Updates until most seeds balance the pole for long. */
const UPDATES = 24;

/** The parameters that PPO comes to, and the mean return of an evaluation. */
export async function learned(library: {
  readonly makeVec: typeof makeVec;
  readonly Ppo: typeof Ppo;
}): Promise<{ parameters: Float32Array; meanReturn: number }> {
  const given = { numEnvs: 64, seed: SEED, device: "wasm", threads: 1, recorder: false } as const;
  await using envs = await library.makeVec("CartPole", given);
  await using others = await library.makeVec("CartPole", { ...given, numEnvs: 32 });
  await using ppo = await library.Ppo.create(envs, {
    seed: SEED,
    rolloutSteps: 32,
    hidden: [32, 32],
    minibatches: 4,
    epochs: 5,
    learningRate: 3e-3,
    totalSteps: UPDATES * 64 * 32,
  });
  for (let i = 0; i < UPDATES; i++) await ppo.iterate();
  const { meanReturn } = await ppo.evaluate(others, { seed: SEED });
  return { parameters: await ppo.parameters(), meanReturn };
}
