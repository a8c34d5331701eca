// what an update submits: advantages, a minibatch, the moments of observations
import { SUM_PARTS } from "./arenas.ts";
import type { Learner } from "./learner.ts";

/** Which samples of the shuffled rollout, and what the judge is asked to do (`Flag`). */
export interface Minibatch {
  readonly first: number;
  readonly rows: number;
  readonly keys: readonly number[];
  readonly flags: number;
}

/** One minibatch: forward, loss, backward, and Adam where the judge lets it. */
export function trainMinibatch(learner: Learner, { first, rows, keys, flags }: Minibatch): void {
  const { nets, k4, total4, chunkRows } = learner.shape;
  const chunks = Math.ceil(rows / chunkRows);
  learner.submit("update", { first, rows, chunks, keys, flags }, (pass) => {
    learner.run(pass, "gather", rows * k4);
    learner.forward(pass, rows);
    learner.run(pass, "loss", rows);
    learner.backward(pass, rows, chunks);
    learner.run(pass, "reduce", total4);
    learner.run(pass, "squares", SUM_PARTS);
    learner.run(pass, "judge", 1);
    learner.run(pass, "adam", nets.params4);
  });
}

/** The scale of rewards, then advantages and returns backwards in time, then the scale of advantages. */
export function estimateAdvantages(learner: Learner, flags: number): void {
  const { numEnvs } = learner.shape.env;
  learner.submit("advantages", { flags }, (pass) => {
    learner.run(pass, "returns", numEnvs);
    learner.run(pass, "sum_worlds", SUM_PARTS);
    learner.run(pass, "scale_rewards", 1);
    learner.run(pass, "advantages", numEnvs);
    learner.run(pass, "sum_worlds", SUM_PARTS);
    learner.run(pass, "scale_advantages", 1);
  });
}

/** The rollout's observations move the normalizer that the next rollout acts with. */
export function observeMoments(learner: Learner): void {
  const { obs4 } = learner.shape;
  learner.submit("moments", {}, (pass) => {
    learner.run(pass, "sum_obs", SUM_PARTS * obs4);
    learner.run(pass, "merge_obs", obs4);
  });
}
