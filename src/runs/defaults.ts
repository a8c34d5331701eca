// what `corral train` takes for an environment if nothing else is said
import type { PpoConfig } from "../rl/config.ts";
import type { SacConfig } from "../rl/sac-config.ts";

export interface RunDefaults<C = Partial<PpoConfig>> {
  readonly numEnvs: number;
  /** Env steps of the whole run. */
  readonly steps: number;
  readonly config: C;
  /** Its dispatches are so short that Mesa's software driver makes them faster without threads of its own (measured). */
  readonly short?: boolean;
  /** Updates between two evaluations, checkpoints, and copies on the host. */
  readonly evalEvery?: number;
  readonly checkpointEvery?: number;
  readonly snapshotEvery?: number;
}

/** Legs that fall, and what was published with it: others learn faster with the default (decision 0014). */
const CLOSE: Partial<PpoConfig> = { valueClip: 0.2 };

/** Small networks, few but large steps of the optimizer: what solves them in seconds on two processor cores. */
const SMALL: Partial<PpoConfig> = { hidden: [32, 32], minibatches: 4, epochs: 5, learningRate: 3e-3 };

/** Few worlds, and many small steps of the optimizer on each rollout: 64 samples each, as CleanRL and Stable-Baselines3. */
const USUAL: RunDefaults = {
  numEnvs: 64,
  steps: 1_000_000,
  config: { rolloutSteps: 64, minibatches: 64, epochs: 5, learningRate: 5e-4, initialLogStd: -0.5 },
};

const LOCOMOTION: RunDefaults = { ...USUAL, config: { ...CLOSE, ...USUAL.config } };

/** Many worlds that start and are commanded differently: each update sees many of them. */
const VARIED: Partial<PpoConfig> = { ...CLOSE, rolloutSteps: 32, minibatches: 8, epochs: 5, learningRate: 1e-3 };

/** Legs that fall at once: half the samples, twice the updates. */
const FALLING: RunDefaults = { ...LOCOMOTION, config: { ...LOCOMOTION.config, rolloutSteps: 32, minibatches: 32 } };

const BY_ID: Readonly<Record<string, RunDefaults>> = {
  CartPole: { numEnvs: 64, steps: 200_000, short: true, config: { ...SMALL, rolloutSteps: 32 } },
  // a score of embeddings instead of 27,000 rows of weights: less memory, and a tenth of the time
  ArmTable: {
    numEnvs: 64,
    steps: 200_000,
    config: { ...CLOSE, rolloutSteps: 32, minibatches: 4, epochs: 4, learningRate: 3e-3, actionEmbedding: 8 },
  },
  "InvertedPendulum-v5": { numEnvs: 64, steps: 200_000, short: true, config: { ...SMALL, rolloutSteps: 64 } },
  "HalfCheetah-v5": { ...USUAL, short: true },
  "Ant-v5": { ...LOCOMOTION, short: true },
  "Humanoid-v5": LOCOMOTION,
  "Hopper-v5": { ...FALLING, short: true },
  "Walker2d-v5": { ...FALLING, short: true },
  QuadrupedVelocity: { numEnvs: 256, steps: 4_000_000, config: { ...VARIED, initialLogStd: -0.5 } },
  PickAndPlace: { numEnvs: 512, steps: 6_000_000, config: VARIED },
};

/** SAC: updates are short, and copies hold the replay. */
const SAC: RunDefaults<Partial<SacConfig>> = {
  numEnvs: 16,
  steps: 1_000_000,
  config: { collectSteps: 4, gradientSteps: 16, bufferSize: 200_000, learningStarts: 10_000 },
  evalEvery: 200,
  checkpointEvery: 2000,
  snapshotEvery: 2000,
};

const SAC_BY_ID: Readonly<Record<string, RunDefaults<Partial<SacConfig>>>> = {
  "InvertedPendulum-v5": {
    numEnvs: 16,
    steps: 60_000,
    config: {
      collectSteps: 4,
      gradientSteps: 16,
      batchSize: 128,
      bufferSize: 60_000,
      learningStarts: 500,
      hidden: [64, 64],
      tau: 0.03,
      learningRate: 2e-3,
      criticLearningRate: 2e-3,
      initialTemperature: 0.3,
      targetEntropy: -0.5,
      nSteps: 2,
    },
    evalEvery: 30,
    checkpointEvery: 200,
    snapshotEvery: 100,
  },
};

export function runDefaults(id: string, algo?: "ppo"): RunDefaults;
export function runDefaults(
  id: string,
  algo: "ppo" | "sac" | undefined,
): RunDefaults<Partial<PpoConfig> | Partial<SacConfig>>;
export function runDefaults(id: string, algo: "ppo" | "sac" = "ppo") {
  return algo === "sac" ? (SAC_BY_ID[id] ?? SAC) : (BY_ID[id] ?? USUAL);
}

/** Whether a run with so many worlds has the short dispatches that its defaults were measured with. */
export function isShort(id: string, { algo, numEnvs }: { readonly algo?: "ppo" | "sac"; readonly numEnvs?: number }) {
  const { short = false, numEnvs: usual } = runDefaults(id, algo);
  return short && (numEnvs ?? usual) <= usual;
}
