// what threads of a batch of WebAssembly run: submissions from shared memory, chunk by chunk, in the order of their kernels

/** Kernels of one submission at most. */
export const MOST_KERNELS = 12;

/** Words of the control memory. Slots follow one another, one for each submission that some thread may still be at. */
export const CONTROL = {
  /** The last submission. */
  sequence: 0,
  firstSlot: 16,
  slots: 8,
  /** In a slot: the next chunk, chunks done, threads that are through, how many kernels, which, and parameters. */
  next: 0,
  done: 1,
  through: 2,
  count: 3,
  kernels: 4,
  params: 4 + MOST_KERNELS,
} as const;

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
  readonly control: SharedArrayBuffer;
  readonly memories: readonly WebAssembly.Memory[];
  readonly kernels: readonly ThreadKernel[];
  /** The memory and the worlds of each shard. */
  readonly shards: readonly { readonly memory: number; readonly worlds: number }[];
  /** Address of the thread's frame in each memory. */
  readonly frames: readonly number[];
  /** Worlds of a chunk, a multiple of the tile. */
  readonly chunk: number;
  /** Parameters of all kernels, and the words of a slot. */
  readonly params: number;
  readonly slotWords: number;
  readonly layout: typeof CONTROL;
}

/**
 * The whole program of a thread, which ends with its worker. It is passed on as text, so that a thread starts in
 * milliseconds whatever this file was loaded by: it must not use anything from outside of itself.
 */
export function thread(port: { postMessage(message: number): void }, setup: ThreadSetup): void {
  const { memories, kernels, shards, chunk, frames, params, layout } = setup;
  const { next, done, through } = layout;
  const control = new Int32Array(setup.control);
  const words = memories.map((memory) => new Int32Array(memory.buffer));
  const runs: ((from: number, to: number, last: number, frame: number, pool: number) => void)[][] = kernels.map(
    () => [],
  );
  let chunks = 0;
  for (const { worlds } of shards) chunks += Math.ceil(worlds / chunk);
  port.postMessage(0);

  for (let sequence = 1; ; sequence++) {
    while (Atomics.load(control, layout.sequence) < sequence) Atomics.wait(control, layout.sequence, sequence - 1);
    const slot = layout.firstSlot + (sequence % layout.slots) * setup.slotWords;
    const all = control[slot + layout.count] * chunks;
    let placed = -1;
    for (let at = Atomics.add(control, slot + next, 1); at < all; at = Atomics.add(control, slot + next, 1)) {
      // a kernel sees all that the one before it wrote
      const turn = Math.floor(at / chunks);
      for (let ready = Atomics.load(control, slot + done); ready < turn * chunks;) {
        Atomics.wait(control, slot + done, ready);
        ready = Atomics.load(control, slot + done);
      }
      const which = control[slot + layout.kernels + turn];
      let shard = 0;
      let place = at % chunks;
      while (place >= Math.ceil(shards[shard].worlds / chunk)) place -= Math.ceil(shards[shard++].worlds / chunk);
      const { memory, worlds } = shards[shard];
      const { module, pools, addresses, params: paramsAt } = kernels[which];
      const frame = frames[memory];
      if (placed !== turn * shards.length + shard) {
        placed = turn * shards.length + shard;
        words[memory].set(addresses[shard], frame / 4);
        const from = slot + layout.params;
        words[memory].set(control.subarray(from, from + params), (frame + paramsAt) / 4);
      }
      runs[which][memory] ??= new WebAssembly.Instance(module, { corral: { memory: memories[memory] } }).exports
        .run as unknown as (typeof runs)[number][number];
      runs[which][memory](place * chunk, Math.min(worlds, (place + 1) * chunk), worlds - 1, frame, pools[memory]);
      const ready = Atomics.add(control, slot + done, 1) + 1;
      if (ready % chunks === 0) Atomics.notify(control, slot + done);
      if (ready === all) port.postMessage(sequence);
    }
    Atomics.add(control, slot + through, 1);
  }
}
