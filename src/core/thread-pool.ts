// threads that sleep until a submission, do it together, and tell when it is done
import { later } from "./host.ts";
import { startThread, type Thread } from "./thread.ts";
import { CONTROL, threadLoop, type LoopSetup, type OpenWork } from "./thread-loop.ts";

/** What threads tell. */
export interface PoolListener {
  /** The submission has ended. */
  done(): void;
  /** A thread has ended that should not: what the submission wrote may be half of it. */
  lost(why: string): void;
}

/** How a pool is made. */
export interface PoolOptions<S extends object> {
  /** What the threads are called. */
  readonly name: string;
  readonly open: OpenWork<S>;
  /** By thread. */
  readonly setups: readonly S[];
  /** Words of a task at most. */
  readonly taskWords: number;
}

export class ThreadPool<S extends object> {
  readonly count: number;
  readonly #control: Int32Array<SharedArrayBuffer>;
  readonly #slotWords: number;
  readonly #workers: Thread[];
  readonly #listener: PoolListener;
  #sequence = 0;
  #ready = 0;
  #again: (() => void) | undefined;
  #isWaiting = false;
  #isClosing = false;

  constructor({ name, open, setups, taskWords }: PoolOptions<S>, listener: PoolListener) {
    this.count = setups.length;
    this.#listener = listener;
    this.#slotWords = CONTROL.task + taskWords;
    const control = new SharedArrayBuffer(4 * (CONTROL.firstSlot + CONTROL.slots * this.#slotWords));
    this.#control = new Int32Array(control);
    for (let slot = 0; slot < CONTROL.slots; slot++) this.#control[this.#slot(slot) + CONTROL.through] = this.count;
    const program = `(port, setup) => (${threadLoop.toString()})(port, setup, ${open.toString()})`;
    this.#workers = setups.map((own, i) => {
      const data: S & LoopSetup = { ...own, control, slotWords: this.#slotWords, layout: CONTROL };
      return startThread(program, data, `${name}.${i}`, {
        message: (sequence) => {
          // a thread that is being ended holds the process until it has
          if (this.#isClosing) return;
          if (sequence === 0) this.#started();
          else if (sequence === this.#sequence) this.#ended();
        },
        ended: (why) => this.#fail(why),
      });
    });
  }

  /** Whether all threads have started. */
  get isReady(): boolean {
    return this.#ready === this.count;
  }

  /** Calls back when there is a new chance that all are ready and one may submit. */
  whenFree(again: () => void): void {
    this.#again = again;
    // a thread that starts tells; one that is on its way through a submission does not
    if (!this.isReady || this.#isWaiting) return;
    this.#isWaiting = true;
    later(() => {
      this.#isWaiting = false;
      this.#again?.();
    });
  }

  #slot(sequence: number): number {
    return CONTROL.firstSlot + (sequence % CONTROL.slots) * this.#slotWords;
  }

  /** Whether no thread is still at the submission whose slot the next one takes. */
  get isFree(): boolean {
    return Atomics.load(this.#control, this.#slot(this.#sequence + 1) + CONTROL.through) === this.count;
  }

  /** Has the words of a task done. Only if `isReady` and `isFree`, and after the one before is done. */
  protected start(...words: readonly ArrayLike<number>[]): void {
    const control = this.#control;
    const slot = this.#slot(++this.#sequence);
    control[slot + CONTROL.next] = control[slot + CONTROL.done] = control[slot + CONTROL.through] = 0;
    let at = slot + CONTROL.task;
    for (const part of words) {
      control.set(part, at);
      at += part.length;
    }
    for (const worker of this.#workers) worker.hold(true);
    Atomics.store(control, CONTROL.sequence, this.#sequence);
    Atomics.notify(control, CONTROL.sequence);
  }

  #started(): void {
    if (++this.#ready < this.count) return;
    // a program that waits for nothing else ends
    for (const worker of this.#workers) worker.hold(false);
    this.#again?.();
  }

  #ended(): void {
    for (const worker of this.#workers) worker.hold(false);
    this.#listener.done();
  }

  #fail(why: string): void {
    if (this.#isClosing) return;
    void this.close();
    this.#listener.lost(why);
  }

  /** Ends the threads, wherever they are. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}
