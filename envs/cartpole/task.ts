// CartPole: the classic task of Barto, Sutton and Anderson with two actions, on MuJoCo's dynamics
import { defineTask, Discrete, uniformNoise, type Scene } from "../../src/env/index.ts";
import { abs, eq, gt, or, select, type Bool } from "../../src/trace/scalar.ts";
import { SMALL } from "../training.ts";

const defaults = {
  /** Reward 0, and -1 on the step that ends the episode. */
  sutton_barto_reward: false,
};

/** Runs that learn from a replay. */
const OFTEN = { numEnvs: 16, steps: 100_000, evalEvery: 50, checkpointEvery: 400, snapshotEvery: 200 };

/** A short horizon, and returns of five rewards: values of hundreds of steps need as many moves of the targets. */
const DQN = {
  collectSteps: 4,
  gradientSteps: 16,
  batchSize: 64,
  bufferSize: 100_000,
  explorationSteps: 10_000,
  explorationFinal: 0.04,
  learningRate: 2.3e-3,
  gamma: 0.98,
  nSteps: 5,
  tau: 1,
  targetEvery: 64,
};

/** With little entropy at the start, or asked for of two actions, the first policy that stays up for a while may be kept for good. */
const SAC_DISCRETE = {
  collectSteps: 4,
  gradientSteps: 16,
  bufferSize: 100_000,
  nSteps: 3,
  tau: 0.02,
  targetEntropy: 0.7,
  initialTemperature: 1,
};

/** Metres from the middle of the rail, and radians from upright, that end an episode. */
const MAX_DISTANCE = 2.4;
const MAX_ANGLE = (12 * 2 * Math.PI) / 360;
const START_NOISE = 0.05;

const offTheRail = ({ d }: Scene): Bool => gt(abs(d.qpos.at(0)), MAX_DISTANCE);
const fallen = ({ d }: Scene): Bool => gt(abs(d.qpos.at(1)), MAX_ANGLE);

export const cartpole = defineTask({
  id: "CartPole",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 1,
  maxEpisodeSteps: 500,
  training: {
    ppo: { numEnvs: 64, steps: 200_000, config: { ...SMALL, rolloutSteps: 32 }, shortDispatches: true },
    "sac-discrete": { ...OFTEN, config: SAC_DISCRETE },
    dqn: { ...OFTEN, config: DQN },
  },
  defaults,
  actionSpace: () => new Discrete(2),
  // the motor's gear makes it 10 N to the left or to the right
  control: ({ action }) => [select(eq(action[0], 1), 1, -1, "f32")],

  observe: ({ d }) => ({
    cart: [d.qpos.at(0), d.qvel.at(0)],
    pole: [d.qpos.at(1), d.qvel.at(1)],
  }),
  reward: (s) => ({
    reward_survive: s.options.sutton_barto_reward ? select(or(offTheRail(s), fallen(s)), -1, 0, "f32") : 1,
  }),
  terminated: (s) => ({ off_the_rail: offTheRail(s), fallen: fallen(s) }),
  reset: (s) => ({
    qpos: uniformNoise(s, s.model.qpos0, START_NOISE),
    qvel: uniformNoise(s, new Float64Array(s.model.nv), START_NOISE),
  }),
});
