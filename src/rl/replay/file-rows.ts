// rows of a replay in a file. A header of one block says what it holds; then come the rows, world by world, each with its
// number and a checksum. The whole file is written at the start, so that the disk cannot run full in the middle of a run;
// should it, or should the process be killed, all rows but those being written are intact.
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readSync, statfsSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { CorralError } from "../../core/errors.ts";
import { formatApart, formatBytes } from "../../core/units.ts";
import { isFull, reasonOf, remedyOf, writeAll } from "../../core/write-bytes.ts";
import { rowWidth, type RowsShape } from "./host-rows.ts";
import { StepFlag } from "../tables/device-tables.ts";
import type { RowStore } from "./row-store.ts";
import { bad, DAMAGED, EMPTY, Slots } from "./row-slots.ts";

const MAGIC = "corral replay 1";
const HEADER = 4096;
/** Bytes before the floats of a row: its number and 1, and the checksum of all else. */
const STAMP = 8;
const BLOCK = 2 ** 20;
const PAGE = 4096;

export interface FileRowsOptions {
  /** Whether to go on with a file that is there; by default that is refused. */
  readonly reuse?: boolean;
  /** Writes at a place in the file; tests give one that fails. */
  readonly writeAt?: (file: number, bytes: Uint8Array, position: number) => void;
  /** Brings what was written to the disk; tests give one that only looks. */
  readonly sync?: (file: number) => void;
  /** Tell of damage only where the file is gone on with without a snapshot, which may not need those rows. */
  readonly defer?: boolean;
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
  readonly #sync: NonNullable<FileRowsOptions["sync"]>;
  #buffer = new Uint8Array(0);
  #written = 0;
  /** Of all worlds: a write that was cut short has taken the oldest rows of some. */
  #oldest = 0;
  /** What was there when the file was opened, until rows are written; and what is wrong with it unless a snapshot is put back. */
  #found: Slots | undefined;
  #damage: CorralError | undefined;

  private constructor(path: string, file: number, shape: RowsShape, { writeAt, sync }: FileRowsOptions) {
    this.path = path;
    this.#file = file;
    this.#worlds = shape.worlds;
    this.capacity = shape.capacity;
    this.width = rowWidth(shape);
    this.#rowBytes = rowBytes(shape);
    this.bytes = fileBytes(shape);
    this.#writeAt = writeAt ?? writeAll;
    this.#sync = sync ?? fsyncSync;
  }

  /**
   * Makes the file, all of it, or opens one and checks every row.
   * @throws CorralError replay-exists; replay-not-written if the file cannot be made or opened; disk-full before anything is made, or with what was made removed; bad-replay for a
   *   file of another shape or with rows that are not what was written
   */
  static open(path: string, shape: RowsShape, options: FileRowsOptions = {}): FileRows {
    const { reuse = false, writeAt, defer = false } = options;
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
      const rows = new FileRows(path, file, shape, options);
      if (exists) rows.#check(shape, defer);
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
    this.#assertWhole();
    this.#oldest = Math.max(this.#oldest, this.#written + values.length / this.width - this.capacity);
    this.#store(world, this.#written, values);
  }

  /** Rows of a world from a number on. */
  #store(world: number, number: number, values: Float32Array): void {
    const rows = values.length / this.width;
    const bytes = this.#room(rows);
    for (let i = 0; i < rows; i++) {
      const row = bytes.subarray(i * this.#rowBytes, (i + 1) * this.#rowBytes);
      const floats = values.subarray(i * this.width, (i + 1) * this.width);
      row.set(new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength), STAMP);
      const head = new DataView(row.buffer, row.byteOffset);
      head.setUint32(0, number + i + 1, true);
      head.setUint32(4, checksum(row, world), true);
    }
    for (const [done, now] of this.#runs(number, rows)) {
      const part = bytes.subarray(done * this.#rowBytes, (done + now) * this.#rowBytes);
      try {
        this.#writeAt(this.#file, part, this.#position(world, number + done));
      } catch (error) {
        throw isFull(error) ? full(this.path, `row ${number + done} of world ${world}`, error) : error;
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

  /** Looks at the header, at every row, and finds how many there are. */
  #check(shape: RowsShape, defer: boolean): void {
    const { size } = fstatSync(this.#file);
    const header = new Uint8Array(HEADER);
    if (size >= HEADER) readAll(this.#file, header, 0);
    const [text, wanted] = [Buffer.from(header).toString("utf8").replace(/\0+$/, ""), headerText(shape)];
    if (text !== wanted) {
      const what = text.startsWith(MAGIC) ? `holds ${text.split("\n")[1] ?? "nothing"}` : "is no replay";
      throw bad(this.path, `it ${what}, not ${wanted.split("\n")[1]}`);
    }
    if (size !== this.bytes) throw bad(this.path, `it has ${size} bytes, not ${this.bytes}: it was cut short`);

    const found = this.#scan();
    [this.#written, this.#oldest] = [found.written, found.oldestBefore(found.written)];
    const damage = found.damage();
    if (damage !== undefined && !defer) throw damage;
    [this.#found, this.#damage] = [found, damage];
  }

  /** What the slots of each world hold. */
  #scan(): Slots {
    const bytes = new Uint8Array(this.capacity * this.#rowBytes);
    const worlds = Array.from({ length: this.#worlds }, (_, world) => {
      readAll(this.#file, bytes, this.#position(world, 0));
      return Float64Array.from({ length: this.capacity }, (_, slot) =>
        numberOf(bytes.subarray(slot * this.#rowBytes, (slot + 1) * this.#rowBytes), world),
      );
    });
    return new Slots(this.path, this.capacity, worlds);
  }

  /** The rows stay in the file, on the disk from now on; a snapshot knows which there were. */
  copy(): Record<string, Uint32Array<ArrayBuffer>> {
    this.#assertWhole();
    made(this.path, () => this.#sync(this.#file));
    return { replay_written: Uint32Array.of(this.#written), replay_oldest: Uint32Array.of(this.#oldest) };
  }

  /**
   * Goes back to a snapshot. Rows that were written since are forgotten, while half of the snapshot's are there still; else
   * those in the file are gone on with. Says so where rows of the snapshot are gone.
   */
  put(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>): string | undefined {
    const end = copies.replay_written?.[0];
    const found = this.#found ?? this.#scan();
    if (end === undefined || end > found.written) {
      throw new CorralError(
        "bad-snapshot",
        `the snapshot was taken at row ${end ?? "?"}; ${this.path} has rows up to ${found.written}. Open the file that the run wrote: replayFile, with reuseReplay: true.`,
        { written: end, path: this.path },
      );
    }
    // rows that share a page of the disk with the newest, or are cut by its end
    const ahead = Math.min(Math.ceil(PAGE / this.#rowBytes), Math.floor(this.capacity / 2));
    const damage = found.damage(end, ahead);
    if (damage !== undefined) throw damage;

    const first = copies.replay_oldest?.[0] ?? Math.max(0, end - this.capacity);
    const had = end - first;
    const left = end - Math.max(first, found.oldestBefore(end));
    const goesBack = 2 * left >= had;
    this.#written = goesBack ? end : found.written;
    this.#oldest = found.oldestBefore(this.#written);
    // so that a file which is opened later does not go on with them
    this.#empty(found);
    if (!goesBack) this.#break();
    [this.#found, this.#damage] = [undefined, undefined];
    if (left === had) return undefined;
    const gone = `${had - left} of the ${had} transitions of each world that the replay had then are gone`;
    return goesBack
      ? `${gone}: rows written later had taken their places`
      : `${gone}; it goes on with the ${this.#written - this.#oldest} that were written last`;
  }

  /** Empties slots that hold no row before `written`. */
  #empty({ worlds }: Slots): void {
    const empty = new Uint8Array(this.#rowBytes);
    worlds.forEach((numbers, world) =>
      numbers.forEach((number, slot) => {
        if (number >= this.#written || number === DAMAGED)
          this.#writeAt(this.#file, empty, this.#position(world, slot));
      }),
    );
  }

  /** Ends all episodes at the newest row, which what comes next does not follow: no sample starts there. */
  #break(): void {
    const row = new Float32Array(this.width);
    const last = this.#written - 1;
    for (let world = 0; world < this.#worlds; world++) {
      for (const [number, flag] of [
        [last - 1, StepFlag.truncated],
        [last, StepFlag.skipped],
      ] as const) {
        if (number < this.#oldest) continue;
        this.read(world, number, row);
        if (number === last || row[this.width - 1] === 0) row[this.width - 1] = flag;
        this.#store(world, number, row);
      }
    }
  }

  /** Throws `bad-replay` if a file was opened with damage, and is to be gone on with as it is. */
  #assertWhole(): void {
    if (this.#damage) throw this.#damage;
    this.#found = undefined;
  }

  close(): void {
    try {
      fsyncSync(this.#file);
    } finally {
      closeSync(this.#file);
    }
  }
}

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
    const [needed, free] = formatApart(bytes, bavail * bsize);
    if (bytes > bavail * bsize) throw full(path, `${needed}, and ${free} are free`);
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
