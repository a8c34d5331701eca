// what threads of a pool run: submissions from shared memory, whose turns follow one another and are done chunk by chunk

/** Words of the control memory. Slots follow one another, one for each submission that some thread may still be at. */
export const CONTROL = {
  /** The last submission. */
  sequence: 0,
  firstSlot: 16,
  slots: 8,
  /** In a slot: the next chunk, chunks done, threads that are through, and what there is to do. */
  next: 0,
  done: 1,
  through: 2,
  task: 3,
} as const;

/** What every thread of a pool is given beside what its work takes. */
export interface LoopSetup {
  readonly control: SharedArrayBuffer;
  readonly slotWords: number;
  readonly layout: typeof CONTROL;
}

/** What a pool does. It keeps nothing of one submission for the next. */
export interface ThreadWork {
  /** The task whose words begin there: where each of its turns ends, in chunks from the start. */
  begin(at: number): readonly number[];
  /** Does one chunk of a turn. */
  run(turn: number, chunk: number): void;
}

/** Opens the work of a thread. Passed on as text, as the loop is. */
export type OpenWork<S extends object> = (setup: S & LoopSetup, control: Int32Array) => ThreadWork;

/**
 * The whole program of a thread, which ends with its worker. It is passed on as text, so that a thread starts in
 * milliseconds whatever this file was loaded by: it must not use anything from outside of itself.
 */
export function threadLoop<S extends object>(
  port: { postMessage(message: number): void },
  setup: S & LoopSetup,
  open: OpenWork<S>,
): void {
  const { layout, slotWords } = setup;
  const { next, done, through } = layout;
  const control = new Int32Array(setup.control);
  const work = open(setup, control);
  port.postMessage(0);

  for (let sequence = 1; ; sequence++) {
    while (Atomics.load(control, layout.sequence) < sequence) Atomics.wait(control, layout.sequence, sequence - 1);
    const slot = layout.firstSlot + (sequence % layout.slots) * slotWords;
    const ends = work.begin(slot + layout.task);
    const all = ends[ends.length - 1];
    let turn = 0;
    for (let at = Atomics.add(control, slot + next, 1); at < all; at = Atomics.add(control, slot + next, 1)) {
      while (at >= ends[turn]) turn++;
      const before = turn === 0 ? 0 : ends[turn - 1];
      // a turn sees all that the one before it wrote; others are done soon, or sleep
      for (let spins = 0; spins < 2000 && Atomics.load(control, slot + done) < before;) spins++;
      for (let ready = Atomics.load(control, slot + done); ready < before;) {
        Atomics.wait(control, slot + done, ready);
        ready = Atomics.load(control, slot + done);
      }
      work.run(turn, at - before);
      const ready = Atomics.add(control, slot + done, 1) + 1;
      if (ready === ends[turn]) Atomics.notify(control, slot + done);
      if (ready === all) port.postMessage(sequence);
    }
    Atomics.add(control, slot + through, 1);
  }
}
