/** What `corral train` takes for an environment where nothing else is said. */
import type { PpoConfig } from "../rl/config.ts";

export interface RunDefaults {
  readonly numEnvs: number;
  /** Env steps of the whole run. */
  readonly steps: number;
  readonly config: Partial<PpoConfig>;
}

/** Small networks and many passes: what solves them in seconds on two processor cores. */
const SMALL: Partial<PpoConfig> = { hidden: [32, 32], minibatches: 4, epochs: 10, learningRate: 3e-3 };

const LOCOMOTION: RunDefaults = {
  numEnvs: 256,
  steps: 5_000_000,
  config: { rolloutSteps: 32, minibatches: 8, epochs: 5, learningRate: 1e-3, entropyCoef: 0, initialLogStd: -0.5 },
};

const BY_ID: Readonly<Record<string, RunDefaults>> = {
  CartPole: { numEnvs: 64, steps: 200_000, config: { ...SMALL, rolloutSteps: 32 } },
  "InvertedPendulum-v5": { numEnvs: 64, steps: 200_000, config: { ...SMALL, rolloutSteps: 64 } },
};

export const runDefaults = (id: string): RunDefaults => BY_ID[id] ?? LOCOMOTION;
