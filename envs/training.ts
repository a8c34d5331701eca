// what several environments say to `corral train` the same way; a task's own stands in its file
import type { TrainingDefaults } from "../src/env/index.ts";

/** A clipped value loss where legs fall: others learn faster without it (decision 0014). */
export const CLIPPED_VALUES = { valueClip: 0.2 };

/** Small networks, few but large steps of the optimizer: solved in seconds on two processor cores. */
export const SMALL = { hidden: [32, 32], minibatches: 4, epochs: 5, learningRate: 3e-3 };

/** Few worlds, and many small steps of the optimizer on each rollout: 64 samples each, as CleanRL and Stable-Baselines3. */
export const LOCOMOTION: TrainingDefaults = {
  numEnvs: 64,
  steps: 1_000_000,
  config: { rolloutSteps: 64, minibatches: 64, epochs: 5, learningRate: 5e-4, initialLogStd: -0.5 },
};

/** Legs that fall. */
export const WALKING: TrainingDefaults = { ...LOCOMOTION, config: { ...CLIPPED_VALUES, ...LOCOMOTION.config } };

/** Legs that fall at once: half the samples, twice the updates. */
export const BALANCING: TrainingDefaults = {
  ...WALKING,
  config: { ...WALKING.config, rolloutSteps: 32, minibatches: 32 },
  shortDispatches: true,
};

/** The discount where a fall costs what is earned within seconds, which it sees. */
export const FALLS_COST = 0.995;

/** Many worlds that start and are commanded differently: each update sees many of them. */
export const VARIED = { ...CLIPPED_VALUES, rolloutSteps: 32, minibatches: 8, epochs: 5, learningRate: 1e-3 };

/** Robots on terrain, who see its heights: more worlds, since each begins on ground of its own, and larger networks. */
export const ON_TERRAIN = {
  numEnvs: 512,
  steps: 3_000_000,
  config: {
    ...CLIPPED_VALUES,
    rolloutSteps: 32,
    minibatches: 16,
    epochs: 3,
    learningRate: 1e-3,
    targetKl: 0.03,
    hidden: [128, 64],
    activation: "elu",
  },
} as const satisfies TrainingDefaults;

/** Bipeds there, about a gait that walks. */
export const BIPEDS_ON_TERRAIN = {
  ...ON_TERRAIN,
  steps: 8_000_000,
  config: { ...ON_TERRAIN.config, epochs: 4, learningRate: 5e-4, gamma: FALLS_COST, initialLogStd: -1.9 },
} as const satisfies TrainingDefaults;
