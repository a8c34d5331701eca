/**
 * Rows of a replay in a file. A header of one block says what it holds; then come the rows, world by world, each with its
 * number and a checksum. The whole file is written at the start, so that the disk cannot run full in the middle of a run;
 * should it, or should the process be killed, all rows but those being written are intact.
 */
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readSync, statfsSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { CorralError } from "../core/errors.ts";
import { formatBytes } from "../core/units.ts";
import { isFull, reasonOf, remedyOf, writeAll } from "../core/write-bytes.ts";
import { rowWidth, type RowsShape } from "./host-rows.ts";
import type { RowStore } from "./replay.ts";

const MAGIC = "corral replay 1";
const HEADER = 4096;
/** Bytes before the floats of a row: its number and 1, and the checksum of all else. */
const STAMP = 8;
const BLOCK = 2 ** 20;

export interface FileRowsOptions {
  /** Whether to go on with a file that is there; by default that is refused. */
  readonly reuse?: boolean;
  /** Writes at a place in the file; tests give one that fails. */
  readonly writeAt?: (file: number, bytes: Uint8Array, position: number) => void;
}

const rowBytes = (shape: RowsShape): number => STAMP + 4 * rowWidth(shape);

/** Bytes of the file. */
export const fileBytes = (shape: RowsShape): number => HEADER + shape.worlds * shape.capacity * rowBytes(shape);

export class FileRows implements RowStore {
  readonly capacity: number;
  readonly width: number;
  readonly bytes: number;
  readonly path: string;
  readonly #worlds: number;
  readonly #file: number;
  readonly #rowBytes: number;
  readonly #writeAt: NonNullable<FileRowsOptions["writeAt"]>;
  #buffer = new Uint8Array(0);
  #written = 0;
  /** Of all worlds: a write that was cut short has taken the oldest rows of some. */
  #oldest = 0;

  private constructor(path: string, file: number, shape: RowsShape, writeAt: FileRowsOptions["writeAt"]) {
    this.path = path;
    this.#file = file;
    this.#worlds = shape.worlds;
    this.capacity = shape.capacity;
    this.width = rowWidth(shape);
    this.#rowBytes = rowBytes(shape);
    this.bytes = fileBytes(shape);
    this.#writeAt = writeAt ?? writeAll;
  }

  /**
   * Makes the file, all of it, or opens one and checks every row.
   * @throws CorralError replay-exists; replay-not-written where the file cannot be made or opened; disk-full before anything is made, or with what was made removed; bad-replay for a
   *   file of another shape or with rows that are not what was written
   */
  static open(path: string, shape: RowsShape, { reuse = false, writeAt }: FileRowsOptions = {}): FileRows {
    const exists = existsSync(path);
    if (exists && !reuse) {
      throw new CorralError(
        "replay-exists",
        `${path} is there already. Pass another replayFile, reuseReplay: true to go on with it, or remove it.`,
        { path },
      );
    }
    const file = exists ? made(path, () => openSync(path, "r+")) : create(path, shape, writeAt ?? writeAll);
    try {
      const rows = new FileRows(path, file, shape, writeAt);
      if (exists) rows.#check(shape);
      return rows;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  get written(): number {
    return this.#written;
  }

  get oldest(): number {
    return this.#oldest;
  }

  #position(world: number, number: number): number {
    return HEADER + (world * this.capacity + (number % this.capacity)) * this.#rowBytes;
  }

  #room(rows: number): Uint8Array {
    const bytes = rows * this.#rowBytes;
    if (this.#buffer.length < bytes) this.#buffer = new Uint8Array(bytes);
    return this.#buffer.subarray(0, bytes);
  }

  /** Runs of rows that lie side by side: the ring may go round in between. */
  *#runs(number: number, rows: number): Generator<readonly [done: number, rows: number]> {
    for (let done = 0; done < rows;) {
      const now = Math.min(rows - done, this.capacity - ((number + done) % this.capacity));
      yield [done, now];
      done += now;
    }
  }

  write(world: number, values: Float32Array): void {
    const rows = values.length / this.width;
    const bytes = this.#room(rows);
    for (let i = 0; i < rows; i++) {
      const row = bytes.subarray(i * this.#rowBytes, (i + 1) * this.#rowBytes);
      const floats = values.subarray(i * this.width, (i + 1) * this.width);
      row.set(new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength), STAMP);
      const head = new DataView(row.buffer, row.byteOffset);
      head.setUint32(0, this.#written + i + 1, true);
      head.setUint32(4, checksum(row, world), true);
    }
    this.#oldest = Math.max(this.#oldest, this.#written + rows - this.capacity);
    for (const [done, now] of this.#runs(this.#written, rows)) {
      const part = bytes.subarray(done * this.#rowBytes, (done + now) * this.#rowBytes);
      try {
        this.#writeAt(this.#file, part, this.#position(world, this.#written + done));
      } catch (error) {
        throw isFull(error) ? full(this.path, `row ${this.#written + done} of world ${world}`, error) : error;
      }
    }
  }

  advance(rows: number): void {
    this.#written += rows;
  }

  read(world: number, number: number, into: Float32Array): void {
    const rows = into.length / this.width;
    const bytes = this.#room(rows);
    for (const [done, now] of this.#runs(number, rows)) {
      const part = bytes.subarray(done * this.#rowBytes, (done + now) * this.#rowBytes);
      readAll(this.#file, part, this.#position(world, number + done));
    }
    for (let i = 0; i < rows; i++) {
      const row = bytes.subarray(i * this.#rowBytes, (i + 1) * this.#rowBytes);
      if (numberOf(row, world) !== number + i) throw bad(this.path, `row ${number + i} of world ${world} is damaged`);
      const floats = new Uint8Array(into.buffer, into.byteOffset + 4 * i * this.width, 4 * this.width);
      floats.set(row.subarray(STAMP));
    }
  }

  /** Looks at the header and every row, and finds how many there are. */
  #check(shape: RowsShape): void {
    const { size } = fstatSync(this.#file);
    const header = new Uint8Array(HEADER);
    if (size >= HEADER) readAll(this.#file, header, 0);
    const [text, wanted] = [Buffer.from(header).toString("utf8").replace(/\0+$/, ""), headerText(shape)];
    if (text !== wanted) {
      const what = text.startsWith(MAGIC) ? `holds ${text.split("\n")[1] ?? "nothing"}` : "is no replay";
      throw bad(this.path, `it ${what}, not ${wanted.split("\n")[1]}`);
    }
    if (size !== this.bytes) throw bad(this.path, `it has ${size} bytes, not ${this.bytes}: it was cut short`);

    const { capacity } = this;
    const bytes = this.#room(capacity);
    this.#written = Infinity;
    for (let world = 0; world < this.#worlds; world++) {
      readAll(this.#file, bytes, this.#position(world, 0));
      const numbers = Array.from({ length: capacity }, (_, slot) =>
        numberOf(bytes.subarray(slot * this.#rowBytes, (slot + 1) * this.#rowBytes), world),
      );
      const count = numbers.reduce((most, n) => Math.max(most, n), EMPTY) + 1;
      // only a row that was being written may be damaged; the one that it replaced is gone
      const damaged = numbers.findIndex((n, slot) => n === DAMAGED && slot !== count % capacity);
      if (damaged >= 0) throw bad(this.path, `the row in slot ${damaged} of world ${world} is damaged`);
      let oldest = count;
      while (oldest > 0 && numbers[(oldest - 1) % capacity] === oldest - 1) oldest--;
      this.#written = Math.min(this.#written, count);
      this.#oldest = Math.max(this.#oldest, oldest);
    }
  }

  /** The rows stay in the file; a snapshot knows how many there were. */
  copy(): Record<string, Uint32Array<ArrayBuffer>> {
    return { replay_written: new Uint32Array([this.#written]) };
  }

  /** Forgets the rows that were written since. Older ones that those replaced stay lost. */
  put(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>): void {
    const written = copies.replay_written?.[0];
    if (written !== undefined && written <= this.#written && written >= this.oldest) {
      // emptied, so that a file which is opened later does not go on with them
      const empty = new Uint8Array(this.#rowBytes);
      for (let world = 0; world < this.#worlds; world++) {
        for (let n = written; n < this.#written; n++) this.#writeAt(this.#file, empty, this.#position(world, n));
      }
      this.#written = written;
      return;
    }
    throw new CorralError(
      "bad-snapshot",
      `the snapshot was taken at row ${written ?? "?"}; ${this.path} has rows ${this.oldest} to ${this.#written}. Open the file that the run wrote: replayFile, with reuseReplay: true.`,
      { written, path: this.path },
    );
  }

  close(): void {
    try {
      fsyncSync(this.#file);
    } finally {
      closeSync(this.#file);
    }
  }
}

/** A row that was never written, and one that is not what was written. */
const EMPTY = -1;
const DAMAGED = -2;

function checksum(row: Uint8Array, world: number): number {
  return crc32(row.subarray(STAMP), crc32(row.subarray(0, 4), world));
}

function numberOf(row: Uint8Array, world: number): number {
  const head = new DataView(row.buffer, row.byteOffset);
  const [stamp, sum] = [head.getUint32(0, true), head.getUint32(4, true)];
  if (stamp === 0 && sum === 0 && row.every((byte) => byte === 0)) return EMPTY;
  return sum === checksum(row, world) ? stamp - 1 : DAMAGED;
}

/** What a header says, with a checksum of itself. */
function headerText(shape: RowsShape): string {
  const { id, worlds, capacity, observations, actions } = shape;
  const text = `${MAGIC}\n${JSON.stringify({ id, worlds, capacity, observations, actions })}\n`;
  return `${text}${crc32(text).toString(16).padStart(8, "0")}\n`;
}

function create(path: string, shape: RowsShape, writeAt: NonNullable<FileRowsOptions["writeAt"]>): number {
  const bytes = fileBytes(shape);
  const file = made(path, () => {
    const { bavail, bsize } = statfsSync(dirname(path));
    if (bytes > bavail * bsize) throw full(path, `${formatBytes(bytes)}, and ${formatBytes(bavail * bsize)} are free`);
    return openSync(path, "wx+");
  });
  try {
    const header = new Uint8Array(HEADER);
    header.set(Buffer.from(headerText(shape)));
    const zeros = new Uint8Array(BLOCK);
    for (let at = HEADER; at < bytes; at += BLOCK) writeAt(file, zeros.subarray(0, Math.min(BLOCK, bytes - at)), at);
    writeAt(file, header, 0);
    fsyncSync(file);
    return file;
  } catch (error) {
    closeSync(file);
    unlinkSync(path);
    throw isFull(error) ? full(path, formatBytes(bytes), error) : error;
  }
}

/** What the file system makes of a path. Throws `replay-not-written`, and errors that are corral's own. */
function made<T>(path: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof CorralError) throw error;
    throw new CorralError(
      "replay-not-written",
      `${path} cannot be written (${reasonOf(error)}). ${remedyOf(error, "pass another replayFile, in a folder that is there")}`,
      { path, reason: reasonOf(error) },
      { cause: error },
    );
  }
}

function readAll(file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;) {
    const now = readSync(file, bytes, done, bytes.length - done, position + done);
    if (now === 0) throw new CorralError("bad-replay", `the file of a replay ends at byte ${position + done}.`);
    done += now;
  }
}

const full = (path: string, what: string, cause?: unknown): CorralError =>
  new CorralError(
    "disk-full",
    `the disk has no room for ${what} in ${path}. What was written before is intact. Free some space, or pass a smaller bufferSize or another replayFile.`,
    { path },
    { cause },
  );

const bad = (path: string, why: string): CorralError =>
  new CorralError(
    "bad-replay",
    `${path} cannot be gone on with: ${why}. What it was written by does not go on without it: begin anew, with another replayFile.`,
    {
      path,
    },
  );
