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

/** Few worlds and many passes: most of the time goes into the physics of useful steps. */
const LOCOMOTION: RunDefaults = {
  numEnvs: 64,
  steps: 1_000_000,
  config: { rolloutSteps: 64, minibatches: 16, epochs: 10, learningRate: 1e-3, initialLogStd: -0.5 },
};

const BY_ID: Readonly<Record<string, RunDefaults>> = {
  CartPole: { numEnvs: 64, steps: 200_000, config: { ...SMALL, rolloutSteps: 32 } },
  // a score of embeddings instead of 27,000 rows of weights: less memory, and a tenth of the time
  ArmTable: {
    numEnvs: 64,
    steps: 200_000,
    config: { rolloutSteps: 32, minibatches: 4, epochs: 4, learningRate: 3e-3, actionEmbedding: 8 },
  },
  "InvertedPendulum-v5": { numEnvs: 64, steps: 200_000, config: { ...SMALL, rolloutSteps: 64 } },
};

export const runDefaults = (id: string): RunDefaults => BY_ID[id] ?? LOCOMOTION;
