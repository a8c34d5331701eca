// a line of progress: rewritten on a terminal, printed now and then elsewhere
import { printable } from "../core/show.ts";

/** Seconds between two lines if lines cannot be rewritten. */
const LINE_SECONDS = 2;

export class LiveLine {
  readonly #say: (line: string) => void;
  readonly #terminal: boolean;
  #printed = -Infinity;
  #last = "";

  constructor(say: (line: string) => void, json: boolean) {
    this.#say = say;
    this.#terminal = process.stdout.isTTY && !json;
  }

  /** Shows a line at a time (seconds). */
  show(line: string, seconds: number): void {
    this.#last = line;
    if (this.#terminal) {
      const width = Math.max(20, (process.stdout.columns ?? 120) - 1);
      process.stdout.write(`\r\u001B[K${printable(line).slice(0, width)}`);
    } else if (seconds - this.#printed >= LINE_SECONDS) {
      this.#printed = seconds;
      this.#say(line);
      this.#last = "";
    }
  }

  /** Says a line that stays. */
  note(line: string): void {
    this.clear();
    this.#say(line);
  }

  /** Takes a line that is rewritten away. */
  clear(): void {
    if (this.#terminal) process.stdout.write("\r\u001B[K");
  }

  /** Leaves the last line to be read. */
  end(): void {
    this.clear();
    if (this.#last !== "") this.#say(this.#last);
  }
}
