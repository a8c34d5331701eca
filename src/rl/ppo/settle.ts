// what a PPO learner is before any device: its options with their defaults, all sizes, its plan
import { CorralError } from "../../core/errors.ts";
import { optionsOf } from "../../core/options.ts";
import { seedKey } from "../../core/rng.ts";
import type { JsVec } from "../../env/js-env.ts";
import type { Plan } from "../../memory/plan.ts";
import { learnerEnvOf } from "../device/js-vec.ts";
import { heldOn, learnerDeviceOf, limitsOf } from "../device/learner-device.ts";
import type { LearnerEnv, PlannedEnv } from "../device/learner-env.ts";
import type { Instead } from "../networks/policy.ts";
import { planLearner } from "./arenas.ts";
import { ppoConfig, type PpoConfig } from "./config.ts";
import { shapeOf } from "./shape-of.ts";
import { insteadOf } from "./streamed-head.ts";

export interface PpoOptions extends Partial<PpoConfig> {
  /** Of the first parameters, of actions and of the order of samples. Default 0. */
  readonly seed?: number | bigint;
  /** Env steps after which a linear schedule has taken the learning rate to 0. Default: 1,000,000. */
  readonly totalSteps?: number;
}

/** A plan, and what discrete actions would have taken as one-hot rows and whole matrices. */
export interface PpoPlan extends Plan {
  readonly instead: readonly Instead[];
}

/** The plan of the learner of an environment: every byte, before any is held. */
export function planPpo(given: LearnerEnv | JsVec, options: PpoOptions = {}): PpoPlan {
  const env = learnerEnvOf(given);
  const device = learnerDeviceOf(env);
  const { config, shape } = settlePpo(env, options);
  return { ...heldOn(device, planLearner(shape, config, limitsOf(device))), instead: insteadOf(shape) };
}

/**
 * A learner before any device: its options with their defaults, and all sizes.
 * @throws CorralError bad-option, unknown-option, bad-seed, needs-next-step, unsupported-space
 */
export function settlePpo(env: PlannedEnv, options: PpoOptions = {}) {
  const { seed = 0, totalSteps = 1e6, ...given } = optionsOf(options);
  seedKey(seed);
  if (!(totalSteps >= 1)) {
    throw new CorralError("bad-option", `totalSteps is ${String(totalSteps)}; pass env steps, at least 1.`, {
      totalSteps,
    });
  }
  const config = ppoConfig(given);
  return { config, seed, totalSteps, shape: shapeOf(env, config) };
}
