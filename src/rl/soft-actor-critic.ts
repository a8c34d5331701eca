// what SAC is over both kinds of actions: when it explores and learns, at which rates, and its temperature
import { floatsOf } from "../core/float32.ts";
import type { Actor } from "./device/act.ts";
import { sacMetricsOf, type SacMetrics } from "./device/metrics.ts";
import type { UniformValues } from "./device/uniforms.ts";
import type { AlgorithmSnapshot } from "./algorithm.ts";
import { OffPolicy } from "./off-policy.ts";
import type { BatchConfig } from "./replay/evidence.ts";
import type { ReplayLearner } from "./replay/learner.ts";
import { Flag, SAC_STATE } from "./tables/device-tables.ts";

interface SoftConfig extends BatchConfig {
  readonly policyEvery: number;
  readonly learningStarts: number;
  readonly learningRate: number;
  readonly criticLearningRate: number;
}

export abstract class SoftActorCritic<C extends SoftConfig, L extends ReplayLearner & Actor> extends OffPolicy<
  C,
  L,
  SacMetrics
> {
  /** Whether actions are still uniform. */
  get explores(): boolean {
    return this.envSteps < this.config.learningStarts;
  }

  protected explore(): number {
    return this.explores ? Flag.random : 0;
  }

  protected learns(_before: number, after: number): boolean {
    return after >= this.config.learningStarts;
  }

  protected learningRates(): UniformValues {
    const { learningRate, criticLearningRate } = this.ratesNow;
    return { learning_rate: learningRate, critic_rate: criticLearningRate };
  }

  protected get policyEvery(): number {
    return this.config.policyEvery;
  }

  /** The rates of a batch that is kept. */
  protected get ratesNow(): { readonly learningRate: number; readonly criticLearningRate: number } {
    const { learningRate, criticLearningRate } = this.config;
    return {
      learningRate: this.rateScale * learningRate,
      criticLearningRate: this.rateScale * criticLearningRate,
    };
  }

  protected metricsOf(state: Float32Array): SacMetrics {
    return sacMetricsOf(state);
  }

  protected override adoptMore(learnt: AlgorithmSnapshot["learner"], state: Float32Array<ArrayBuffer>): void {
    super.adoptMore(learnt, state);
    state[SAC_STATE.log_alpha] = floatsOf(learnt.state)[SAC_STATE.log_alpha];
  }
}
