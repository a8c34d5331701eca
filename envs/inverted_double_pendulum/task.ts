// InvertedDoublePendulum-v5: a cart balances two poles, one on the other (Gymnasium 1.x)
import { clipped, defineTask, normalNoise, uniformNoise, type Scene } from "../../src/env/index.ts";
import { add, le, mul, neg, select, square, sub } from "../../src/trace/scalar.ts";
import { cos, sin } from "../../src/trace/math.ts";

const defaults = { healthy_reward: 10, reset_noise_scale: 0.1 };

type DoublePendulum = Scene<typeof defaults>;

/** The tip is not above this (m). */
const MIN_HEIGHT = 1;
/** Where the tip is when both poles stand (m). */
const UPRIGHT = 2;

const tip = ({ d }: Scene) => d.site_xpos.vec3(0);
const falls = (s: Scene) => le(tip(s)[2], MIN_HEIGHT);

export const invertedDoublePendulum = defineTask({
  id: "InvertedDoublePendulum-v5",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 5,
  maxEpisodeSteps: 1000,
  defaults,
  outputs: () => ["site_xpos", "qfrc_constraint"],

  observe: ({ d }) => {
    const angles = d.qpos.run(1, 2);
    return {
      cart: [d.qpos.at(0)],
      sin: angles.map(sin),
      cos: angles.map(cos),
      qvel: clipped(d.qvel.all(), [-10, 10]),
      qfrc_constraint: clipped([d.qfrc_constraint.at(0)], [-10, 10]),
    };
  },
  reward: (s: DoublePendulum) => {
    const [x, , z] = tip(s);
    const [v1, v2] = s.d.qvel.run(1, 2);
    return {
      reward_survive: select(falls(s), 0, s.options.healthy_reward, "f32"),
      distance_penalty: neg(add(mul(0.01, square(x)), square(sub(z, UPRIGHT)))),
      velocity_penalty: neg(add(mul(1e-3, square(v1)), mul(5e-3, square(v2)))),
    };
  },
  terminated: (s) => ({ fallen: falls(s) }),
  reset: (s) => ({
    qpos: uniformNoise(s, s.model.qpos0, s.options.reset_noise_scale),
    qvel: normalNoise(s, s.model.nv, s.options.reset_noise_scale),
  }),
});
