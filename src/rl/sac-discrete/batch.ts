// what a batch of SAC over discrete actions submits, whole or stage by stage
import type { JobPass } from "../device/kernels.ts";
import type { BatchEvidence } from "../replay/evidence.ts";
import type { Batch, BatchStages, Half } from "../replay/learner.ts";
import { setReplayUniforms } from "../replay/uniforms.ts";
import type { SacDiscreteConfig } from "./config.ts";
import type { SacDiscreteLearner } from "./learner.ts";

/** What a stopped batch leaves. */
export type SacDiscreteEvidence = BatchEvidence<"sac-discrete", SacDiscreteConfig>;

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

type Encode = (pass: JobPass) => void;

const sample =
  (learner: SacDiscreteLearner): Encode =>
  (pass) => {
    const { batch: rows, row4 } = learner.shape;
    learner.run(pass, "sample", rows * row4);
  };

/** Loads the inputs, and runs the policy at both observations, which both halves need. */
const prepare =
  (learner: SacDiscreteLearner): Encode =>
  (pass) => {
    const { batch: rows, policy4, critic4 } = learner.shape;
    learner.run(pass, "load", rows * 4 * Math.max(policy4, critic4));
    learner.forward(pass, rows, true);
  };

/** The stages of each half, after `prepare`. */
function stagesOf(learner: SacDiscreteLearner): Record<Half, Record<Exclude<keyof BatchStages, "prepare">, Encode>> {
  const { batch: rows } = learner.shape;
  return {
    critics: {
      forward: (pass) => {
        learner.values(pass, rows, true);
        learner.expect(pass, "next", rows);
      },
      loss: (pass) => learner.run(pass, "critic loss", rows),
      backward: (pass) => learner.descendCritics(pass, rows),
      optimize: (pass) => learner.optimize(pass, "critic"),
    },
    policy: {
      forward: (pass) => {
        learner.values(pass, rows, false);
        learner.expect(pass, "now", rows);
      },
      loss: (pass) => learner.run(pass, "policy loss", rows),
      backward: (pass) => learner.descendPolicy(pass, rows),
      optimize: (pass) => learner.optimize(pass, "policy"),
    },
  };
}

/** One batch: critics towards the soft values, the policy towards what they say, targets after the critics. */
export function learnBatch(
  learner: SacDiscreteLearner,
  { draw, flags, samples, movesPolicy }: Batch & { readonly movesPolicy: boolean },
): void {
  const { batch: rows, nets } = learner.shape;
  const { critics, policy } = stagesOf(learner);
  learner.submit("update", { rows, draw, flags }, (pass) => {
    if (samples) sample(learner)(pass);
    prepare(learner)(pass);
    for (const encode of Object.values(critics)) encode(pass);
    if (movesPolicy) for (const encode of Object.values(policy)) encode(pass);
    learner.run(pass, "polyak update", nets.criticsStatistics - nets.criticsAt);
  });
}

/** Draws the transitions of a batch from the ring on the device once more. */
export const sampleBatch = (learner: SacDiscreteLearner, draw: number): void =>
  learner.submit("sample", { rows: learner.shape.batch, draw }, sample(learner));

/** The halves of a batch that is there already, one stage at a time. */
export function halves(learner: SacDiscreteLearner, draw: number): Record<Half, BatchStages> {
  const { batch: rows } = learner.shape;
  const alone = (encode: Encode) => () => learner.submit("update", { rows, draw, flags: 0 }, encode);
  const stages = stagesOf(learner);
  const of = (half: Half): BatchStages => {
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
