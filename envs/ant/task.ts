// Ant-v5: a four-legged body learns to walk along x (Gymnasium 1.x). Options are Gymnasium's.
import {
  all,
  bodyId,
  clipped,
  defineTask,
  inClosed,
  normalNoise,
  positionsAndVelocities,
  sumOfSquares,
  uniformNoise,
} from "../../src/env/index.ts";
import type { Scene } from "../../src/env/index.ts";
import { isFinite32, div, mul, not, select, sub } from "../../src/trace/scalar.ts";
import { place } from "../shared.ts";
import { WALKING } from "../training.ts";

const defaults = {
  forward_reward_weight: 1,
  ctrl_cost_weight: 0.5,
  contact_cost_weight: 5e-4,
  healthy_reward: 1,
  /** Id or name of the body whose velocity counts; 1 is the torso. */
  main_body: 1 as number | string,
  terminate_when_unhealthy: true,
  healthy_z_range: [0.2, 1] as readonly [number, number],
  contact_force_range: [-1, 1] as readonly [number, number],
  reset_noise_scale: 0.1,
  exclude_current_positions_from_observation: true,
  include_cfrc_ext_in_observation: true,
};

type Ant = Scene<typeof defaults>;

/** Position of the main body as the last evaluation left it. */
const bodyPosition = ({ model, options, d }: Ant) =>
  d.xpos.vec3(bodyId(model, "main_body", options.main_body)).slice(0, 2);

const velocity = (s: Ant, axis: number) => div(sub(bodyPosition(s)[axis], s.carried.position[axis]), s.dt);

/** External forces on the bodies but the world: torque and force of each, clipped. */
const contactForces = ({ d, options }: Ant) => clipped(d.cfrc_ext.all().slice(6), options.contact_force_range);

const isHealthy = ({ d, options }: Ant) =>
  all([...[...d.qpos.all(), ...d.qvel.all()].map(isFinite32), inClosed(d.qpos.at(2), options.healthy_z_range)]);

export const ant = defineTask({
  id: "Ant-v5",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 5,
  maxEpisodeSteps: 1000,
  training: { ppo: { ...WALKING, shortDispatches: true } },
  defaults,
  check: ({ main_body }, model) => void bodyId(model, "main_body", main_body),
  outputs: () => ["xpos", "cfrc_ext"],
  carry: (s) => ({ position: bodyPosition(s) }),

  observe: (s) => ({
    ...positionsAndVelocities(s, s.options.exclude_current_positions_from_observation ? 2 : 0),
    cfrc_ext: s.options.include_cfrc_ext_in_observation ? contactForces(s) : [],
  }),
  reward: (s) => ({
    reward_forward: mul(velocity(s, 0), s.options.forward_reward_weight),
    reward_ctrl: mul(sumOfSquares(s.action), -s.options.ctrl_cost_weight),
    reward_contact: mul(sumOfSquares(contactForces(s)), -s.options.contact_cost_weight),
    reward_survive: select(isHealthy(s), s.options.healthy_reward, 0, "f32"),
  }),
  terminated: (s) => ({ unhealthy: s.options.terminate_when_unhealthy ? not(isHealthy(s)) : false }),
  info: (s) => ({ ...place(s), x_velocity: velocity(s, 0), y_velocity: velocity(s, 1) }),
  resetInfo: place,
  reset: (s) => ({
    qpos: uniformNoise(s, s.model.qpos0, s.options.reset_noise_scale),
    qvel: normalNoise(s, s.model.nv, s.options.reset_noise_scale),
  }),
});
