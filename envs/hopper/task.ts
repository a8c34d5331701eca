// Hopper-v5: a planar leg learns to hop along x (Gymnasium 1.x). Options are Gymnasium's.
import { all, defineTask, inOpen, type Scene } from "../../src/env/index.ts";
import { planarWalker } from "../shared.ts";

const defaults = {
  forward_reward_weight: 1,
  ctrl_cost_weight: 1e-3,
  healthy_reward: 1,
  terminate_when_unhealthy: true,
  healthy_state_range: [-100, 100] as readonly [number, number],
  healthy_z_range: [0.7, Infinity] as readonly [number, number],
  healthy_angle_range: [-0.2, 0.2] as readonly [number, number],
  reset_noise_scale: 5e-3,
  exclude_current_positions_from_observation: true,
};

type Hopper = Scene<typeof defaults>;

const isHealthy = ({ d, options }: Hopper) =>
  all([
    inOpen(d.qpos.at(1), options.healthy_z_range),
    inOpen(d.qpos.at(2), options.healthy_angle_range),
    ...[...d.qpos.all().slice(2), ...d.qvel.all()].map((x) => inOpen(x, options.healthy_state_range)),
  ]);

export const hopper = defineTask({
  id: "Hopper-v5",
  model: new URL("./model.xml", import.meta.url),
  defaults,
  ...planarWalker(isHealthy),
});
