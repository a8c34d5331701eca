// what a batch of DQN submits
import { seedKey } from "../../core/rng.ts";
import { SUM_PARTS } from "../device/arenas.ts";
import type { DqnConfig } from "./config.ts";
import type { DqnLearner } from "./learner.ts";

/** The numbers that stay the same for a whole run. */
export function setUniforms(learner: DqnLearner, c: DqnConfig, seed: number | bigint): void {
  const { nets, env, obs4, k4, window } = learner.shape;
  learner.uniforms.set({
    worlds: env.numEnvs,
    steps: window,
    seed: [...seedKey(seed)],
    chunks: 1,
    total4: nets.total4,
    sum_parts: SUM_PARTS,
    obs4,
    k4,
    gamma: c.gamma,
    n_steps: c.nSteps,
    tau: c.tau,
    critic_rate: c.learningRate,
    huber: c.huber,
    epsilon: 1,
    max_grad_norm: c.maxGradNorm,
    clip_obs: Infinity,
    beta1: c.beta1,
    beta2: c.beta2,
    adam_eps: c.adamEpsilon,
    weight_decay: c.weightDecay,
  });
}

export interface Batch {
  /** Number of the batch, which names its random numbers. */
  readonly draw: number;
  readonly flags: number;
  /** Whether it is drawn from the ring on the device; else it is there already. */
  readonly samples: boolean;
  readonly movesTargets: boolean;
}

/** One batch: the value of each action that was taken towards what the targets say of it. */
export function learnBatch(learner: DqnLearner, { draw, flags, samples, movesTargets }: Batch): void {
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
