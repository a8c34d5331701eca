// InvertedPendulum-v5: a cart learns to balance a pole with a continuous force (Gymnasium 1.x)
import { defineTask, positionsAndVelocities, uniformNoise, type Scene } from "../../src/env/index.ts";
import { abs, gt, isFinite32, not, or, select, type Bool } from "../../src/trace/scalar.ts";
import { SMALL } from "../training.ts";

const defaults = { reset_noise_scale: 0.01 };

/** The pole leans by more than this (rad), or a number is not finite. */
const MAX_LEAN = 0.2;
const falls = ({ d }: Scene): Bool =>
  [...d.qpos.all(), ...d.qvel.all()].reduce<Bool>(
    (bad, x) => or(bad, not(isFinite32(x))),
    gt(abs(d.qpos.at(1)), MAX_LEAN),
  );

export const invertedPendulum = defineTask({
  id: "InvertedPendulum-v5",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 2,
  maxEpisodeSteps: 1000,
  training: {
    ppo: { numEnvs: 64, steps: 200_000, config: { ...SMALL, rolloutSteps: 64 }, shortDispatches: true },
    sac: {
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
  },
  defaults,

  observe: (s) => positionsAndVelocities(s, 0),
  reward: (s) => ({ reward_survive: select(falls(s), 0, 1, "f32") }),
  terminated: (s) => ({ fallen: falls(s) }),
  reset: (s) => ({
    qpos: uniformNoise(s, s.model.qpos0, s.options.reset_noise_scale),
    qvel: uniformNoise(s, new Float64Array(s.model.nv), s.options.reset_noise_scale),
  }),
});
