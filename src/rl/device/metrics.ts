// what an update reports: the learner's state, read once per update
import { SAC_STATE, STATE } from "../tables/device-tables.ts";

/** What every algorithm reports of an update. */
export interface UpdateMetrics {
  /** Episodes that ended in the rollout, with the means of their returns and lengths; NaN if there were none. */
  readonly episodes: number;
  readonly episodeReturn: number;
  readonly episodeLength: number;
  /** Mean over minibatches. */
  readonly valueLoss: number;
  /** Norm before clipping, and the share of minibatches whose gradient was clipped. */
  readonly gradNorm: number;
  readonly gradClipped: number;
  readonly learningRate: number;
  /** Minibatches that changed the parameters, of those that were to. */
  readonly applied: number;
  readonly minibatches: number;
  /** Steps of worlds whose status was not clean. */
  readonly badSteps: number;
  /** What was not finite, or undefined. */
  readonly halted: string | undefined;
}

/** One update of PPO in numbers. `applied` is fewer than `minibatches` where targetKl stopped the update. */
export interface Metrics extends UpdateMetrics {
  /** Means over minibatches. */
  readonly policyLoss: number;
  readonly entropy: number;
  /** Approximate divergence from the policy that acted, mean over minibatches. */
  readonly kl: number;
  /** Share of samples whose ratio was beyond the clip. */
  readonly clipFraction: number;
  /** Share of the returns' variance that the value function explains. */
  readonly explainedVariance: number;
  /** Mean standard deviation of actions, and how many lie at a bound that stays (not PPO's `finalLogStd`); 0 for discrete actions. */
  readonly std: number;
  readonly stdAtBound: number;
  /** Samples that taught something: steps that only reset a world do not. */
  readonly samples: number;
  /** Extreme values that were clipped: rewards beyond clipRewards, normalized observations beyond clipObservations, log ratios beyond 20. */
  readonly rewardsClipped: number;
  /** Rewards too large, or not finite, that the deviation of returns was not moved by. */
  readonly rewardsLeftOut: number;
  readonly observationsClipped: number;
  readonly ratiosClipped: number;
  /** Deviation of discounted returns, by which rewards are divided. */
  readonly rewardScale: number;
}

/** What a stopped update says is not finite, by `HALTED`. */
export const REASONS = [undefined, "loss", "gradient", "log standard deviation", "step of Adam"] as const;

/** Means over the episodes that ended. */
export const episodeMeans = ({ count, returns, lengths }: EpisodeSums) => ({
  episodes: count,
  episodeReturn: returns / count,
  episodeLength: lengths / count,
});

interface EpisodeSums {
  readonly count: number;
  readonly returns: number;
  readonly lengths: number;
}

const episodesOf = (state: Float32Array) =>
  episodeMeans({
    count: state[STATE.episodes],
    returns: state[STATE.episode_returns],
    lengths: state[STATE.episode_lengths],
  });

export function metricsOf(state: Float32Array): Metrics {
  const of = (name: keyof typeof STATE) => state[STATE[name]];
  const mean = (name: keyof typeof STATE) => of(name) / Math.max(1, of("minibatches"));
  return {
    ...episodesOf(state),
    policyLoss: mean("policy_loss"),
    valueLoss: mean("value_loss"),
    entropy: mean("entropy"),
    kl: mean("kl"),
    clipFraction: mean("clipped"),
    gradNorm: mean("grad_norm"),
    gradClipped: mean("grad_clipped"),
    explainedVariance: of("explained"),
    learningRate: of("rate"),
    std: of("std"),
    stdAtBound: of("std_at_bound"),
    applied: of("applied"),
    minibatches: of("minibatches"),
    samples: of("valid"),
    rewardsClipped: of("rewards_clipped"),
    rewardsLeftOut: of("rewards_left_out"),
    observationsClipped: of("observations_clipped"),
    ratiosClipped: of("ratios_clipped"),
    badSteps: of("bad_steps"),
    rewardScale: 1 / of("reward_scale"),
    halted: REASONS[of("halted")],
  };
}

/** One update of SAC in numbers. `valueLoss` is of both critics; `learningRate` is the policy's. */
export interface SacMetrics extends UpdateMetrics {
  /** Means over batches. */
  readonly policyLoss: number;
  readonly entropy: number;
  /** Weight of the entropy. */
  readonly temperature: number;
  /** Means over batches: of both critics, and of the targets that they move to. */
  readonly value: number;
  readonly targetValue: number;
  /** As gradNorm, of the policy. */
  readonly policyGradNorm: number;
}

/** One update of DQN in numbers. `valueLoss` is the loss. */
export interface DqnMetrics extends UpdateMetrics {
  /** Means over batches: of the actions that were taken, and of the targets that they move to. */
  readonly value: number;
  readonly targetValue: number;
  /** Share of random actions. */
  readonly epsilon: number;
}

/** What an update of any algorithm reports; numbers of one algorithm are undefined for the others. */
export type AnyMetrics = UpdateMetrics & Partial<Metrics> & Partial<SacMetrics> & Partial<DqnMetrics>;

/** What is reported of what learns values from a replay. */
function valuesOf(state: Float32Array) {
  const of = (name: keyof typeof SAC_STATE) => state[SAC_STATE[name]];
  const mean = (name: keyof typeof SAC_STATE) => of(name) / Math.max(1, of("minibatches"));
  return {
    ...episodesOf(state),
    valueLoss: mean("critic_loss"),
    value: mean("value"),
    targetValue: mean("target_value"),
    gradNorm: mean("grad_norm"),
    gradClipped: mean("grad_clipped"),
    applied: of("minibatches"),
    minibatches: of("minibatches"),
    badSteps: of("bad_steps"),
    halted: REASONS[of("halted")],
  };
}

export const dqnMetricsOf = (state: Float32Array): Omit<DqnMetrics, "epsilon"> => ({
  ...valuesOf(state),
  learningRate: state[SAC_STATE.rate],
});

export function sacMetricsOf(state: Float32Array): SacMetrics {
  const of = (name: keyof typeof SAC_STATE) => state[SAC_STATE[name]];
  const policy = (name: keyof typeof SAC_STATE) => of(name) / Math.max(1, of("policy_updates"));
  return {
    ...valuesOf(state),
    policyLoss: policy("policy_loss"),
    entropy: policy("entropy"),
    temperature: Math.exp(of("log_alpha")),
    policyGradNorm: policy("policy_grad_norm"),
    learningRate: of("policy_rate"),
  };
}
