// the threads of one batch of WebAssembly: they sleep until a submission, and tell when it is done
import { later } from "../../core/host.ts";
import { startThread, type Thread } from "../../core/thread.ts";
import { CONTROL, thread, type ThreadSetup } from "./thread.ts";

/** Bytes that a thread takes beside the memory of its batch: its stack, and what the engine keeps for it. */
export const THREAD_BYTES = 8 * 2 ** 20;

const PROGRAM = thread.toString();

/** What threads tell. */
interface Listener {
  /** The submission has ended. */
  done(): void;
  /** A thread has ended that should not: the worlds may be half a step apart. */
  lost(why: string): void;
}

/** What the threads of a batch have in common. */
export type SharedSetup = Omit<ThreadSetup, "control" | "frames" | "slotWords" | "layout">;

export class WasmThreads {
  readonly count: number;
  readonly #control: Int32Array<SharedArrayBuffer>;
  readonly #slotWords: number;
  readonly #workers: Thread[];
  readonly #listener: Listener;
  #sequence = 0;
  #ready = 0;
  #again: (() => void) | undefined;
  #isWaiting = false;
  #isClosing = false;

  /** Starts a thread for each list of frames. */
  constructor(setup: SharedSetup, frames: readonly (readonly number[])[], listener: Listener) {
    this.count = frames.length;
    this.#listener = listener;
    this.#slotWords = CONTROL.params + setup.params;
    const control = new SharedArrayBuffer(4 * (CONTROL.firstSlot + CONTROL.slots * this.#slotWords));
    this.#control = new Int32Array(control);
    for (let slot = 0; slot < CONTROL.slots; slot++) this.#control[this.#slot(slot) + CONTROL.through] = this.count;
    this.#workers = frames.map((own, i) => {
      const data: ThreadSetup = { ...setup, control, frames: own, slotWords: this.#slotWords, layout: CONTROL };
      return startThread(PROGRAM, data, `corral.wasm.${i}`, {
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

  /** Runs kernels, at most MOST_KERNELS, one after the other. Only if `isFree`, and after the one before is done. */
  submit(kernels: readonly number[], params: Uint32Array): void {
    const control = this.#control;
    const slot = this.#slot(++this.#sequence);
    control[slot + CONTROL.next] = control[slot + CONTROL.done] = control[slot + CONTROL.through] = 0;
    control[slot + CONTROL.count] = kernels.length;
    control.set(kernels, slot + CONTROL.kernels);
    control.set(params, slot + CONTROL.params);
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
