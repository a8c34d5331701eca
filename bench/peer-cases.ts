// what bench/peer-curves.ts trains: algorithms beside those of others, with equal settings on one environment
import {
  Box,
  defineJsEnv,
  Discrete,
  Dqn,
  makeJsVec,
  makeVec,
  Ppo,
  Sac,
  SacDiscrete,
  type JsVec,
} from "../src/index.ts";
import type { LearnerEnv } from "../src/rl/device/learner-env.ts";

type Learner = Dqn | Ppo | Sac | SacDiscrete;

export interface PeerCase {
  readonly env: string;
  readonly steps: number;
  readonly evalEvery: number;
  /** Said to both sides, in corral's words. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly peer: { readonly who: string; readonly script: string };
  /** Worlds to learn from, or to be evaluated in. */
  worlds(numEnvs: number, seed: number): Promise<LearnerEnv | JsVec>;
  /** Without it the peer's curve is made alone, beside that of a case that has one. */
  learner?(env: LearnerEnv | JsVec, seed: number): Promise<Learner>;
}

/** Gymnasium's CartPole-v1: equations and Euler's method of Barto, Sutton and Anderson (1983), masses in kg, metres. */
const cartpole = defineJsEnv({
  id: "CartPole-v1",
  observationSpace: new Box({ low: -Infinity, high: Infinity, shape: [4] }),
  actionSpace: new Discrete(2),
  maxEpisodeSteps: 500,
  makeWorld() {
    const [gravity, cart, pole, half, force, dt] = [9.8, 1, 0.1, 0.5, 10, 0.02];
    let [x, v, angle, spin] = [0, 0, 0, 0];
    return {
      reset({ random }) {
        [x, v, angle, spin] = [0, 1, 2, 3].map((i) => random.uniform(i) * 0.1 - 0.05);
        return [x, v, angle, spin];
      },
      step([action]) {
        const push = action === 1 ? force : -force;
        const [sin, cos, total] = [Math.sin(angle), Math.cos(angle), cart + pole];
        const along = (push + pole * half * spin * spin * sin) / total;
        const turn = (gravity * sin - cos * along) / (half * (4 / 3 - (pole * cos * cos) / total));
        const speedUp = along - (pole * half * turn * cos) / total;
        [x, v, angle, spin] = [x + dt * v, v + dt * speedUp, angle + dt * spin, spin + dt * turn];
        const terminated = Math.abs(x) > 2.4 || Math.abs(angle) > (12 * 2 * Math.PI) / 360;
        return { observation: [x, v, angle, spin], reward: 1, terminated };
      },
    };
  },
});

const cartpoles = {
  env: cartpole.id,
  worlds: (numEnvs: number, seed: number) => Promise.resolve(makeJsVec(cartpole, { numEnvs, seed })),
};

/** What RL Baselines3 Zoo sets for DQN on CartPole-v1, but for narrower networks. */
const DQN = {
  hidden: [64, 64],
  collectSteps: 256,
  gradientSteps: 128,
  batchSize: 64,
  bufferSize: 100_000,
  learningStarts: 1000,
  learningRate: 2.3e-3,
  gamma: 0.99,
  explorationSteps: 8000,
  explorationFinal: 0.04,
};
/** Stable-Baselines3 copies the targets once between two collections, and lets them choose what they value. */
const AS_PEER = { tau: 1, targetEvery: DQN.gradientSteps, doubleQ: false };

/** As `corral train CartPole --algo sac-discrete`, but for one world. */
const SAC_DISCRETE = {
  hidden: [64, 64],
  collectSteps: 64,
  gradientSteps: 16,
  batchSize: 128,
  bufferSize: 100_000,
  learningStarts: 1000,
  learningRate: 1e-3,
  criticLearningRate: 1e-3,
  temperatureLearningRate: 1e-3,
  gamma: 0.99,
  nSteps: 3,
  tau: 0.02,
  targetEntropy: 0.7,
  initialTemperature: 1,
};

/** rsl_rl scales no rewards and clips the gradients of policy and value apart: neither does anything here. */
const PPO = {
  numEnvs: 64,
  rolloutSteps: 32,
  epochs: 5,
  minibatches: 4,
  learningRate: 1e-3,
  schedule: "constant",
  gamma: 0.99,
  gaeLambda: 0.95,
  clip: 0.2,
  valueClip: 1e6,
  entropyCoef: 0,
  valueCoef: 2,
  maxGradNorm: 1e6,
  normalizeRewards: false,
  normalizeObservations: true,
  hidden: [64, 64],
  activation: "elu",
  adamEpsilon: 1e-8,
} as const;

/** FastTD3 (Seo et al. 2025) in sizes that a processor can do: fewer worlds, smaller batches and networks, faster rates. */
const FAST = {
  numEnvs: 256,
  collectSteps: 1,
  gradientSteps: 4,
  batchSize: 512,
  hidden: [64, 64],
  bufferSize: 262_144,
  learningStarts: 2560,
  learningRate: 1e-3,
  criticLearningRate: 1e-3,
  gamma: 0.97,
  nSteps: 3,
  tau: 0.1,
  policyEvery: 2,
  weightDecay: 0.1,
};
/** What SAC has besides, as the guide's recipe sets it. */
const AS_RECIPE = { layerNorm: true, maxLogStd: -0.9 };
const FAST_TASKS = {
  fasttd3: { env: "InvertedPendulum-v5", steps: 131_072, evalEvery: 16_384, vMin: 0, vMax: 40 },
  "fasttd3-cheetah": { env: "HalfCheetah-v5", steps: 262_144, evalEvery: 32_768, vMin: -50, vMax: 250 },
};
/** Of one atom critics put out values. */
const FAST_VARIANTS = {
  "": { atoms: 101, normalizeObservations: true, layerNorm: false },
  "-values": { atoms: 1, normalizeObservations: true, layerNorm: false },
  "-raw": { atoms: 101, normalizeObservations: false, layerNorm: false },
  "-raw-values": { atoms: 1, normalizeObservations: false, layerNorm: false },
  "-layer-norm": { atoms: 101, normalizeObservations: true, layerNorm: true },
  "-values-layer-norm": { atoms: 1, normalizeObservations: true, layerNorm: true },
};

function fastCase(name: keyof typeof FAST_TASKS, variant: keyof typeof FAST_VARIANTS): PeerCase {
  const { env: id, steps, evalEvery, vMin, vMax } = FAST_TASKS[name];
  const { numEnvs: _, ...shared } = FAST;
  const { normalizeObservations } = FAST_VARIANTS[variant];
  return {
    env: id,
    steps,
    evalEvery,
    config: { ...FAST, vMin, vMax, ...FAST_VARIANTS[variant] },
    peer: { who: "FastTD3 in torch", script: "fasttd3_curves.py" },
    worlds: (numEnvs, seed) => makeVec(id, { numEnvs, seed, device: "wasm", threads: 1 }),
    // of corral's own the variants are with normalised observations and without
    ...((variant === "" || variant === "-raw") && {
      learner: (env, seed) => Sac.create(env, { ...shared, ...AS_RECIPE, normalizeObservations, seed }),
    }),
  };
}

const fastCases = Object.fromEntries(
  (Object.keys(FAST_TASKS) as (keyof typeof FAST_TASKS)[]).flatMap((name) =>
    (Object.keys(FAST_VARIANTS) as (keyof typeof FAST_VARIANTS)[]).map((variant) => [
      `${name}${variant}`,
      fastCase(name, variant),
    ]),
  ),
);

export const PEER_CASES: Readonly<Record<string, PeerCase>> = {
  ...fastCases,
  dqn: {
    ...cartpoles,
    steps: 30_720,
    evalEvery: 5120,
    config: DQN,
    peer: { who: "Stable-Baselines3", script: "sb3_curves.py" },
    learner: (env, seed) => Dqn.create(env, { ...DQN, ...AS_PEER, seed }),
  },
  "sac-discrete": {
    ...cartpoles,
    steps: 30_720,
    evalEvery: 5120,
    config: SAC_DISCRETE,
    peer: { who: "torch", script: "discrete_sac_curves.py" },
    learner: (env, seed) => SacDiscrete.create(env, { ...SAC_DISCRETE, seed }),
  },
  ppo: {
    env: "InvertedPendulum-v5",
    steps: 131_072,
    evalEvery: 32_768,
    config: PPO,
    peer: { who: "rsl_rl", script: "rsl_rl_curves.py" },
    worlds: (numEnvs, seed) => makeVec("InvertedPendulum-v5", { numEnvs, seed, device: "wasm", threads: 1 }),
    learner(env, seed) {
      const { numEnvs: _, ...config } = PPO;
      return Ppo.create(env, { ...config, seed });
    },
  },
};
