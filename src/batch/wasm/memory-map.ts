// where everything of a batch lies in memories of WebAssembly, and how many bytes that is
import { CorralError } from "../../core/errors.ts";
import { formatBytes } from "../../core/units.ts";
import { WORTH_THREADS } from "../../core/work-queue.ts";
import { THREAD_BYTES, type WasmBytes } from "../../memory/host-budget.ts";
import type { WasmKernel } from "../../trace/wasm/index.ts";
import {
  LINE_BYTES,
  lines as aligned,
  LISTS,
  listWords,
  MOST_PAGES,
  PAGE_BYTES,
  type WasmCost,
} from "../../memory/wasm-cost.ts";
import type { PlannedBatch } from "../batch.ts";
import { emittedKernel } from "./kernel-cache.ts";

/** A kernel in the memories of a batch. */
export interface MappedKernel {
  readonly name: string;
  readonly kernel: WasmKernel;
  /** By memory. */
  readonly pools: readonly number[];
}

/** An arena of a shard: where it lies, and its bytes. */
export interface Place {
  readonly memory: number;
  readonly at: number;
  readonly bytes: number;
}

export interface WasmMap {
  /** By arena, the place of each shard. */
  readonly arenas: ReadonlyMap<string, readonly Place[]>;
  readonly kernels: readonly MappedKernel[];
  /** By shard, where two lists of a word for each world lie: the order in which they run, and their effort (`WasmKernel.order`). */
  readonly lists: readonly { readonly order: number; readonly effort: number; readonly words: number }[];
  /** By thread, the calling one first, the address of its frame in each memory. */
  readonly frames: readonly (readonly number[])[];
  /** The memory of each shard, and the bytes of each memory. */
  readonly memoryOf: readonly number[];
  readonly memories: readonly number[];
  /** Threads beside the calling one, and how many there might be. */
  readonly threads: number;
  readonly mostThreads: number;
  /** Whether the calling thread never runs a kernel. */
  readonly isApart: boolean;
  /** Bytes of all memories, and of the threads. */
  readonly bytes: WasmBytes;
}

/** Worlds of a tile. */
const TILE = 8;

/** Microseconds that four worlds take for a byte of straight-line code: a first guess, until it is measured. */
const MICROSECONDS_PER_BYTE = 4e-4;

/** A guess of the microseconds that one run of a kernel takes in one thread. */
export const guessedMicroseconds = (kernel: WasmKernel, worlds: number): number =>
  MICROSECONDS_PER_BYTE * kernel.module.length * Math.ceil(worlds / 4);

/** Threads for a batch: none beside the calling one if it has little to do, and one for every tile at most. */
function threadsFor(kernels: readonly WasmKernel[], worlds: number, most: number): number {
  const longest = Math.max(0, ...kernels.map((kernel) => guessedMicroseconds(kernel, worlds)));
  return most > 1 && longest > WORTH_THREADS / 4 ? Math.min(most, Math.ceil(worlds / TILE)) : 0;
}

/** The tiles from which on there are threads. */
function threadsFrom(kernels: readonly WasmKernel[]): number {
  const ofTile = Math.max(0, ...kernels.map((kernel) => guessedMicroseconds(kernel, TILE)));
  return Math.floor(WORTH_THREADS / 4 / ofTile) + 1;
}

/**
 * Emits the kernels of a batch, and says where everything lies. Holds nothing. `isApart` keeps kernels, whose programs may
 * never end, out of the calling thread.
 * @throws CorralError trace-exact, wasm-locals, wasm-memory
 */
export function mapWasm({ plan, traces }: PlannedBatch, mostThreads: number, isApart = false): WasmMap {
  const kernels = [...traces].map(([name, trace]) => ({ name, kernel: emittedKernel(trace) }));
  const emitted = kernels.map(({ kernel }) => kernel);
  const threads = isApart ? mostThreads : threadsFor(emitted, plan.numEnvs, mostThreads);
  const frameBytes = aligned(Math.max(0, ...kernels.map(({ kernel }) => kernel.frameBytes)));
  const poolBytes = kernels.map(({ kernel }) => aligned(4 * kernel.pool.length));
  // the first line is nobody's
  const poolsEnd = LINE_BYTES + poolBytes.reduce((sum, bytes) => sum + bytes, 0);
  const fixed = poolsEnd + (threads + 1) * frameBytes;
  const held = plan.arenas.filter((a) => a.access !== "uniform" && a.access !== "staging");
  const arenas = new Map<string, Place[]>(held.map(({ name }) => [name, []]));

  const most = MOST_PAGES * PAGE_BYTES;
  const ends: number[] = [];
  const lists: { order: number; effort: number; words: number }[] = [];
  const memoryOf = plan.shards.map(({ paddedWorlds }) => {
    const sizes = held.map((a) => a.sharedBytes + a.bytesPerWorld * paddedWorlds);
    const words = listWords(paddedWorlds);
    const shardBytes = sizes.reduce((sum, bytes) => sum + aligned(bytes), LISTS * aligned(4 * words));
    if (ends.length === 0 || ends.at(-1)! + shardBytes > most) ends.push(fixed);
    const memory = ends.length - 1;
    if (ends[memory] + shardBytes > most) throw tooLarge(plan.name, ends[memory] + shardBytes, most);
    held.forEach(({ name }, i) => {
      arenas.get(name)!.push({ memory, at: ends[memory], bytes: sizes[i] });
      ends[memory] += aligned(sizes[i]);
    });
    lists.push({ order: ends[memory], effort: ends[memory] + aligned(4 * words), words });
    ends[memory] += LISTS * aligned(4 * words);
    return memory;
  });

  let pool = LINE_BYTES;
  const placed = kernels.map(({ name, kernel }, i) => {
    const at = pool;
    pool += poolBytes[i];
    return { name, kernel, pools: ends.map(() => at) };
  });
  const frames = Array.from({ length: threads + 1 }, (_, i) => ends.map(() => poolsEnd + i * frameBytes));
  const memories = ends.map((end) => Math.ceil(end / PAGE_BYTES) * PAGE_BYTES);
  const cost: WasmCost = {
    fixed: poolsEnd,
    frame: frameBytes,
    arenas: held.map((a) => ({ shared: a.sharedBytes, perTile: a.bytesPerWorld * plan.tileWidth })),
    mostThreads: mostThreads > 1 ? mostThreads : 0,
    threadsFrom: isApart ? 0 : threadsFrom(emitted),
    threadBytes: THREAD_BYTES,
  };
  const bytes = { memory: memories.reduce((sum, n) => sum + n, 0), threads: threads * THREAD_BYTES, cost };
  return { arenas, kernels: placed, lists, frames, memoryOf, memories, threads, mostThreads, isApart, bytes };
}

const tooLarge = (name: string, bytes: number, most: number): CorralError =>
  new CorralError(
    "wasm-memory",
    `a shard of ${name} needs ${formatBytes(bytes)}, and a memory of WebAssembly has at most ${formatBytes(most)}. Pass more shards, or fewer worlds.`,
    { bytes, most },
  );
