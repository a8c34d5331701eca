// what every algorithm is to those who run it: training runs, checkpoints, evaluations
import type { JsVec } from "../env/js-env.ts";
import type { EnvSnapshot, LearnerEnv } from "./device/learner-env.ts";
import type { Plan } from "../memory/plan.ts";
import { CorralError } from "../core/errors.ts";
import type { EvaluateOptions, Evaluation } from "./evaluate.ts";
import type { UpdateEvidence } from "./ppo/evidence.ts";
import type { DqnEvidence } from "./dqn/batch.ts";
import type { SacEvidence } from "./sac/batch.ts";
import type { SacDiscreteEvidence } from "./sac-discrete/batch.ts";
import { STATE } from "./tables/device-tables.ts";
import type { UpdateMetrics } from "./device/metrics.ts";
import type { NamedArray } from "./networks/networks.ts";
import type { Policy } from "./networks/policy.ts";

/** What a run resumes from: its counts, the learner's numbers as words by arena, and its environments. */
export interface AlgorithmSnapshot {
  readonly iteration: number;
  readonly envSteps: number;
  /** Below 1 if an update that was not finite has lowered the learning rates. */
  readonly rateScale: number;
  readonly learner: Readonly<Record<string, Uint32Array<ArrayBuffer>>>;
  readonly env: EnvSnapshot;
}

/** What a stopped update leaves to be executed again. */
export type AnyEvidence = UpdateEvidence | SacEvidence | SacDiscreteEvidence | DqnEvidence;

/** The algorithms. */
export type Algo = "ppo" | "sac" | "sac-discrete" | "dqn";

/** A learner beside its environments, which it steps. Close it before them. */
export interface Algorithm<M extends UpdateMetrics = UpdateMetrics> extends AsyncDisposable {
  readonly algo: Algo;
  readonly env: LearnerEnv;
  /** Every hyperparameter, flat. */
  readonly config: object;
  readonly seed: number | bigint;
  /** Every byte that the learner holds. */
  readonly plan: Plan;
  /** Updates and env steps so far. */
  readonly iteration: number;
  readonly envSteps: number;
  /** Collects, and updates the parameters with it. */
  iterate(): Promise<M>;
  /** Plays whole episodes in other worlds of the same environment. */
  evaluate(env: LearnerEnv | JsVec, options?: EvaluateOptions): Promise<Evaluation>;
  /** Copies all that the run resumes from, environments included, between two updates. */
  snapshot(): Promise<AlgorithmSnapshot>;
  /** Puts it back. Returns what could not be restored, if anything: the run then continues to other bits. */
  restore(snapshot: AlgorithmSnapshot): Promise<string | undefined>;
  /** Takes what a snapshot has learnt, from as many worlds as may be: to play it, or to start from it. Worlds, counts and optimizers stay. */
  adopt(snapshot: AlgorithmSnapshot): Promise<void>;
  /** The parameters of a snapshot by name, as PyTorch has them. */
  named(snapshot: AlgorithmSnapshot): Record<string, NamedArray>;
  /** Shapes of the same, by name. */
  shapes(): Readonly<Record<string, readonly number[]>>;
  /** What it takes to execute a stopped update again, after `non-finite-update`; undefined of imitation. Throws `no-evidence`. */
  evidence(): Promise<AnyEvidence | undefined>;
  /** The policy as it is now, as plain numbers: its most likely actions. */
  policy(): Promise<Policy>;
  /** The parameters as they are now. */
  parameters(): Promise<Float32Array>;
  close(): Promise<void>;
}

/**
 * The seed of what a learner draws: its own, and another wherever its rates were lowered. A run that resumes from before a
 * bad update does not draw the same rows again.
 */
export function drawSeed(seed: number | bigint, rateScale: number): number | bigint {
  if (rateScale === 1) return seed;
  const [bits] = new Uint32Array(Float32Array.of(rateScale).buffer);
  const more = (bits >>> 12) * 2 ** 32;
  return typeof seed === "number" ? (seed + more) % 2 ** 53 : BigInt.asUintN(64, seed + BigInt(more));
}

/** The error of the update number `iteration`, in which something was not finite; `remedy` says what to do. */
export const nonFiniteUpdate = (iteration: number, what: string, remedy: string): CorralError =>
  new CorralError("non-finite-update", `update ${iteration} was stopped: its ${what} is not finite. ${remedy}`, {
    iteration,
    what,
  });

/** The error of asking for evidence where no update was stopped. */
export const noEvidence = ({ id }: LearnerEnv): CorralError =>
  new CorralError("no-evidence", `no update of ${id} was stopped; there is nothing to keep.`);

/** A snapshot whose run goes on with a lower learning rate, and with other draws: see `drawSeed`. */
export function lowered(snapshot: AlgorithmSnapshot, factor: number): AlgorithmSnapshot {
  const state = snapshot.learner.state.slice();
  // adaptive rates go on from where they were
  new Float32Array(state.buffer)[STATE.rate] *= factor;
  return { ...snapshot, rateScale: snapshot.rateScale * factor, learner: { ...snapshot.learner, state } };
}
