// private arrays that lie in an arena, where a lane's private memory has no room for all of them
import { clearFours, type CellLayout } from "./cells.ts";
import { current, type Trace } from "./graph.ts";
import { analyse, type Liveness } from "./liveness.ts";
import type { ArrayRef } from "./nodes.ts";
import { indexedAtRunTime } from "./private-memory.ts";
import { recordAnew, Retrace } from "./retrace.ts";

/** Where arrays lie: in a buffer, from its `first` four on. */
interface Region extends CellLayout {
  readonly buffer: string;
  readonly first: number;
}

const foursOf = ({ length }: ArrayRef): number => Math.ceil(length / 4);

/** Fours of all of these. */
export const foursAway = (arrays: readonly ArrayRef[]): number => arrays.reduce((sum, a) => sum + foursOf(a), 0);

/** What private memory a lane has for arrays: `bytes`, of which each access in the text to an array elsewhere takes `perAccess`. */
export interface PrivateRoom {
  readonly bytes: number;
  readonly perAccess?: number;
}

/** Arrays that lie elsewhere, and the bytes that those left take beyond their room. */
export interface Beyond {
  readonly away: readonly ArrayRef[];
  readonly lacking: number;
}

/**
 * Arrays, those with the fewest accesses for their bytes first and then the largest, without which those that run-time
 * indices reach fit. Others are in registers for the most part, or spilled, a few hundred words.
 */
export function arraysBeyond(trace: Trace, { bytes: room, perAccess = 0 }: PrivateRoom): Beyond {
  const live = analyse(trace);
  const { arrays, accesses } = indexedAtRunTime(trace, live);
  const own = trace.arrays.filter(({ id, kept }) => !kept && arrays.has(id) && live.liveArrays.has(id));
  let lacking = 4 * own.reduce((sum, { length }) => sum + length, 0) - room;
  const cost = (one: ArrayRef) => (perAccess * accesses.get(one.id)!) / (4 * one.length);
  const away: ArrayRef[] = [];
  // truth values are no words
  const words = own.filter(({ type }) => type !== "bool");
  for (const one of words.sort((a, b) => cost(a) - cost(b) || b.length - a.length || a.id - b.id)) {
    if (lacking <= 0 || cost(one) >= 1) break;
    away.push(one);
    lacking -= 4 * one.length * (1 - cost(one));
  }
  return { away, lacking: Math.max(lacking, 0) };
}

/** The trace with these arrays in a buffer, for the time of the kernel. Operations and their order are those of the trace. */
export function moveAway(whole: Trace, arrays: readonly ArrayRef[], region: Region): Trace {
  if (arrays.length === 0) return whole;
  return recordAnew(whole, () => new Mover(analyse(whole), arrays, region).all(whole));
}

class Mover extends Retrace {
  readonly #region: Region;
  readonly #firsts = new Map<ArrayRef, number>();

  constructor(live: Liveness, arrays: readonly ArrayRef[], region: Region) {
    super(live);
    this.#region = region;
    let { first } = region;
    for (const ref of arrays) {
      this.#firsts.set(ref, first);
      first += foursOf(ref);
    }
  }

  all({ root }: Trace): void {
    const { buffer } = this.#region;
    current().buffer(buffer, "read_write");
    // private arrays are zero at the start of a kernel
    for (const [ref, first] of this.#firsts) if (!ref.isScratch) clearFours(buffer, this.#region, first, foursOf(ref));
    this.block(root);
  }

  protected override place(ref: ArrayRef): Pick<ArrayRef, "kept"> {
    const first = this.#firsts.get(ref);
    if (first === undefined) return super.place(ref);
    const { buffer, tile, stride, byWorld } = this.#region;
    return {
      kept: { buffer: current().buffer(buffer, "read_write"), tile, stride, first, ...(byWorld ? { byWorld } : {}) },
    };
  }
}
