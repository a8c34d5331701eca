// what a batch of DQN submits
import type { Batch } from "../replay/learner.ts";
import { setReplayUniforms } from "../replay/uniforms.ts";
import type { DqnConfig } from "./config.ts";
import type { DqnLearner } from "./learner.ts";

/** Tells the learner the numbers that stay the same for a whole run. */
export function setUniforms(learner: DqnLearner, c: DqnConfig, seed: number | bigint): void {
  setReplayUniforms(learner, c, seed);
  learner.uniforms.set({ chunks: 1, critic_rate: c.learningRate, huber: c.huber, epsilon: 1 });
}

/** One batch: the value of each action that was taken towards what the targets say of it. */
export function learnBatch(
  learner: DqnLearner,
  { draw, flags, samples, movesTargets }: Batch & { readonly movesTargets: boolean },
): void {
  const { batch: rows, row4, nets, seen4 } = learner.shape;
  learner.submit("update", { rows, draw, flags }, (pass) => {
    if (samples) learner.run(pass, "sample", rows * row4);
    learner.run(pass, "load", rows * 4 * seen4);
    learner.forward(pass, rows, true);
    learner.seek(pass, "next", rows);
    learner.run(pass, "loss", rows);
    learner.backward(pass, rows);
    learner.optimize(pass);
    if (movesTargets) learner.run(pass, "polyak update", nets.statistics);
  });
}
