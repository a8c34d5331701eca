// what a step or a reset returns
import type { Infos } from "./infos.ts";
import type { Floats } from "./results.ts";

/** What a step or a reset returns. The arrays are the environment's own: the next call overwrites them (see `copy`). */
export interface StepResult {
  /** [numEnvs, ...observation], row-major; float64 on the device "cpu-f64". */
  readonly observations: Floats;
  /** [numEnvs] */
  readonly rewards: Floats;
  /** [numEnvs], 0 or 1. */
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly infos: Infos;
}
