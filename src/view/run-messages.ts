// what passes between a training run and the thread that shows it
import type { Policy } from "../rl/networks/policy.ts";

/** What is known of a run when its thread starts. Plain data. */
export interface RunFacts {
  readonly id: string;
  readonly device: string;
  /** Env steps that the run makes. */
  readonly steps: number;
  /** Bytes by who holds them. */
  readonly memory: readonly (readonly [name: string, bytes: number])[];
}

/** Numbers of one update, by the tags of TensorBoard's files. */
export interface RunPoint {
  readonly iteration: number;
  readonly envSteps: number;
  readonly secondsLeft: number;
  readonly numbers: Readonly<Record<string, number>>;
}

/** What a page is told of a run. */
export interface RunNumbers {
  readonly serial: number;
  readonly points: readonly RunPoint[];
  readonly events: readonly string[];
}

/** Worlds of the batch as they were after an update, and the policy of then. */
export interface RunWorlds {
  readonly states: Readonly<Record<string, Float64Array>>;
  readonly policy: Policy;
}

export type ToRunPage =
  | { readonly points: readonly RunPoint[] }
  | { readonly event: string }
  | { readonly worlds: RunWorlds }
  | { readonly end: string };

export type FromRunPage = { readonly url: string } | { readonly error: { code: string; message: string } };

export interface RunPageSetup {
  readonly facts: RunFacts;
  readonly port: number;
  /** Options of the environments that train, without where they run. */
  readonly env: object;
  readonly seed: number | bigint;
  readonly worlds: number;
  /** One number, that grows whenever a page asks for something. */
  readonly looks: SharedArrayBuffer;
}
