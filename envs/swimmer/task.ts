// Swimmer-v5: three segments in a viscous fluid learn to swim along x (Gymnasium 1.x). Options are Gymnasium's.
import { defineTask, positionsAndVelocities, sumOfSquares, type Scene } from "../../src/env/index.ts";
import { div, mul, sub } from "../../src/trace/scalar.ts";
import { place, uniformStart } from "../shared.ts";

const defaults = {
  forward_reward_weight: 1,
  ctrl_cost_weight: 1e-4,
  reset_noise_scale: 0.1,
  exclude_current_positions_from_observation: true,
};

const velocity = ({ d, before, dt }: Scene, axis: number) => div(sub(d.qpos.at(axis), before.qpos[axis]), dt);

export const swimmer = defineTask({
  id: "Swimmer-v5",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 4,
  maxEpisodeSteps: 1000,
  defaults,

  observe: (s) => positionsAndVelocities(s, s.options.exclude_current_positions_from_observation ? 2 : 0),
  reward: (s) => ({
    reward_forward: mul(velocity(s, 0), s.options.forward_reward_weight),
    reward_ctrl: mul(sumOfSquares(s.action), -s.options.ctrl_cost_weight),
  }),
  terminated: () => ({}),
  info: (s) => ({ ...place(s), x_velocity: velocity(s, 0), y_velocity: velocity(s, 1) }),
  resetInfo: place,
  reset: uniformStart,
});
