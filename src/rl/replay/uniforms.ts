// numbers of a learner with a replay that stay the same for a whole run
import { seedKey } from "../../core/rng.ts";
import { SUM_PARTS } from "../device/arenas.ts";
import type { AdamConfig, ReplayConfig } from "../device/shared-options.ts";
import { adamUniforms } from "../device/uniforms.ts";
import type { ReplayLearner } from "./learner.ts";

/** Tells a learner the numbers that stay the same for a whole run. */
export function setReplayUniforms(
  { shape, uniforms }: ReplayLearner,
  c: AdamConfig & ReplayConfig & { readonly tau: number },
  seed: number | bigint,
): void {
  const { nets, env, obs4, k4, window } = shape;
  uniforms.set({
    worlds: env.numEnvs,
    steps: window,
    seed: [...seedKey(seed)],
    total4: nets.total4,
    sum_parts: SUM_PARTS,
    obs4,
    k4,
    gamma: c.gamma,
    n_steps: c.nSteps,
    tau: c.tau,
    clip_obs: Infinity,
    ...adamUniforms(c),
  });
}
