// arrays that two processes share through one file: the peer maps it into its memory, this side reads and writes it in place,
// which on a file system in memory is a copy of memory
import { closeSync, fstatSync, openSync, readSync, writevSync } from "node:fs";
import { CorralError } from "../core/errors.ts";
import { reasonOf, writeAll } from "../core/write-bytes.ts";

/** NumPy's names. */
export type Dtype = "float32" | "float64" | "int32" | "uint32" | "uint8";

const BYTES: Readonly<Record<Dtype, number>> = { float32: 4, float64: 8, int32: 4, uint32: 4, uint8: 1 };

/** Where arrays start: no two share a cache line. */
const ALIGNMENT = 64;

/** Arrays and what lies between them that one call of the system writes; Linux takes 1,024. */
const MOST_AT_ONCE = 500;

/** An array of the file, row-major. */
export interface ArrayRow {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly offset: number;
}

/** The arrays of a file, and its size in bytes. */
export interface ArrayTable {
  readonly arrays: readonly ArrayRow[];
  readonly bytes: number;
}

/** Puts arrays behind each other. */
export function arrayTable(arrays: readonly Omit<ArrayRow, "offset">[]): ArrayTable {
  let bytes = 0;
  const placed = arrays.map((row) => {
    const offset = bytes;
    bytes = Math.ceil((offset + row.shape.reduce((n, axis) => n * axis, BYTES[row.dtype])) / ALIGNMENT) * ALIGNMENT;
    return { ...row, offset };
  });
  return { arrays: placed, bytes: Math.max(bytes, ALIGNMENT) };
}

export class MappedFile {
  readonly #file: number;
  readonly #offsets: ReadonlyMap<string, number>;
  readonly #padding = new Uint8Array(ALIGNMENT);

  /**
   * Opens a file that the peer has made.
   * @throws CorralError bad-map if it is not there, or smaller than the table
   */
  constructor(path: string, { arrays, bytes }: ArrayTable) {
    try {
      this.#file = openSync(path, "r+");
    } catch (error) {
      throw new CorralError("bad-map", `${path} cannot be opened: ${reasonOf(error)}. Pass a file of ${bytes} bytes.`, {
        path,
      });
    }
    const { size } = fstatSync(this.#file);
    if (size < bytes) {
      closeSync(this.#file);
      throw new CorralError("bad-map", `${path} has ${size} bytes; its arrays take ${bytes}. Make it so long.`, {
        path,
        size,
        bytes,
      });
    }
    this.#offsets = new Map(arrays.map(({ name, offset }) => [name, offset]));
  }

  #at(name: string): number {
    const offset = this.#offsets.get(name);
    if (offset === undefined) throw new CorralError("internal", `the mapped file has no array ${name}.`);
    return offset;
  }

  /** Fills `into` from the start of an array. */
  read(name: string, into: NodeJS.ArrayBufferView): void {
    readSync(this.#file, into, 0, into.byteLength, this.#at(name));
  }

  /** Writes `from` to the start of an array. */
  write(name: string, from: NodeJS.ArrayBufferView): void {
    writeAll(this.#file, new Uint8Array(from.buffer, from.byteOffset, from.byteLength), this.#at(name));
  }

  /** Writes arrays, in the order of the table: those that lie behind each other in one call of the system. */
  writeAll(arrays: Iterable<readonly [name: string, from: NodeJS.ArrayBufferView]>): void {
    let [start, end] = [0, 0];
    let run: Uint8Array[] = [];
    for (const [name, from] of arrays) {
      const at = this.#at(name);
      const gap = at - end;
      if (run.length > 0 && gap > 0 && gap < ALIGNMENT) run.push(this.#padding.subarray(0, gap));
      else if (gap !== 0 || run.length >= MOST_AT_ONCE) {
        this.#writeRun(run, start, end);
        [run, start] = [[], at];
      }
      run.push(new Uint8Array(from.buffer, from.byteOffset, from.byteLength));
      end = at + from.byteLength;
    }
    this.#writeRun(run, start, end);
  }

  #writeRun(run: readonly Uint8Array[], start: number, end: number): void {
    if (run.length === 0 || writevSync(this.#file, run, start) === end - start) return;
    // the system took a part
    for (const bytes of run) {
      writeAll(this.#file, bytes, start);
      start += bytes.length;
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
