// rows of control steps in shared memory: where each number lies, for the threads that write and the one that reads

/** What a collector's buffers hold. */
export interface CollectedShape {
  readonly steps: number;
  readonly numEnvs: number;
  readonly observations: number;
  readonly actions: number;
  /** Numbers that the policy leaves for each action: 2, its log probability and value, or none. */
  readonly actorOutputs: number;
}

/** Control steps of all worlds, [steps, numEnvs, ...] row-major. */
export interface CollectedRows {
  /** [steps + 1, numEnvs, observation]: the last are those after the last step. */
  readonly observations: Float32Array;
  /** As the policy draws them: in [-1, 1] where it squashes, indices of choices. */
  readonly actions: Float32Array;
  /** [steps + 1, numEnvs, actorOutputs]: log probability and value of each action, at the end the values after the last step. */
  readonly actorOutputs: Float32Array;
  readonly rewards: Float32Array;
  /** Bits: terminated 1, truncated 2; 4 where the step only started a new episode and its action did nothing. */
  readonly flags: Float32Array;
  /** Which parameters the row was collected with. */
  readonly stamps: Uint32Array;
}

const sizesOf = ({ steps, numEnvs, observations, actions, actorOutputs }: CollectedShape) => ({
  observations: (steps + 1) * numEnvs * observations,
  actions: steps * numEnvs * actions,
  actorOutputs: (steps + 1) * numEnvs * actorOutputs,
  rewards: steps * numEnvs,
  flags: steps * numEnvs,
  stamps: steps * numEnvs,
});

/** Bytes of one buffer. */
export function collectedBytes(shape: CollectedShape): number {
  return 4 * Object.values(sizesOf(shape)).reduce((sum, n) => sum + n, 0);
}

/** The rows of a buffer. */
export function collectedRows(buffer: SharedArrayBuffer, shape: CollectedShape): CollectedRows {
  const sizes = sizesOf(shape);
  let at = 0;
  const take = (length: number): number => {
    const start = at;
    at += 4 * length;
    return start;
  };
  return {
    observations: new Float32Array(buffer, take(sizes.observations), sizes.observations),
    actions: new Float32Array(buffer, take(sizes.actions), sizes.actions),
    actorOutputs: new Float32Array(buffer, take(sizes.actorOutputs), sizes.actorOutputs),
    rewards: new Float32Array(buffer, take(sizes.rewards), sizes.rewards),
    flags: new Float32Array(buffer, take(sizes.flags), sizes.flags),
    stamps: new Uint32Array(buffer, take(sizes.stamps), sizes.stamps),
  };
}
