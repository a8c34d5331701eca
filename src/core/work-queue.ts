// work on memories of WebAssembly, in the order in which it is asked for: in the calling thread, or in others where that is worth it
import { DeviceLostError } from "./errors.ts";

/** Work of one kind of submission, whose time is remembered by its key. */
interface Keyed {
  readonly key: string;
}

/** What is done between works, when all before it is done. */
interface Between {
  readonly act: () => void;
  readonly fail: (why: DeviceLostError) => void;
}

/** Who has the memories and the threads. */
export interface QueueWorker<Work extends Keyed> {
  /** Threads beside the calling one. */
  threads(): number;
  /** `measured`: microseconds of one thread that such work took, if some was done before. */
  isWorthThreads(work: Work, measured: number | undefined): boolean;
  /** Does work in the calling thread. */
  runHere(work: Work): void;
  /** Has threads do the first of these works, or more; returns how many. If threads are not ready 0, and `next` is called when they are. */
  runInThreads(waiting: readonly Work[]): number;
}

/** Microseconds of work below which threads are not worth being woken. */
export const WORTH_THREADS = 300;

/** Kinds of submissions whose time is remembered. */
const MOST_KEYS = 64;

export class WorkQueue<Work extends Keyed> {
  readonly #worker: QueueWorker<Work>;
  #waiting: (Work | Between)[] = [];
  /** What threads are at, and since when. */
  #running: { readonly keys: readonly string[]; readonly since: number } | undefined;
  #lost: DeviceLostError | undefined;
  #isClosed = false;
  /** Microseconds of one thread by key. */
  readonly #microseconds = new Map<string, number>();

  constructor(worker: QueueWorker<Work>) {
    this.#worker = worker;
  }

  get isIdle(): boolean {
    return this.#running === undefined && this.#waiting.length === 0;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @throws DeviceLostError device-lost */
  assertNotLost(): void {
    if (this.#lost) throw this.#lost;
  }

  /** Adds work; `next` has it done. */
  push(work: Work): void {
    this.#waiting.push(work);
  }

  /** Goes on with what waits, until threads have work or nothing is left. */
  next(): void {
    while (this.#running === undefined && this.#waiting.length > 0 && !this.#lost && !this.#isClosed) {
      const first = this.#waiting[0];
      if ("act" in first) {
        this.#waiting.shift();
        first.act();
      } else if (this.#worker.isWorthThreads(first, this.#microseconds.get(first.key))) {
        if (!this.#startThreads()) return;
      } else {
        this.#waiting.shift();
        const since = performance.now();
        this.#worker.runHere(first);
        this.#remember(first.key, performance.now() - since);
      }
    }
  }

  #startThreads(): boolean {
    const end = this.#waiting.findIndex((waiting) => "act" in waiting);
    const works = (end < 0 ? this.#waiting : this.#waiting.slice(0, end)) as Work[];
    const since = performance.now();
    const count = this.#worker.runInThreads(works);
    if (count === 0) return false;
    this.#running = { keys: works.slice(0, count).map(({ key }) => key), since };
    this.#waiting = this.#waiting.slice(count);
    return true;
  }

  /** Threads have done what they were given. */
  done(): void {
    if (this.#running) {
      const { keys, since } = this.#running;
      const each = (this.#worker.threads() * (performance.now() - since)) / keys.length;
      for (const key of keys) this.#remember(key, each);
    }
    this.#running = undefined;
    this.next();
  }

  #remember(key: string, milliseconds: number): void {
    if (this.#microseconds.size >= MOST_KEYS) this.#microseconds.clear();
    const before = this.#microseconds.get(key);
    const now = 1000 * milliseconds;
    // the first time includes compiling, and any may include another program's turn
    this.#microseconds.set(key, before === undefined ? now : Math.min(now, 0.75 * before + 0.25 * now));
  }

  /** Nothing is done any more: who waits gets an error of this text. */
  lose(message: string, reason: string): void {
    const lost = new DeviceLostError("device-lost", message, { reason });
    this.#lost = lost;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#running = undefined;
    for (const one of waiting) if ("fail" in one) one.fail(lost);
  }

  /** Does something when all that was asked for before is done: at once if nothing is. */
  async after<T>(act: () => T): Promise<T> {
    if (this.isIdle) return act();
    return new Promise((resolve, reject) => {
      const attempt = () => {
        try {
          resolve(act());
        } catch (error) {
          reject(error);
        }
      };
      this.#waiting.push({ act: attempt, fail: reject });
    });
  }

  /** Ends when all that was asked for is done, or lost; nothing is begun after that. */
  async close(): Promise<void> {
    if (!this.#isClosed && !this.#lost) await this.after(() => {}).catch(() => {});
    this.#isClosed = true;
  }
}
