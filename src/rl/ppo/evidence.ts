// what a stopped update leaves to be executed again
import type { PpoConfig } from "./config.ts";
import type { Learner } from "./learner.ts";
import { STATE } from "../tables/device-tables.ts";
import { REASONS } from "../device/metrics.ts";
import type { EnvShape } from "../device/env-shape.ts";

/** Which update it was. */
export interface UpdateFacts {
  readonly env: EnvShape;
  readonly config: PpoConfig;
  readonly seed: number | bigint;
  /** Updates before it. */
  readonly iteration: number;
  readonly worldIds: readonly number[];
}

/** An update that was stopped: the learner as it was before the minibatch that failed, and the rollout. */
export interface UpdateEvidence extends UpdateFacts {
  /** What was not finite. */
  readonly halted: string;
  /** Minibatches of the update before the one that failed. */
  readonly minibatch: number;
  readonly minibatches: number;
  readonly learningRate: number;
  /** Words by arena; `grads` and `state` are those after the whole update. */
  readonly arenas: Readonly<Record<string, Uint32Array<ArrayBuffer>>>;
}

/** What the update began with, what it changes, and what it left. */
const ARENAS = [
  "params",
  "moments",
  "norm",
  "worlds",
  "rollout_obs",
  "rollout_actions",
  "samples",
  "grads",
  "state",
] as const;

/** Copies it from a learner whose last update was stopped: what came after the failure has changed no parameter. */
export async function evidenceOf(learner: Learner, facts: UpdateFacts): Promise<UpdateEvidence> {
  const arenas: Record<string, Uint32Array<ArrayBuffer>> = {};
  const names = learner.shape.cells ? [...ARENAS, "rollout_hidden"] : ARENAS;
  for (const name of names) arenas[name] = await learner.read(name, new Uint32Array(learner.words(name)));
  const state = new Float32Array(arenas.state.buffer);
  const { units, each } = learner.shape;
  return {
    ...facts,
    halted: REASONS[state[STATE.halted]] ?? "nothing",
    minibatch: state[STATE.minibatches],
    minibatches: facts.config.epochs * Math.ceil(units / each),
    learningRate: state[STATE.rate],
    arenas,
  };
}
