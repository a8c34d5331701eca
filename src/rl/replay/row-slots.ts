// which rows of a replay lie in the slots of a file, and what is wrong with it
import { CorralError } from "../../core/errors.ts";

/** A row that was never written, and one that is not what was written. */
export const EMPTY = -1;
export const DAMAGED = -2;

/** Numbers of the rows in the slots of each world, as a file has them. */
export class Slots {
  readonly path: string;
  readonly capacity: number;
  readonly worlds: readonly Float64Array[];
  /** Rows of each world so far, and of all. */
  readonly #counts: readonly number[];
  readonly written: number;

  constructor(path: string, capacity: number, worlds: readonly Float64Array[]) {
    this.path = path;
    this.capacity = capacity;
    this.worlds = worlds;
    this.#counts = worlds.map((numbers) => numbers.reduce((most, n) => Math.max(most, n), EMPTY) + 1);
    this.written = this.#counts.reduce((least, count) => Math.min(least, count), Infinity);
  }

  /** The first of the rows that lie one after another up to one, in every world. */
  oldestBefore(end: number): number {
    return this.worlds.reduce((oldest, numbers) => {
      let first = end;
      while (first > 0 && numbers[(first - 1) % this.capacity] === first - 1) first--;
      return Math.max(oldest, first);
    }, 0);
  }

  /**
   * Damage that no write explains which was cut short: only the row after a world's newest may be, and with an `end` any
   * from there on and so many `ahead`, which a power cut may have lost in any order. What those replaced is gone.
   */
  damage(end = Infinity, ahead = 0): CorralError | undefined {
    for (const [world, numbers] of this.worlds.entries()) {
      const next = this.#counts[world];
      for (const [slot, number] of numbers.entries()) {
        if (number !== DAMAGED) continue;
        const distance = (slot - (next % this.capacity) + this.capacity) % this.capacity;
        if (distance > ahead && next + distance - this.capacity < end)
          return bad(this.path, `the row in slot ${slot} of world ${world} is damaged`);
      }
    }
    return undefined;
  }
}

/** The error of a file that cannot be gone on with. */
export const bad = (path: string, why: string): CorralError =>
  new CorralError(
    "bad-replay",
    `${path} cannot be gone on with: ${why}. What it was written by does not go on without it: begin anew, with another replayFile.`,
    {
      path,
    },
  );
