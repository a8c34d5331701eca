// when to give a bundle up: a program may hold a loop without end
import { CorralError } from "../core/errors.ts";
import type { Bundle } from "../record/bundle.ts";

const SECONDS = 600;

/** The time that all work on a bundle has together. */
export class Deadline {
  readonly #bundle: Bundle;
  readonly #seconds: number;
  readonly #end: number;

  constructor(bundle: Bundle, seconds = SECONDS) {
    this.#bundle = bundle;
    this.#seconds = seconds;
    this.#end = performance.now() + 1000 * seconds;
  }

  #error(): CorralError {
    const { path } = this.#bundle;
    return new CorralError(
      "replay-endless",
      `${path} has run for ${this.#seconds} seconds. Its program may never end; where you trust its writer, allow more: --seconds.`,
      { path, seconds: this.#seconds },
    );
  }

  /** Throws `replay-endless` when it has passed. */
  check = (): void => {
    if (performance.now() > this.#end) throw this.#error();
  };

  /** Awaits work of a device. Throws `replay-endless` when the deadline passes. */
  async within<T>(asked: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const passed = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.#error()), Math.max(0, this.#end - performance.now()));
    });
    try {
      return await Promise.race([asked, passed]);
    } finally {
      clearTimeout(timer);
    }
  }
}
