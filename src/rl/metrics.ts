// what an update reports: the learner's state, read once per update

/** What every algorithm tells of an update. */
export interface UpdateMetrics {
  /** Episodes that ended in the rollout, with the means of their returns and lengths; NaN if there were none. */
  readonly episodes: number;
  readonly episodeReturn: number;
  readonly episodeLength: number;
  /** Means over minibatches, as the next ones. */
  readonly policyLoss: number;
  readonly valueLoss: number;
  readonly entropy: number;
  /** Before shortening, and the share of minibatches that were shortened. */
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
  /** Approximate divergence from the policy that acted, mean over minibatches. */
  readonly kl: number;
  /** Share of samples whose ratio was beyond the clip. */
  readonly clipFraction: number;
  /** Share of the returns' variance that the value function explains. */
  readonly explainedVariance: number;
  /** Mean standard deviation of actions, and how many lie at a bound; 0 for discrete actions. */
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

/** Places of the state: twin of shaders/rl/common.wgsl. */
export const PLACE = {
  rate: 2,
  scale: 3,
  halted: 5,
  rewardMean: 8,
  policyRate: 10,
  logAlpha: 13,
  rewardScale: 11,
  explained: 14,
  valid: 15,
  metrics: 16,
  episodes: 40,
} as const;
export const REASONS = [undefined, "loss", "gradient", "log standard deviation", "step of Adam"] as const;

/** Of the episodes that ended. */
function episodesOf(state: Float32Array) {
  const [episodes, returns, lengths] = state.subarray(PLACE.episodes);
  return { episodes, episodeReturn: returns / episodes, episodeLength: lengths / episodes };
}

export function metricsOf(state: Float32Array): Metrics {
  const m = PLACE.metrics;
  const minibatches = state[m];
  const mean = (i: number) => state[m + i] / Math.max(1, minibatches);
  return {
    ...episodesOf(state),
    policyLoss: mean(1),
    valueLoss: mean(2),
    entropy: mean(3),
    kl: mean(4),
    clipFraction: mean(5),
    gradNorm: mean(6),
    gradClipped: mean(9),
    explainedVariance: state[PLACE.explained],
    learningRate: state[PLACE.rate],
    std: state[m + 10],
    stdAtBound: state[m + 11],
    applied: state[m + 8],
    minibatches,
    samples: state[PLACE.valid],
    rewardsClipped: state[PLACE.episodes + 4],
    rewardsLeftOut: state[PLACE.episodes + 6],
    observationsClipped: state[PLACE.episodes + 5],
    ratiosClipped: state[m + 7],
    badSteps: state[PLACE.episodes + 3],
    rewardScale: 1 / state[PLACE.rewardScale],
    halted: REASONS[state[PLACE.halted]],
  };
}

/** One update of SAC in numbers. `valueLoss` is of both critics; `learningRate` is the policy's. */
export interface SacMetrics extends UpdateMetrics {
  /** Weight of the entropy. */
  readonly temperature: number;
  /** Means over batches: of both critics, and of the targets that they move to. */
  readonly value: number;
  readonly targetValue: number;
  /** As gradNorm, of the policy. */
  readonly policyGradNorm: number;
}

/** What an update of any algorithm tells; numbers of one alone are undefined for the others. */
export type AnyMetrics = UpdateMetrics & Partial<Metrics> & Partial<SacMetrics>;

/** Twin of shaders/rl/sac_judge.wgsl. */
export function sacMetricsOf(state: Float32Array): SacMetrics {
  const m = PLACE.metrics;
  const minibatches = state[m];
  const of = (i: number, count: number) => state[m + i] / Math.max(1, count);
  const critic = (i: number) => of(i, minibatches);
  const policy = (i: number) => of(i, state[m + 6]);
  return {
    ...episodesOf(state),
    policyLoss: policy(7),
    valueLoss: critic(1),
    entropy: policy(8),
    temperature: Math.exp(state[PLACE.logAlpha]),
    value: critic(2),
    targetValue: critic(3),
    gradNorm: critic(4),
    policyGradNorm: policy(9),
    gradClipped: critic(5),
    learningRate: state[PLACE.policyRate],
    applied: minibatches,
    minibatches,
    badSteps: state[PLACE.episodes + 3],
    halted: REASONS[state[PLACE.halted]],
  };
}
