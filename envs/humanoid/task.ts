// Humanoid-v5: a body of thirteen parts learns to walk along x (Gymnasium 1.x). Options are Gymnasium's.
import { clipped, defineTask, inOpen, sumOfSquares, type Scene } from "../../src/env/index.ts";
import { div, mul, neg, not, select, sub, sum } from "../../src/trace/scalar.ts";
import { place, uniformStart } from "../shared.ts";
import { bodyOutputs, observationDefaults, observeBody, tendons } from "./body.ts";
import { WALKING } from "../training.ts";

const defaults = {
  forward_reward_weight: 1.25,
  ctrl_cost_weight: 0.1,
  contact_cost_weight: 5e-7,
  contact_cost_range: [-Infinity, 10] as readonly [number, number],
  healthy_reward: 5,
  terminate_when_unhealthy: true,
  healthy_z_range: [1, 2] as readonly [number, number],
  reset_noise_scale: 1e-2,
  ...observationDefaults,
};

type Humanoid = Scene<typeof defaults>;

/** Centre of mass of the whole model along an axis, as the last evaluation left it. */
function centre({ m, d }: Scene, axis: number) {
  const masses = Array.from({ length: m.nbody }, (_, body) => m.body_mass.at(body));
  const total = sum(masses);
  return sum(masses.map((mass, body) => mul(div(mass, total), d.xipos.vec3(body)[axis])));
}

const velocity = (s: Humanoid, axis: number) => div(sub(centre(s, axis), s.carried.centre[axis]), s.dt);
const isHealthy = ({ d, options }: Humanoid) => inOpen(d.qpos.at(2), options.healthy_z_range);

function contactCost({ d, options }: Humanoid) {
  const cost = mul(sumOfSquares(d.cfrc_ext.all()), options.contact_cost_weight);
  return clipped([cost], options.contact_cost_range)[0];
}

export const humanoid = defineTask({
  id: "Humanoid-v5",
  model: new URL("./model.xml", import.meta.url),
  // the minimum that Gymnasium's PGS goes to, at a seventh of the work
  physics: { solver: "Newton" },
  frameSkip: 5,
  maxEpisodeSteps: 1000,
  training: { ppo: WALKING },
  defaults,
  outputs: (o) => [...bodyOutputs(o), "xipos"],
  carry: (s) => ({ centre: [centre(s, 0), centre(s, 1)] }),

  observe: observeBody,
  reward: (s) => ({
    reward_survive: select(isHealthy(s), s.options.healthy_reward, 0, "f32"),
    reward_forward: mul(velocity(s, 0), s.options.forward_reward_weight),
    reward_ctrl: mul(sumOfSquares(s.action), -s.options.ctrl_cost_weight),
    reward_contact: neg(contactCost(s)),
  }),
  terminated: (s) => ({ unhealthy: s.options.terminate_when_unhealthy ? not(isHealthy(s)) : false }),
  info: (s) => ({ ...place(s), ...tendons(s), x_velocity: velocity(s, 0), y_velocity: velocity(s, 1) }),
  resetInfo: (s) => ({ ...place(s), ...tendons(s) }),
  reset: uniformStart,
});
