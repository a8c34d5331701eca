// rows of a replay that lie on the host, and which of them samples may start at

/** Rows that a return of n steps may start at: the number of the oldest, and how many from there on. */
export interface Starts {
  readonly first: number;
  readonly count: number;
}

/** Of rows `oldest` to `written - 1`. The newest n are no starts: the observation after them is not a row yet. */
export function startsOf(oldest: number, written: number, nSteps: number): Starts {
  return { first: oldest, count: Math.max(0, written - oldest - nSteps) };
}

/**
 * Where rows lie that are not on the device. Row `number` of a world, counted from 0, lies in slot `number % capacity`; a
 * row is `width` floats: observation, action, reward, flags.
 */
export interface RowStore {
  readonly capacity: number;
  readonly width: number;
  /** Every byte, in memory or on disk. */
  readonly bytes: number;
  /** Rows of every world so far, and the oldest that is there. */
  readonly written: number;
  readonly oldest: number;
  /** Writes the next rows of one world. Throws `disk-full` and what the file system throws. */
  write(world: number, values: Float32Array): void;
  /** Says that the next rows of all worlds are written. */
  advance(rows: number): void;
  /** Reads rows from one on. Throws `bad-replay` if what is there is not what was written. */
  read(world: number, number: number, into: Float32Array): void;
  /** What a snapshot holds; and puts it back, returning what could not be restored. Throws `bad-snapshot`, `bad-replay`. */
  copy(): Record<string, Uint32Array<ArrayBuffer>>;
  put(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>): string | undefined;
  close(): void;
}

/** Control steps of all worlds that others made, [steps, numEnvs, ...] row-major; see `Collector`. */
export interface CollectedSteps {
  readonly steps: number;
  readonly numEnvs: number;
  readonly observations: Float32Array;
  /** In [-1, 1]. */
  readonly actions: Float32Array;
  readonly rewards: Float32Array;
  readonly flags: Float32Array;
  readonly episodes: {
    readonly count: number;
    readonly returns: number;
    readonly lengths: number;
    readonly badSteps?: number;
  };
}
