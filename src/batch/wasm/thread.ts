// what a thread of a batch of WebAssembly does: kernels in their order, of chunks of worlds
import type { LoopSetup, ThreadWork } from "../../core/thread-loop.ts";

/** Kernels of one submission at most. */
export const MOST_KERNELS = 12;

/** Words of a task: how many kernels, which, and parameters. */
export const TASK = { count: 0, kernels: 1, params: 1 + MOST_KERNELS } as const;

export interface ThreadKernel {
  readonly module: WebAssembly.Module;
  /** Offset of the parameters in a frame. */
  readonly params: number;
  /** Address of tables and constants in each memory. */
  readonly pools: readonly number[];
  /** By shard, addresses of the buffers, with which a frame begins. */
  readonly addresses: readonly (readonly number[])[];
}

/** All that a thread needs, as it is posted to it. */
export interface ThreadSetup {
  readonly memories: readonly WebAssembly.Memory[];
  readonly kernels: readonly ThreadKernel[];
  /** The memory and the worlds of each shard. */
  readonly shards: readonly { readonly memory: number; readonly worlds: number }[];
  /** Address of the thread's frame in each memory. */
  readonly frames: readonly number[];
  /** Worlds of a chunk, a multiple of the tile. */
  readonly chunk: number;
  /** Parameters of all kernels. */
  readonly params: number;
  readonly task: typeof TASK;
}

/** Passed on as text: it must not use anything from outside of itself. */
export function openBatch(setup: ThreadSetup & LoopSetup, control: Int32Array): ThreadWork {
  const { memories, kernels, shards, chunk, frames, params, task } = setup;
  const words = memories.map((memory) => new Int32Array(memory.buffer));
  const runs: ((from: number, to: number, last: number, frame: number, pool: number) => void)[][] = kernels.map(
    () => [],
  );
  let chunks = 0;
  for (const { worlds } of shards) chunks += Math.ceil(worlds / chunk);
  let from = 0;
  let placed = -1;
  return {
    begin(at) {
      from = at;
      placed = -1;
      return Array.from({ length: control[at + task.count] }, (_, turn) => (turn + 1) * chunks);
    },
    run(turn, at) {
      const which = control[from + task.kernels + turn];
      let shard = 0;
      let place = at;
      while (place >= Math.ceil(shards[shard].worlds / chunk)) place -= Math.ceil(shards[shard++].worlds / chunk);
      const { memory, worlds } = shards[shard];
      const { module, pools, addresses, params: paramsAt } = kernels[which];
      const frame = frames[memory];
      if (placed !== turn * shards.length + shard) {
        placed = turn * shards.length + shard;
        words[memory].set(addresses[shard], frame / 4);
        const given = from + task.params;
        words[memory].set(control.subarray(given, given + params), (frame + paramsAt) / 4);
      }
      runs[which][memory] ??= new WebAssembly.Instance(module, { corral: { memory: memories[memory] } }).exports
        .run as unknown as (typeof runs)[number][number];
      runs[which][memory](place * chunk, Math.min(worlds, (place + 1) * chunk), worlds - 1, frame, pools[memory]);
    },
  };
}
