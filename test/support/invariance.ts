// worlds whose bits must not depend on anything around them: actions depend on the world alone
import { createHash } from "node:crypto";
import { makeVec, type VectorEnv, type VecOptions } from "../../src/env/index.ts";
import "../../envs/index.ts";

/** Ids of the worlds that are looked at. */
export const WATCHED: readonly number[] = [5, 40, 4_000_000_000];

export const makeWorlds = (
  options: Partial<VecOptions> & { readonly worldIds: readonly number[] },
): Promise<VectorEnv> =>
  makeVec("InvertedPendulum-v5", {
    seed: 4,
    maxEpisodeSteps: 9,
    recorder: false,
    numEnvs: options.worldIds.length,
    ...options,
  });

export const actionsOf = (env: VectorEnv): Float32Array =>
  env.actionSpace.sample(3, { draw: 0, worldIds: env.worldIds }) as Float32Array;

/** Hash of the state and the results of the watched worlds after some more steps. */
export async function endOf(env: VectorEnv, steps: number): Promise<string> {
  for (let t = 0; t < steps; t++) await env.step(actionsOf(env));
  const worlds = WATCHED.map((id) => env.worldIds.indexOf(id));
  const state = await env.getState(["qpos", "qvel", "qacc_warmstart", "time", "episode", "episode_return"], worlds);
  const hash = createHash("sha256");
  for (const values of Object.values(state)) hash.update(values);
  const { size } = env.singleObservationSpace;
  for (const w of worlds) {
    hash.update(env.observations.slice(w * size, (w + 1) * size));
    hash.update(Float64Array.of(env.rewards[w], env.terminated[w], env.truncated[w]));
  }
  return hash.digest("hex");
}
