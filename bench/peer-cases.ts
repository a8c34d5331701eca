// what bench/peer-curves.ts trains: algorithms beside those of others, with equal settings on one environment
import { Box, defineJsEnv, Discrete, Dqn, makeJsVec, makeVec, Ppo, SacDiscrete, type JsVec } from "../src/index.ts";
import type { LearnerEnv } from "../src/rl/device/learner-env.ts";

type Learner = Dqn | Ppo | SacDiscrete;

export interface PeerCase {
  readonly env: string;
  readonly steps: number;
  readonly evalEvery: number;
  /** Said to both sides, in corral's words. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly peer: { readonly who: string; readonly script: string };
  /** Worlds to learn from, or to be evaluated in. */
  worlds(numEnvs: number, seed: number): Promise<LearnerEnv | JsVec>;
  learner(env: LearnerEnv | JsVec, seed: number): Promise<Learner>;
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

export const PEER_CASES: Readonly<Record<string, PeerCase>> = {
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
