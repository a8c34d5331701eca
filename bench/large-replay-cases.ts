// what bench/large-replay.ts trains: learners of a few worlds with the defaults of an environment, and of a thousand

export interface LargeReplayCase {
  readonly algo: "ppo" | "sac";
  /** Without it worlds and settings are the environment's own. */
  readonly numEnvs?: number;
  readonly config?: Readonly<Record<string, unknown>>;
}

const LARGE = {
  collectSteps: 1,
  gradientSteps: 8,
  batchSize: 512,
  hidden: [64, 64],
  bufferSize: 400_000,
  learningStarts: 10_240,
  gamma: 0.97,
  nSteps: 3,
  tau: 0.1,
  policyEvery: 2,
  learningRate: 2e-3,
  criticLearningRate: 2e-3,
  initialTemperature: 0.3,
  targetEntropy: -0.5,
};

export const LARGE_REPLAY_CASES: Readonly<Record<string, LargeReplayCase>> = {
  ppo: { algo: "ppo" },
  small: { algo: "sac" },
  // the settings of decision 0086, and with both norms
  large: { algo: "sac", numEnvs: 1024, config: LARGE },
  normed: { algo: "sac", numEnvs: 1024, config: { ...LARGE, layerNorm: true, normalizeObservations: true } },
};
