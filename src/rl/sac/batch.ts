// what a batch of SAC submits, whole or stage by stage
import type { JobPass } from "../device/kernels.ts";
import type { SacConfig } from "./config.ts";
import type { SacLearner } from "./learner.ts";
import { setReplayUniforms, type Batch } from "../replay/learner.ts";

/** Tells the learner the numbers that stay the same for a whole run. */
export function setUniforms(learner: SacLearner, c: SacConfig, seed: number | bigint): void {
  setReplayUniforms(learner, c, seed);
  learner.uniforms.set({
    chunk_rows: learner.shape.chunkRows,
    chunks: learner.shape.chunks,
    learning_rate: c.learningRate,
    critic_rate: c.criticLearningRate,
    alpha_rate: c.temperatureLearningRate,
    target_entropy: c.targetEntropy * learner.shape.env.actions,
    log_std_min: c.minLogStd,
    log_std_max: c.maxLogStd,
  });
}

/** What learns: the critics, then the policy and the temperature. */
export type Half = "critics" | "policy";

type Encode = (pass: JobPass) => void;

/** Samples into the inputs, and the policy at both observations, which both halves need. */
const prepare =
  (learner: SacLearner): Encode =>
  (pass) => {
    const { batch: rows, policy4, pair4 } = learner.shape;
    learner.run(pass, "load", rows * 4 * Math.max(policy4, pair4));
    learner.forward(pass, rows, true);
  };

/** The stages of each half, after `prepare`. */
function stagesOf(learner: SacLearner): Record<Half, Record<"forward" | "loss" | "backward" | "optimize", Encode>> {
  const { batch: rows, env, chunks } = learner.shape;
  return {
    critics: {
      forward: (pass) => {
        learner.run(pass, "next_actions", rows);
        learner.values(pass, rows, "critics");
      },
      loss: (pass) => learner.run(pass, "critic_loss", rows),
      backward: (pass) => {
        learner.backward(pass, "critics", rows, { chunks });
        learner.sum(pass, "critic");
      },
      optimize: (pass) => learner.optimize(pass, "critic"),
    },
    policy: {
      forward: (pass) => {
        learner.run(pass, "new_actions", rows);
        learner.values(pass, rows, "judging");
        learner.run(pass, "lower_value", rows);
        learner.backward(pass, "judging", rows, { inputs: env.actions });
      },
      loss: (pass) => learner.run(pass, "policy_loss", rows),
      backward: (pass) => {
        learner.backward(pass, "policy", rows, { chunks });
        learner.sum(pass, "policy");
      },
      optimize: (pass) => learner.optimize(pass, "policy"),
    },
  };
}

/** One batch: critics towards the soft targets, the policy up the critics, targets after the critics. */
export function learnBatch(
  learner: SacLearner,
  { draw, flags, samples, movesPolicy }: Batch & { readonly movesPolicy: boolean },
): void {
  const { batch: rows, row4, nets } = learner.shape;
  const { critics, policy } = stagesOf(learner);
  learner.submit("update", { rows, draw, flags }, (pass) => {
    if (samples) learner.run(pass, "sample", rows * row4);
    prepare(learner)(pass);
    for (const encode of Object.values(critics)) encode(pass);
    if (movesPolicy) for (const encode of Object.values(policy)) encode(pass);
    learner.run(pass, "polyak update", nets.criticsStatistics - nets.critics[0][0].w);
  });
}

/** Draws the transitions of a batch from the ring on the device once more. */
export function sampleBatch(learner: SacLearner, draw: number): void {
  const { batch: rows, row4 } = learner.shape;
  learner.submit("sample", { rows, draw }, (pass) => learner.run(pass, "sample", rows * row4));
}

/** The halves of a batch that is there already, one stage at a time. */
export function halves(
  learner: SacLearner,
  draw: number,
): Record<Half, Record<"prepare" | "forward" | "loss" | "backward" | "optimize", () => void>> {
  const { batch: rows } = learner.shape;
  const alone = (encode: Encode) => () => learner.submit("update", { rows, draw, flags: 0 }, encode);
  const stages = stagesOf(learner);
  const of = (half: Half) => {
    const { forward, loss, backward, optimize } = stages[half];
    return {
      prepare: alone(prepare(learner)),
      forward: alone(forward),
      loss: alone(loss),
      backward: alone(backward),
      optimize: alone(optimize),
    };
  };
  return { critics: of("critics"), policy: of("policy") };
}
