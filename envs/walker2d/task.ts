// Walker2d-v5: a planar biped learns to walk along x (Gymnasium 1.x). Options are Gymnasium's.
import { all, defineTask, inOpen, type Scene } from "../../src/env/index.ts";
import { planarWalker } from "../shared.ts";

const defaults = {
  forward_reward_weight: 1,
  ctrl_cost_weight: 1e-3,
  healthy_reward: 1,
  terminate_when_unhealthy: true,
  healthy_z_range: [0.8, 2] as readonly [number, number],
  healthy_angle_range: [-1, 1] as readonly [number, number],
  reset_noise_scale: 5e-3,
  exclude_current_positions_from_observation: true,
};

type Walker = Scene<typeof defaults>;

const isHealthy = ({ d, options }: Walker) =>
  all([inOpen(d.qpos.at(1), options.healthy_z_range), inOpen(d.qpos.at(2), options.healthy_angle_range)]);

export const walker2d = defineTask({
  id: "Walker2d-v5",
  model: new URL("./model.xml", import.meta.url),
  defaults,
  ...planarWalker(isHealthy),
});
