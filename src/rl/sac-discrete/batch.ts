// what a batch of SAC over discrete actions submits
import type { Batch } from "../replay/learner.ts";
import { setReplayUniforms } from "../replay/uniforms.ts";
import type { SacDiscreteConfig } from "./config.ts";
import type { SacDiscreteLearner } from "./learner.ts";

/** Tells the learner the numbers that stay the same for a whole run. */
export function setUniforms(learner: SacDiscreteLearner, c: SacDiscreteConfig, seed: number | bigint): void {
  setReplayUniforms(learner, c, seed);
  learner.uniforms.set({
    chunks: 1,
    learning_rate: c.learningRate,
    critic_rate: c.criticLearningRate,
    alpha_rate: c.temperatureLearningRate,
    target_entropy: c.targetEntropy * Math.log(learner.shape.env.outputs),
  });
}

/** One batch: critics towards the soft values, the policy towards what they say, targets after the critics. */
export function learnBatch(
  learner: SacDiscreteLearner,
  { draw, flags, samples, movesPolicy }: Batch & { readonly movesPolicy: boolean },
): void {
  const { batch: rows, row4, nets, policy4, critic4 } = learner.shape;
  learner.submit("update", { rows, draw, flags }, (pass) => {
    if (samples) learner.run(pass, "sample", rows * row4);
    learner.run(pass, "load", rows * 4 * Math.max(policy4, critic4));
    learner.forward(pass, rows, true);
    learner.values(pass, rows, true);
    learner.expect(pass, "next", rows);
    learner.run(pass, "critic loss", rows);
    learner.descendCritics(pass, rows);
    learner.optimize(pass, "critic");
    if (movesPolicy) {
      learner.values(pass, rows, false);
      learner.expect(pass, "now", rows);
      learner.run(pass, "policy loss", rows);
      learner.descendPolicy(pass, rows);
      learner.optimize(pass, "policy");
    }
    learner.run(pass, "polyak update", nets.criticsStatistics - nets.criticsAt);
  });
}
