// Pusher-v5: an arm of seven joints pushes a cylinder to a goal (Gymnasium 1.x). Options are Gymnasium's.
import { defineTask, sumOfSquares, uniformNoise } from "../../src/env/index.ts";
import { gt, mul, neg, select, type Scalar } from "../../src/trace/scalar.ts";
import type { StartScene } from "../../src/env/index.ts";
import { between, norm, spread, xposOf } from "../shared.ts";

const defaults = { reward_near_weight: 0.5, reward_dist_weight: 1, reward_control_weight: 0.1 };

/** Where the cylinder starts: along its two slides (m), but not this near to the goal; noise of velocities (rad/s). */
const START = { y: [-0.3, 0], x: [-0.2, 0.2], apart: 0.17, qvel: 0.005 } as const;

/** Draws of a place for the cylinder. Three in eight are too near: all of them once in 10^13 starts. */
const TRIES = 32;

/** The first of many places that is far enough from the goal. */
function farFromGoal(s: StartScene): readonly Scalar[] {
  const draws = s.random.uniforms(2 * TRIES);
  let chosen: readonly Scalar[] = [START.y[0], 0];
  for (let i = TRIES - 1; i >= 0; i--) {
    const drawn = [spread(draws[2 * i], ...START.y), spread(draws[2 * i + 1], ...START.x)];
    const far = gt(norm(drawn), START.apart);
    const later = chosen;
    chosen = drawn.map((x, k) => select(far, x, later[k]));
  }
  return chosen;
}

export const pusher = defineTask({
  id: "Pusher-v5",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 5,
  maxEpisodeSteps: 100,
  defaults,
  outputs: () => ["xpos"],

  observe: (s) => ({
    qpos: s.d.qpos.run(0, 7),
    qvel: s.d.qvel.run(0, 7),
    tips_arm: [...xposOf(s, "tips_arm")],
    object: [...xposOf(s, "object")],
    goal: [...xposOf(s, "goal")],
  }),
  reward: (s) => ({
    reward_dist: mul(neg(norm(between(s, "goal", "object"))), s.options.reward_dist_weight),
    reward_ctrl: mul(neg(sumOfSquares(s.action)), s.options.reward_control_weight),
    reward_near: mul(neg(norm(between(s, "tips_arm", "object"))), s.options.reward_near_weight),
  }),
  terminated: () => ({}),
  reset: (s) => ({
    qpos: [...Array.from(s.model.qpos0.subarray(0, 7)), ...farFromGoal(s), 0, 0],
    qvel: [...uniformNoise(s, new Float64Array(7), START.qvel), 0, 0, 0, 0],
  }),
});
