// what a stopped batch of a replay leaves to be executed again
import type { EnvShape } from "../device/env-shape.ts";
import { REASONS } from "../device/metrics.ts";
import type { AdamConfig, ReplayConfig } from "../device/shared-options.ts";
import { SAC_STATE } from "../tables/device-tables.ts";
import type { BatchStages, Half, ReplayLearner } from "./learner.ts";

export const REPLAY_ALGOS = ["sac", "sac-discrete", "dqn"] as const;
export type ReplayAlgo = (typeof REPLAY_ALGOS)[number];

/** Hyperparameters that all have. */
export type BatchConfig = AdamConfig & ReplayConfig;

/** Which batch it was. */
export interface BatchFacts<A extends ReplayAlgo = ReplayAlgo, C extends BatchConfig = BatchConfig> {
  readonly algo: A;
  readonly env: EnvShape;
  readonly config: C;
  readonly seed: number | bigint;
  /** Updates before it. */
  readonly iteration: number;
  readonly worldIds: readonly number[];
  /** What was learning: the critics (of DQN its network), or the policy after they had moved. */
  readonly half: Half;
  /** Number of the batch in the run, which names its random numbers; batches of the update before it, and all of them. */
  readonly draw: number;
  readonly minibatch: number;
  readonly minibatches: number;
  readonly learningRate: number;
  readonly criticLearningRate: number;
}

/** A batch that was stopped: the learner as it was before the half that failed, and the transitions. */
export interface BatchEvidence<
  A extends ReplayAlgo = ReplayAlgo,
  C extends BatchConfig = BatchConfig,
> extends BatchFacts<A, C> {
  /** What was not finite. */
  readonly halted: string;
  /** Words by arena; `grads` and `state` are those after. */
  readonly arenas: Readonly<Record<string, Uint32Array<ArrayBuffer>>>;
}

const ARENAS = ["params", "moments", "norm", "batch", "grads", "state"] as const;

/** What is kept where a half of a batch was stopped. */
export const KEPT_AT = {
  critics: "The parameters are the last good ones, from before the batch that failed.",
  policy:
    "The parameters are the last good ones: the critics' after the batch that failed, the policy's from before it.",
} as const;

export interface Stopped {
  readonly half: Half;
  readonly minibatch: number;
}

/**
 * Where an update was stopped: batches that were whole, and whether the next one failed in its policy, which is due every
 * so many batches; undefined without one.
 */
export function stoppedAt(state: Float32Array, firstDraw: number, policyEvery: number | undefined): Stopped {
  const moved = state[SAC_STATE.minibatches];
  const movesPolicy = (i: number): boolean => policyEvery !== undefined && (firstDraw + i) % policyEvery === 0;
  const due = Array.from({ length: moved }, (_, i) => movesPolicy(i)).filter(Boolean).length;
  return state[SAC_STATE.policy_updates] < due
    ? { half: "policy", minibatch: moved - 1 }
    : { half: "critics", minibatch: moved };
}

/**
 * Copies it from a learner whose last update was stopped and whose `batch` holds the transitions: what failed is executed
 * once more, since later batches have written over its gradients. It fails again, so no parameter changes. `more`: arenas
 * beside those that all have.
 */
export async function batchEvidence<A extends ReplayAlgo, C extends BatchConfig>(
  learner: ReplayLearner,
  facts: BatchFacts<A, C>,
  { prepare, forward, loss, backward, optimize }: BatchStages,
  more: readonly string[] = [],
): Promise<BatchEvidence<A, C>> {
  const before = (await learner.readState()).slice();
  before[SAC_STATE.halted] = 0;
  learner.write("state", before);
  for (const run of [prepare, forward, loss, backward, optimize]) run();
  const arenas: Record<string, Uint32Array<ArrayBuffer>> = {};
  for (const name of [...ARENAS, ...more])
    arenas[name] = await learner.read(name, new Uint32Array(learner.words(name)));
  const state = new Float32Array(arenas.state.buffer);
  return { ...facts, halted: REASONS[state[SAC_STATE.halted]] ?? "nothing", arenas };
}
