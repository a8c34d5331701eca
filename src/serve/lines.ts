// bytes that come in pieces, as lines of text

const NEWLINE = 10;

export class Lines {
  #whole: string[] = [];
  /** The beginning of a line that has not ended; a character may be cut at its end. */
  #rest: Buffer[] = [];
  /** Bytes of the line that has not ended. */
  waiting = 0;

  add(chunk: Buffer): void {
    const end = chunk.lastIndexOf(NEWLINE);
    if (end < 0) {
      this.#keep(chunk);
      return;
    }
    const whole =
      this.#rest.length > 0 ? Buffer.concat([...this.#rest, chunk.subarray(0, end)]) : chunk.subarray(0, end);
    this.#whole.push(...whole.toString("utf8").split("\n"));
    [this.#rest, this.waiting] = [[], 0];
    if (end + 1 < chunk.length) this.#keep(chunk.subarray(end + 1));
  }

  #keep(bytes: Buffer): void {
    this.#rest.push(bytes);
    this.waiting += bytes.length;
  }

  /** Takes the next line that is whole. */
  next(): string | undefined {
    return this.#whole.shift();
  }
}
