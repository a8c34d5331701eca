// deep Q-learning (Mnih et al. 2015, "Human-level control through deep reinforcement learning"), all of it on the device of
// its environments: values of each of many actions, targets that follow them slowly, double Q-learning (van Hasselt et al.
// 2016), and a replay of everything seen. Values of all actions are made in blocks where the best is sought and never held.
import { optionsOf } from "../core/options.ts";
import type { JsVec } from "../env/js-env.ts";
import type { Plan } from "../memory/plan.ts";
import type { AlgorithmSnapshot } from "./algorithm.ts";
import { heldOn, learnerDeviceOf, limitsOf } from "./device/learner-device.ts";
import { envShape } from "./device/env-shape.ts";
import { learnerEnvOf } from "./device/js-vec.ts";
import type { LearnerEnv, PlannedEnv } from "./device/learner-env.ts";
import { dqnMetricsOf, type DqnMetrics } from "./device/metrics.ts";
import type { UniformValues } from "./device/uniforms.ts";
import { dqnShape, planDqnLearner, type DqnShape } from "./dqn/arenas.ts";
import { learnBatch, sampleBatch, setUniforms, stagesOfBatch, type DqnEvidence } from "./dqn/batch.ts";
import { dqnConfig, epsilonAt, type DqnConfig } from "./dqn/config.ts";
import type { DqnLearner } from "./dqn/learner.ts";
import { dqnPolicyOf, namedDqn } from "./dqn/policy.ts";
import type { NamedArray } from "./networks/networks.ts";
import type { Instead, Policy } from "./networks/policy.ts";
import { OffPolicy, settleOffPolicy, withReplay, type OffPolicyOptions } from "./off-policy.ts";
import { insteadOfReplay } from "./replay/instead.ts";
import type { Batch, BatchStages, Half } from "./replay/learner.ts";

export interface DqnOptions extends Partial<DqnConfig>, OffPolicyOptions {}

export type DqnSnapshot = AlgorithmSnapshot;

/** A plan, and what other ways of holding discrete actions would have taken. */
export interface DqnPlan extends Plan {
  readonly instead: readonly Instead[];
}

/** The plan of the learner of an environment: every byte, before any is held. */
export function planDqn(given: LearnerEnv | JsVec, options: DqnOptions = {}): DqnPlan {
  const env = learnerEnvOf(given);
  const device = learnerDeviceOf(env);
  const { shape, config } = settleDqn(env, options);
  return { ...heldOn(device, planDqnLearner(shape, limitsOf(device))), instead: insteadOfDqn(shape, config) };
}

/** What one-hot actions and whole matrices of values would have needed. */
export const insteadOfDqn = ({ env }: DqnShape, config: DqnConfig): Instead[] =>
  insteadOfReplay("values of all actions of a batch", 1, env.outputs, config);

/**
 * A learner before any device: its options with their defaults, and all sizes.
 * @throws CorralError bad-option, unknown-option, bad-seed, needs-next-step, unsupported-space
 */
export function settleDqn(env: PlannedEnv, options: DqnOptions = {}) {
  const { seed, replayFile, reuseReplay, ...given } = optionsOf(options);
  const config = dqnConfig(given);
  const settled = settleOffPolicy(config, { seed, replayFile, reuseReplay });
  return { ...settled, shape: dqnShape(envShape(env), config) };
}

/** A learner beside its environments, which it steps. Close it before them. */
export class Dqn extends OffPolicy<DqnConfig, DqnLearner, DqnMetrics> {
  readonly algo = "dqn";

  /**
   * Reserves the learner's memory, the replay with it, in the budget of the environments and compiles its kernels. The
   * environments are left as they are if this fails.
   * @throws CorralError bad-option, unknown-option, bad-seed, bad-env, gpu-required, needs-next-step, unsupported-space;
   *   BudgetExceededError naming the learner's fields; replay-exists, replay-not-written, disk-full, bad-replay; errors of the device
   */
  static async create(given: LearnerEnv | JsVec, options: DqnOptions = {}): Promise<Dqn> {
    const env = learnerEnvOf(given);
    const device = learnerDeviceOf(env);
    const settled = settleDqn(env, options);
    const { config, seed, shape } = settled;
    const { DqnLearner } = await import("./dqn/learner.ts"); // a page that learns otherwise loads none
    const learner = await DqnLearner.create(device, shape, config.doubleQ);
    return withReplay(learner, env, settled, (bound, replay) => {
      learner.initialize(env, seed);
      setUniforms(learner, config, seed);
      return new Dqn(env, settled, learner, bound, replay);
    });
  }

  /** How often actions are random in the next update's control steps. */
  get epsilon(): number {
    return epsilonAt(this.envSteps, this.config);
  }

  protected explore(): number {
    this.learner.uniforms.set({ epsilon: this.epsilon });
    return 0;
  }

  protected learns(before: number): boolean {
    return before >= this.config.learningStarts;
  }

  protected learningRates(): UniformValues {
    return { critic_rate: this.rateScale * this.config.learningRate };
  }

  protected learnBatch(batch: Batch): void {
    learnBatch(this.learner, { ...batch, movesTargets: (batch.draw + 1) % this.config.targetEvery === 0 });
  }

  protected metricsOf(state: Float32Array): DqnMetrics {
    return { ...dqnMetricsOf(state), epsilon: this.epsilon };
  }

  protected override readonly remedy = "Lower the learning rate or maxGradNorm";
  protected readonly policyEvery = undefined;

  protected sampleBatch(draw: number): void {
    sampleBatch(this.learner, draw);
  }

  protected stagesOf(_half: Half, draw: number): BatchStages {
    return stagesOfBatch(this.learner, draw);
  }

  /**
   * All that it takes to execute the batch again in which an update was stopped because something was not finite.
   * @throws CorralError no-evidence if none was stopped
   */
  evidence(): Promise<DqnEvidence> {
    const { algo, config, rateScale } = this;
    const rate = rateScale * config.learningRate;
    return this.keepEvidence({ algo, config, learningRate: rate, criticLearningRate: rate });
  }

  protected namedOf(params: Float32Array, norm?: Float32Array): Record<string, NamedArray> {
    return namedDqn(this.learner.shape, params, norm);
  }

  protected policyOf(named: Readonly<Record<string, NamedArray>>): Policy {
    const { env, config, learner } = this;
    return dqnPolicyOf(named, env.id, env.singleActionSpace, config, learner.shape.env.features);
  }
}
