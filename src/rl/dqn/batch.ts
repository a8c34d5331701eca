// what a batch of DQN submits, whole or stage by stage
import type { JobPass } from "../device/kernels.ts";
import type { BatchEvidence } from "../replay/evidence.ts";
import type { Batch, BatchStages } from "../replay/learner.ts";
import { setReplayUniforms } from "../replay/uniforms.ts";
import type { DqnConfig } from "./config.ts";
import type { DqnLearner } from "./learner.ts";

/** What a stopped batch leaves. */
export type DqnEvidence = BatchEvidence<"dqn", DqnConfig>;

/** Tells the learner the numbers that stay the same for a whole run. */
export function setUniforms(learner: DqnLearner, c: DqnConfig, seed: number | bigint): void {
  setReplayUniforms(learner, c, seed);
  learner.uniforms.set({ chunks: 1, critic_rate: c.learningRate, huber: c.huber, epsilon: 1 });
}

type Encode = (pass: JobPass) => void;

const sample =
  (learner: DqnLearner): Encode =>
  (pass) => {
    const { batch: rows, row4 } = learner.shape;
    learner.run(pass, "sample", rows * row4);
  };

/** The stages of a batch that is there already. */
function stagesOf(learner: DqnLearner): Record<keyof BatchStages, Encode> {
  const { batch: rows, seen4 } = learner.shape;
  return {
    prepare: (pass) => {
      learner.run(pass, "load", rows * 4 * seen4);
      learner.forward(pass, rows, true);
    },
    forward: (pass) => learner.seek(pass, "next", rows),
    loss: (pass) => learner.run(pass, "loss", rows),
    backward: (pass) => learner.backward(pass, rows),
    optimize: (pass) => learner.optimize(pass),
  };
}

/** One batch: the value of each action that was taken towards what the targets say of it. */
export function learnBatch(
  learner: DqnLearner,
  { draw, flags, samples, movesTargets }: Batch & { readonly movesTargets: boolean },
): void {
  const { batch: rows, nets } = learner.shape;
  learner.submit("update", { rows, draw, flags }, (pass) => {
    if (samples) sample(learner)(pass);
    for (const encode of Object.values(stagesOf(learner))) encode(pass);
    if (movesTargets) learner.run(pass, "polyak update", nets.statistics);
  });
}

/** Draws the transitions of a batch from the ring on the device once more. */
export const sampleBatch = (learner: DqnLearner, draw: number): void =>
  learner.submit("sample", { rows: learner.shape.batch, draw }, sample(learner));

/** The stages of a batch that is there already, one at a time. */
export function stagesOfBatch(learner: DqnLearner, draw: number): BatchStages {
  const { batch: rows } = learner.shape;
  const { prepare, forward, loss, backward, optimize } = stagesOf(learner);
  const alone = (encode: Encode) => () => learner.submit("update", { rows, draw, flags: 0 }, encode);
  return {
    prepare: alone(prepare),
    forward: alone(forward),
    loss: alone(loss),
    backward: alone(backward),
    optimize: alone(optimize),
  };
}
