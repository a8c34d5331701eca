// what a training run reports: progress, state to save, events, its result
import type { CorralError } from "../core/errors.ts";
import type { AnyEvidence, AlgorithmSnapshot } from "../rl/algorithm.ts";
import type { Evaluation } from "../rl/evaluate.ts";
import type { AnyMetrics } from "../rl/device/metrics.ts";
import type { GrowthState } from "./growth.ts";

/** Where a run is. */
export interface TrainProgress {
  readonly envSteps: number;
  readonly steps: number;
  readonly iteration: number;
  /** Since training began; compiling is not counted. */
  readonly seconds: number;
  /** Over the last update. */
  readonly envStepsPerSec: number;
  readonly secondsLeft: number;
  readonly metrics: AnyMetrics;
  /** The last evaluation. */
  readonly evaluation: Evaluation | undefined;
  /** Whether it is of this update. */
  readonly evaluated: boolean;
}

/** The state of a run between two updates, from which it is resumed. */
export interface RunState {
  readonly snapshot: AlgorithmSnapshot;
  readonly seconds: number;
  readonly evaluation: Evaluation | undefined;
  /** How often the learning rate was lowered. */
  readonly lowered: number;
  /** What was usual of losses, values and gradients, and what was warned of. */
  readonly growth?: GrowthState;
}

/** Something that happened beside training. */
export interface RunEvent {
  readonly event: "resumed" | "device-lost" | "rate-lowered" | "fewer-worlds" | "growing" | "low-memory";
  /** The update that the run continues from; if the device was lost, the last one that was reported. */
  readonly iteration: number;
  readonly envSteps: number;
  readonly message: string;
}

export interface TrainListener {
  readonly onProgress?: (progress: TrainProgress) => void;
  /** Is awaited between two updates, after they are reported. May read everything, and must change nothing. */
  readonly onBetween?: () => Promise<void>;
  /** Is given what to save, every `checkpointEvery` updates and at the end. */
  readonly onCheckpoint?: (state: RunState) => void;
  readonly onEvent?: (event: RunEvent) => void;
  /** Is given what a stopped update leaves; returns where it was put, if it was. */
  readonly onNonFinite?: (evidence: AnyEvidence, error: CorralError) => string | undefined;
}

export interface TrainResult {
  readonly envSteps: number;
  readonly seconds: number;
  readonly iterations: number;
  readonly evaluation: Evaluation;
  /** Whether `until` was reached; undefined if it was not given. */
  readonly reached: boolean | undefined;
  /** What a user should know of, in words: losses, values or gradients that grew by orders of magnitude, memory that ran short. */
  readonly warnings: readonly string[];
}
