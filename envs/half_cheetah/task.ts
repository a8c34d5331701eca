// HalfCheetah-v5: a planar runner learns to run along x (Gymnasium 1.x). Options are Gymnasium's.
import { defineTask, normalNoise, positionsAndVelocities, sumOfSquares, uniformNoise } from "../../src/env/index.ts";
import { mul } from "../../src/trace/scalar.ts";
import { forwardVelocity } from "../shared.ts";
import { LOCOMOTION } from "../training.ts";

const defaults = {
  forward_reward_weight: 1,
  ctrl_cost_weight: 0.1,
  reset_noise_scale: 0.1,
  exclude_current_positions_from_observation: true,
};

export const halfCheetah = defineTask({
  id: "HalfCheetah-v5",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 5,
  maxEpisodeSteps: 1000,
  training: { ppo: { ...LOCOMOTION, shortDispatches: true } },
  defaults,

  observe: (s) => positionsAndVelocities(s, s.options.exclude_current_positions_from_observation ? 1 : 0),
  reward: (s) => ({
    reward_forward: mul(forwardVelocity(s), s.options.forward_reward_weight),
    reward_ctrl: mul(sumOfSquares(s.action), -s.options.ctrl_cost_weight),
  }),
  terminated: () => ({}),
  info: (s) => ({ x_position: s.d.qpos.at(0), x_velocity: forwardVelocity(s) }),
  resetInfo: ({ d }) => ({ x_position: d.qpos.at(0) }),
  reset: (s) => ({
    qpos: uniformNoise(s, s.model.qpos0, s.options.reset_noise_scale),
    qvel: normalNoise(s, s.model.nv, s.options.reset_noise_scale),
  }),
});
