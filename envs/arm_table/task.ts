// ArmTable: an arm reaches for points, with one of 27,000 actions: 30 torques at each of three joints
import { actionTable, combinations, command, defineTask, evenly, startAround, tracking } from "../../src/env/index.ts";
import { CLIPPED_VALUES } from "../training.ts";

/** Torques of each joint, N m. */
const LEVELS = evenly(-1, 1, 30);

/** A short horizon, since a torque shows at once, and a narrow last layer, which 27,000 values are made from. */
const FROM_REPLAY = {
  hidden: [64, 16],
  actionEmbedding: 8,
  collectSteps: 2,
  gradientSteps: 1,
  batchSize: 64,
  bufferSize: 100_000,
  gamma: 0.9,
  nSteps: 3,
  learningRate: 3e-3,
  tau: 0.02,
};
const DQN = { ...FROM_REPLAY, explorationSteps: 8000 };
/** At DQN's rate it loses between evaluations what it had learned. */
const SAC_DISCRETE = {
  ...FROM_REPLAY,
  learningRate: 1e-3,
  criticLearningRate: 1e-3,
  learningStarts: 1000,
  // values of two actions differ by hundredths
  initialTemperature: 0.02,
};
const OFTEN = { numEnvs: 16, evalEvery: 400, checkpointEvery: 400, snapshotEvery: 200 };

/** Where the hand is to go (m), another place every two seconds. */
const target = command(
  [
    ["-option.reach", "option.reach"],
    ["-option.reach", "option.reach"],
    ["0.5 - option.reach", "0.5 + option.reach"],
  ],
  { every: [2, 2], key: "target" },
);

export const armTable = defineTask({
  id: "ArmTable",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 4,
  maxEpisodeSteps: 250,
  training: {
    ppo: {
      numEnvs: 64,
      steps: 200_000,
      // a score of embeddings instead of 27,000 rows of weights: less memory, and a tenth of the time
      config: {
        ...CLIPPED_VALUES,
        rolloutSteps: 32,
        minibatches: 4,
        epochs: 4,
        learningRate: 3e-3,
        actionEmbedding: 8,
      },
    },
    dqn: { ...OFTEN, steps: 40_000, config: DQN },
    "sac-discrete": { ...OFTEN, steps: 10_000, evalEvery: 50, config: SAC_DISCRETE },
  },
  defaults: {
    /** Targets lie in a box of this half width about the shoulder (m). */
    reach: 0.25,
    effort_weight: 0.01,
  },
  ...actionTable(() => combinations([LEVELS, LEVELS, LEVELS])),

  observe: {
    angles: "[sin(qpos), cos(qpos)]",
    velocities: { value: "qvel", scale: 0.2 },
    hand: "site_xpos(site.hand)",
    target,
  },
  reward: {
    reward_near: tracking("site_xpos(site.hand)", target, 0.15),
    reward_effort: "-option.effort_weight * sum(square(ctrl))",
  },
  reset: startAround({ qpos: 0.5, qvel: 0.1 }),
});
