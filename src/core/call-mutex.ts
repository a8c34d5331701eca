// one call at a time, none after close, and close after the call that is in flight
import { CorralError } from "./errors.ts";

export class CallMutex {
  readonly #name: string;
  #busy: string | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  /** `name` is what errors say was closed. */
  constructor(name: string) {
    this.#name = name;
  }

  /** Whether `close` was called. */
  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Throws `closed`, or `call-in-flight` if an exclusive call has not resolved yet. */
  assertOpen(what: string): void {
    if (this.#closing) {
      throw new CorralError("closed", `cannot ${what}: ${this.#name} was closed. Make another one.`);
    }
    if (this.#busy === undefined) return;
    throw new CorralError("call-in-flight", `cannot ${what}: ${this.#busy} has not resolved yet. Await it first.`, {
      pending: this.#busy,
    });
  }

  /**
   * Runs a call that no other may come between; `run` starts at once.
   * @throws CorralError closed, call-in-flight
   */
  async exclusive<T>(what: string, run: () => Promise<T>): Promise<T> {
    this.assertOpen(what);
    this.#busy = what;
    const running = (async () => run())().finally(() => {
      this.#busy = undefined;
    });
    this.#running = running;
    return running;
  }

  /** Closes once the call in flight has resolved or failed. Calling it again returns the same promise. */
  close(run: () => Promise<void>): Promise<void> {
    this.#closing ??= this.#running.then(run, run);
    return this.#closing;
  }
}
