// what a stopped batch of SAC leaves to be executed again
import { SAC_STATE } from "../tables/device-tables.ts";
import { REASONS } from "../device/metrics.ts";
import { halves, type Half } from "./batch.ts";
import type { SacConfig } from "./config.ts";
import type { SacLearner } from "./learner.ts";
import type { EnvShape } from "../device/env-shape.ts";

/** Which batch it was. */
export interface BatchFacts {
  readonly algo: "sac";
  readonly env: EnvShape;
  readonly config: SacConfig;
  readonly seed: number | bigint;
  /** Updates before it. */
  readonly iteration: number;
  readonly worldIds: readonly number[];
  /** What was learning: the critics, or the policy after they had moved. */
  readonly half: Half;
  /** Number of the batch in the run, which names its random numbers; batches of the update before it, and all of them. */
  readonly draw: number;
  readonly minibatch: number;
  readonly minibatches: number;
  readonly learningRate: number;
  readonly criticLearningRate: number;
}

/** A batch that was stopped: the learner as it was before the half that failed, and the transitions. */
export interface BatchEvidence extends BatchFacts {
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

/** Where an update was stopped: batches that were whole, and whether the next one failed in its policy. */
export function stoppedAt(
  state: Float32Array,
  firstDraw: number,
  policyEvery: number,
): { readonly half: Half; readonly minibatch: number } {
  const moved = state[SAC_STATE.minibatches];
  const movesPolicy = (i: number): boolean => (firstDraw + i) % policyEvery === 0;
  const due = Array.from({ length: moved }, (_, i) => movesPolicy(i)).filter(Boolean).length;
  return state[SAC_STATE.policy_updates] < due
    ? { half: "policy", minibatch: moved - 1 }
    : { half: "critics", minibatch: moved };
}

/**
 * Copies it from a learner whose last update was stopped and whose `batch` holds the transitions: what failed is executed
 * once more, since later batches have written over its gradients. It fails again, so no parameter changes.
 */
export async function batchEvidence(learner: SacLearner, facts: BatchFacts): Promise<BatchEvidence> {
  const before = (await learner.readState()).slice();
  before[SAC_STATE.halted] = 0;
  learner.write("state", before);
  const { prepare, forward, loss, backward, optimize } = halves(learner, facts.draw)[facts.half];
  for (const run of [prepare, forward, loss, backward, optimize]) run();
  const arenas: Record<string, Uint32Array<ArrayBuffer>> = {};
  const names = learner.shape.cells ? [...ARENAS, "resets"] : ARENAS;
  for (const name of names) arenas[name] = await learner.read(name, new Uint32Array(learner.words(name)));
  const state = new Float32Array(arenas.state.buffer);
  return { ...facts, halted: REASONS[state[SAC_STATE.halted]] ?? "nothing", arenas };
}
