/** What the policy takes and gives. */
export interface PolicyDescription {
  readonly env: string;
  /** Numbers of an observation and of an action. */
  readonly observations: number;
  readonly actions: number;
  /** Numbers that the policy remembers of a row; 0 if it does not. */
  readonly hidden?: number;
  /** Whether actions are numbers within bounds, or integers. */
  readonly kind: "box" | "discrete";
}

export interface PolicyParts {
  readonly description: PolicyDescription;
  readonly wgsl: string;
  readonly weights: ArrayBuffer;
  /** The most rows of observations of one call. Default 1. */
  readonly rows?: number;
}

/** Fetches policy.json, policy.wgsl and policy.safetensors from `base` (default: beside policy.js). */
export function loadPolicy(device: GPUDevice, options?: { base?: URL; rows?: number }): Promise<Policy>;

export class Policy {
  static create(device: GPUDevice, parts: PolicyParts): Promise<Policy>;
  readonly device: GPUDevice;
  readonly description: PolicyDescription;
  readonly rows: number;
  /** Rows of observations and of actions on the device. */
  readonly observations: GPUBuffer;
  readonly actions: GPUBuffer;
  /** What each row remembers, if the policy does. */
  readonly hidden?: GPUBuffer;
  /** Adds the policy to a compute pass: from `observations` to `actions`, without a copy to the host. */
  encode(pass: GPUComputePassEncoder, rows?: number): void;
  /** Actions for rows of observations, as the environment gives them. One call at a time. */
  act(observations: ArrayLike<number>): Promise<Float32Array | Int32Array>;
  /** Forgets what rows remember, all of them or some: call it where episodes begin. */
  forget(rows?: readonly number[]): void;
  close(): void;
}
