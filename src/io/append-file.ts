// a file that grows by whole pieces: what a full disk cuts off is taken back
import { closeSync, fsyncSync, ftruncateSync, openSync } from "node:fs";
import { writeAll } from "../core/write-bytes.ts";

export class AppendFile {
  readonly #file: number;
  /** Bytes that are whole. */
  #size: number;

  /** Opens a file, or makes it, and cuts it to a size. Throws what the file system throws, as all that follows. */
  constructor(path: string, size = 0, flags: "a" | "ax" = "a") {
    this.#file = openSync(path, flags);
    this.#size = size;
    ftruncateSync(this.#file, size);
  }

  append(bytes: Uint8Array): void {
    try {
      writeAll(this.#file, bytes);
    } catch (error) {
      ftruncateSync(this.#file, this.#size);
      throw error;
    }
    this.#size += bytes.length;
  }

  cut(size: number): void {
    ftruncateSync(this.#file, size);
    this.#size = size;
  }

  /** Waits until all of it is on the disk. */
  sync(): void {
    fsyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }
}
