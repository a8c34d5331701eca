// HumanoidStandup-v5: a humanoid that lies on its back learns to stand up (Gymnasium 1.x). Options are Gymnasium's.
import { clipped, defineTask, sumOfSquares, type Scene } from "../../src/env/index.ts";
import { div, mul, neg, sub } from "../../src/trace/scalar.ts";
import { uniformStart } from "../shared.ts";
import { bodyOutputs, observationDefaults, observeBody, tendons } from "../humanoid/body.ts";

const defaults = {
  uph_cost_weight: 1,
  ctrl_cost_weight: 0.1,
  impact_cost_weight: 0.5e-6,
  impact_cost_range: [-Infinity, 10] as readonly [number, number],
  reset_noise_scale: 1e-2,
  ...observationDefaults,
};

type Standup = Scene<typeof defaults>;

function impactCost({ d, options }: Standup) {
  const cost = mul(sumOfSquares(d.cfrc_ext.all()), options.impact_cost_weight);
  return clipped([cost], options.impact_cost_range)[0];
}

const place = ({ d, model }: Scene) => ({
  x_position: d.qpos.at(0),
  y_position: d.qpos.at(1),
  z_distance_from_origin: sub(d.qpos.at(2), model.qpos0[2]),
});

export const humanoidStandup = defineTask({
  id: "HumanoidStandup-v5",
  model: new URL("./model.xml", import.meta.url),
  // the minimum that Gymnasium's PGS goes to, at a seventh of the work
  physics: { solver: "Newton" },
  frameSkip: 5,
  maxEpisodeSteps: 1000,
  defaults,
  outputs: bodyOutputs,

  observe: observeBody,
  // Gymnasium takes uph_cost_weight and does not use it, and adds a constant that no info names
  reward: (s) => ({
    reward_linup: div(s.d.qpos.at(2), s.m.timestep),
    reward_quadctrl: mul(sumOfSquares(s.action), -s.options.ctrl_cost_weight),
    reward_impact: neg(impactCost(s)),
    reward_constant: 1,
  }),
  terminated: () => ({}),
  info: (s) => ({ ...place(s), ...tendons(s) }),
  resetInfo: (s) => ({ ...place(s), ...tendons(s) }),
  reset: uniformStart,
});
