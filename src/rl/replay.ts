// which rows of a replay a sample may start at, and which one it starts at: twin of shaders/rl/replay.wgsl

/** Rows of each world's ring: the slot of the oldest, and how many a return of n steps may start at, from the oldest on. */
export interface Ring {
  readonly first: number;
  readonly starts: number;
}

/** The ring after so many rows. The newest n are no starts: the observation after them is not a row yet. */
export function ringAfter(written: number, capacity: number, nSteps: number): Ring {
  const filled = Math.min(written, capacity);
  return { first: written > capacity ? written % capacity : 0, starts: Math.max(0, filled - nSteps) };
}
