// Reacher-v5: an arm of two links reaches for a target in its plane (Gymnasium 1.x). Options are Gymnasium's.
import { defineTask, sumOfSquares, uniformNoise, type Scene } from "../../src/env/index.ts";
import { mul, neg, sqrt } from "../../src/trace/scalar.ts";
import { cos, sin } from "../../src/trace/math.ts";
import { between, norm } from "../shared.ts";

const defaults = { reward_dist_weight: 1, reward_control_weight: 1 };

/** Noise of a start: joints (rad), their velocities (rad/s); how far off the centre targets are (m). */
const START = { qpos: 0.1, qvel: 0.005, target: 0.2 };

/** From the target to the fingertip, as the last evaluation left them. */
const offset = (s: Scene) => between(s, "target", "fingertip");

export const reacher = defineTask({
  id: "Reacher-v5",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 2,
  maxEpisodeSteps: 50,
  defaults,
  outputs: () => ["xpos"],

  observe: (s) => {
    const angles = s.d.qpos.run(0, 2);
    return {
      cos: angles.map(cos),
      sin: angles.map(sin),
      target: s.d.qpos.run(2, 2),
      qvel: s.d.qvel.run(0, 2),
      offset: offset(s).slice(0, 2),
    };
  },
  reward: (s) => ({
    reward_dist: mul(neg(norm(offset(s))), s.options.reward_dist_weight),
    reward_ctrl: mul(neg(sumOfSquares(s.action)), s.options.reward_control_weight),
  }),
  terminated: () => ({}),
  reset: (s) => {
    const arm = uniformNoise(s, s.model.qpos0.subarray(0, 2), START.qpos);
    // evenly over the disc: as many targets within each radius as its area holds
    const [u, turn] = s.random.uniforms(2);
    const radius = mul(START.target, sqrt(u));
    const angle = mul(2 * Math.PI, turn);
    return {
      qpos: [...arm, mul(radius, cos(angle)), mul(radius, sin(angle))],
      qvel: [...uniformNoise(s, new Float64Array(2), START.qvel), 0, 0],
    };
  },
});
