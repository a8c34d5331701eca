// what a batch of SAC submits, whole or stage by stage
import type { JobPass } from "../device/kernels.ts";
import type { UniformValues } from "../device/uniforms.ts";
import type { SacConfig } from "./config.ts";
import type { SacLearner } from "./learner.ts";
import type { BatchEvidence } from "../replay/evidence.ts";
import type { Batch, BatchStages, Half } from "../replay/learner.ts";
import { setReplayUniforms } from "../replay/uniforms.ts";

/** What a stopped batch leaves. */
export type SacEvidence = BatchEvidence<"sac", SacConfig>;

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

type Encode = (pass: JobPass) => void;

/** Samples into the inputs, and the policy at both observations, which both halves need. */
const prepare =
  (learner: SacLearner): Encode =>
  (pass) => {
    const { batch: rows } = learner.shape;
    load(learner, pass, rows);
    learner.forward(pass, rows, true);
    learner.recall(pass);
  };

function load(learner: SacLearner, pass: JobPass, rows: number): void {
  const { policy4, pair4 } = learner.shape;
  learner.run(pass, "load", rows * 4 * Math.max(policy4, pair4));
}

/** The stages of each half, after `prepare`. */
function stagesOf(learner: SacLearner): Record<Half, Record<Exclude<keyof BatchStages, "prepare">, Encode>> {
  const { learnt: rows, env, chunks, cells } = learner.shape;
  return {
    critics: {
      forward: (pass) => {
        learner.remember(pass);
        learner.run(pass, "next_actions", rows);
        learner.values(pass, rows, "critics");
      },
      loss: (pass) => learner.run(pass, "critic_loss", rows),
      backward: (pass) => {
        learner.backward(pass, "critics", rows, { chunks });
        learner.rememberBack(pass);
        learner.sum(pass, "critic");
      },
      optimize: (pass) => learner.optimize(pass, "critic"),
    },
    policy: {
      forward: (pass) => {
        // what the critics left in their inputs gives way
        if (cells) load(learner, pass, rows);
        learner.remember(pass, true);
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

/** Uniforms of a batch: of all that it holds, and of what is learnt from, sequences without their last step. */
function uniformsOf({ shape }: SacLearner): Record<"held" | "learnt", UniformValues> {
  const { batch, learnt, cells } = shape;
  const lanes = cells?.lanes ?? 0;
  const unroll = cells?.unroll ?? 0;
  return { held: { rows: batch, lanes, unroll }, learnt: { rows: learnt, lanes, unroll: cells ? unroll - 1 : 0 } };
}

const sample =
  (learner: SacLearner): Encode =>
  (pass) => {
    const { batch, row4, cells } = learner.shape;
    learner.run(pass, cells ? "sample sequences" : "sample", batch * row4);
  };

/** One batch: critics towards the soft targets, the policy up the critics, targets after the critics. */
export function learnBatch(
  learner: SacLearner,
  { draw, flags, samples, movesPolicy }: Batch & { readonly movesPolicy: boolean },
): void {
  const { nets, cells } = learner.shape;
  const { critics, policy } = stagesOf(learner);
  const { held, learnt } = uniformsOf(learner);
  const first: Encode = (pass) => {
    if (samples) sample(learner)(pass);
    prepare(learner)(pass);
  };
  if (cells) learner.submit("sequences", { ...held, draw, flags }, first);
  learner.submit("update", { ...learnt, draw, flags }, (pass) => {
    if (!cells) first(pass);
    for (const encode of Object.values(critics)) encode(pass);
    if (movesPolicy) for (const encode of Object.values(policy)) encode(pass);
    learner.run(pass, "polyak update", nets.criticsStatistics - nets.criticsAt);
  });
}

/** Draws the transitions of a batch from the ring on the device once more. */
export const sampleBatch = (learner: SacLearner, draw: number): void =>
  learner.submit("sample", { ...uniformsOf(learner).held, draw }, sample(learner));

/** The halves of a batch that is there already, one stage at a time. */
export function halves(learner: SacLearner, draw: number): Record<Half, BatchStages> {
  const { held, learnt } = uniformsOf(learner);
  const alone = (encode: Encode, uniforms: UniformValues) => () =>
    learner.submit("update", { ...uniforms, draw, flags: 0 }, encode);
  const stages = stagesOf(learner);
  const of = (half: Half) => {
    const { forward, loss, backward, optimize } = stages[half];
    return {
      prepare: alone(prepare(learner), held),
      forward: alone(forward, learnt),
      loss: alone(loss, learnt),
      backward: alone(backward, learnt),
      optimize: alone(optimize, learnt),
    };
  };
  return { critics: of("critics"), policy: of("policy") };
}
