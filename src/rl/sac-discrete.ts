// soft actor-critic over discrete actions (Christodoulou 2019, "Soft Actor-Critic for Discrete Action Settings"), all of it on
// the device of its environments: a categorical policy, two critics that value every action, expectations over all of them
// instead of draws, and a replay. Logits and values of many actions are made in blocks and never held.
import { optionsOf } from "../core/options.ts";
import type { JsVec } from "../env/js-env.ts";
import type { AlgorithmSnapshot } from "./algorithm.ts";
import { heldOn, learnerDeviceOf, limitsOf } from "./device/learner-device.ts";
import { envShape } from "./device/env-shape.ts";
import { learnerEnvOf } from "./device/js-vec.ts";
import type { LearnerEnv, PlannedEnv } from "./device/learner-env.ts";
import type { DqnPlan } from "./dqn.ts";
import type { NamedArray } from "./networks/networks.ts";
import type { Instead, Policy } from "./networks/policy.ts";
import { settleOffPolicy, withReplay, type OffPolicyOptions } from "./off-policy.ts";
import { SoftActorCritic } from "./soft-actor-critic.ts";
import { insteadOfReplay } from "./replay/instead.ts";
import type { Batch, BatchStages, Half } from "./replay/learner.ts";
import { planSacDiscreteLearner, sacDiscreteShape, type SacDiscreteShape } from "./sac-discrete/arenas.ts";
import { halves, learnBatch, sampleBatch, setUniforms, type SacDiscreteEvidence } from "./sac-discrete/batch.ts";
import { sacDiscreteConfig, type SacDiscreteConfig } from "./sac-discrete/config.ts";
import type { SacDiscreteLearner } from "./sac-discrete/learner.ts";
import { namedSacDiscrete, sacDiscretePolicyOf } from "./sac-discrete/policy.ts";

export interface SacDiscreteOptions extends Partial<SacDiscreteConfig>, OffPolicyOptions {}

export type SacDiscreteSnapshot = AlgorithmSnapshot;

/** The plan of the learner of an environment: every byte, before any is held; and what one-hot actions would have taken. */
export function planSacDiscrete(given: LearnerEnv | JsVec, options: SacDiscreteOptions = {}): DqnPlan {
  const env = learnerEnvOf(given);
  const device = learnerDeviceOf(env);
  const { shape, config } = settleSacDiscrete(env, options);
  return {
    ...heldOn(device, planSacDiscreteLearner(shape, limitsOf(device))),
    instead: insteadOfSacDiscrete(shape, config),
  };
}

/** What one-hot actions and whole matrices of logits and values would have needed. */
export const insteadOfSacDiscrete = ({ env }: SacDiscreteShape, config: SacDiscreteConfig): Instead[] =>
  insteadOfReplay("logits and both values of all actions of a batch", 3, env.outputs, config);

/**
 * A learner before any device: its options with their defaults, and all sizes.
 * @throws CorralError bad-option, unknown-option, bad-seed, needs-next-step, unsupported-space
 */
export function settleSacDiscrete(env: PlannedEnv, options: SacDiscreteOptions = {}) {
  const { seed, replayFile, reuseReplay, ...given } = optionsOf(options);
  const config = sacDiscreteConfig(given);
  const settled = settleOffPolicy(config, { seed, replayFile, reuseReplay });
  return { ...settled, shape: sacDiscreteShape(envShape(env), config) };
}

/** A learner beside its environments, which it steps. Close it before them. */
export class SacDiscrete extends SoftActorCritic<SacDiscreteConfig, SacDiscreteLearner> {
  readonly algo = "sac-discrete";

  /**
   * Reserves the learner's memory, the replay with it, in the budget of the environments and compiles its kernels. The
   * environments are left as they are if this fails.
   * @throws CorralError bad-option, unknown-option, bad-seed, bad-env, gpu-required, needs-next-step, unsupported-space;
   *   BudgetExceededError naming the learner's fields; replay-exists, replay-not-written, disk-full, bad-replay; errors of the device
   */
  static async create(given: LearnerEnv | JsVec, options: SacDiscreteOptions = {}): Promise<SacDiscrete> {
    const env = learnerEnvOf(given);
    const device = learnerDeviceOf(env);
    const settled = settleSacDiscrete(env, options);
    const { config, seed, shape } = settled;
    const { SacDiscreteLearner } = await import("./sac-discrete/learner.ts"); // a page that learns otherwise loads none
    const learner = await SacDiscreteLearner.create(device, shape);
    return withReplay(learner, env, settled, (bound, replay) => {
      learner.initialize(env, seed, config.initialTemperature);
      setUniforms(learner, config, seed);
      return new SacDiscrete(env, settled, learner, bound, replay);
    });
  }

  protected learnBatch(batch: Batch): void {
    learnBatch(this.learner, { ...batch, movesPolicy: batch.draw % this.config.policyEvery === 0 });
  }

  protected sampleBatch(draw: number): void {
    sampleBatch(this.learner, draw);
  }

  protected stagesOf(half: Half, draw: number): BatchStages {
    return halves(this.learner, draw)[half];
  }

  /**
   * All that it takes to execute the batch again in which an update was stopped because something was not finite.
   * @throws CorralError no-evidence if none was stopped
   */
  evidence(): Promise<SacDiscreteEvidence> {
    return this.keepEvidence({ algo: this.algo, config: this.config, ...this.ratesNow });
  }

  protected namedOf(params: Float32Array, norm?: Float32Array): Record<string, NamedArray> {
    return namedSacDiscrete(this.learner.shape, params, norm);
  }

  protected policyOf(named: Readonly<Record<string, NamedArray>>): Policy {
    const { env, config, learner } = this;
    return sacDiscretePolicyOf(named, env.id, env.singleActionSpace, config, learner.shape.env.features);
  }
}
