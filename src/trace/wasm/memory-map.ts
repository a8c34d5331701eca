// where a kernel finds things: addresses of buffers and parameters, private arrays, tables and constants
import type { Trace } from "../graph.ts";
import type { ArrayRef, BufferRef, ParamRef, TableRef } from "../nodes.ts";
import type { Liveness } from "../liveness.ts";
import { helpers } from "../operations.ts";

/** Bytes of a vector: the values of four worlds. */
export const VECTOR = 16;

/** Where the first number of a table is in the pool, and how far each next one is from it. */
export interface TablePlace {
  readonly offset: number;
  readonly bytes: Stride;
}

/** Bytes between what has one index and the next. */
export type Stride = 4 | 8 | 16;

/**
 * Offsets in the frame of a kernel, one for each thread: addresses of buffers, parameters, private arrays with one element
 * more, which indices without a place in them read and write.
 */
export class FrameMap {
  readonly buffers: readonly string[];
  /** Offset in the frame of the addresses of two lists of words: worlds in the order in which they run, and their effort. */
  readonly order: number;
  /** Offset of the first parameter in the frame. */
  readonly params: number;
  /** Offsets of the private arrays that are zero at the start; scratch follows them. */
  readonly zeroed: { readonly from: number; readonly to: number };
  /** Where the last private array ends. */
  readonly end: number;
  readonly #arrayAt = new Map<ArrayRef, number>();
  readonly #refs: readonly BufferRef[];

  /** `element`: the bytes of an element of an array. */
  constructor(trace: Trace, live: Liveness, element: number) {
    this.#refs = trace.buffers;
    this.buffers = trace.buffers.map((b) => b.name);
    this.order = 4 * trace.buffers.length;
    this.params = this.order + 8;
    const from = Math.ceil((this.params + 4 * trace.params.length) / VECTOR) * VECTOR;
    let at = from;
    const place = (arrays: readonly ArrayRef[]) => {
      for (const a of arrays) {
        if (!live.liveArrays.has(a.id)) continue;
        this.#arrayAt.set(a, at);
        at += (a.length + 1) * element;
      }
      return at;
    };
    this.zeroed = { from, to: place(trace.arrays.filter((a) => !a.isScratch)) };
    this.end = Math.ceil(place(trace.arrays.filter((a) => a.isScratch)) / VECTOR) * VECTOR;
  }

  /** Offset of a buffer's address in the frame. */
  buffer(ref: BufferRef): number {
    return 4 * this.#refs.indexOf(ref);
  }

  param(ref: ParamRef): number {
    return this.params + 4 * ref.slot;
  }

  array(ref: ArrayRef): number {
    return this.#arrayAt.get(ref)!;
  }
}

/** Offsets in the two blocks of memory of a kernel: its frame, and its pool, which is shared: tables, then constants. */
export class MemoryMap extends FrameMap {
  readonly #tableAt = new Map<TableRef, TablePlace>();
  /** Words of all tables. */
  readonly #tableWords: number;
  readonly #words: number[] = [];
  readonly #constants = new Map<number, number>();

  constructor(trace: Trace, live: Liveness) {
    super(trace, live, VECTOR);
    let end = 0;
    for (const columns of columnsOf(trace.tables)) {
      const bytes: Stride = columns.length > 2 ? 16 : columns.length === 2 ? 8 : 4;
      columns.forEach((t, k) => this.#tableAt.set(t, { offset: 4 * (end + k), bytes }));
      end += (bytes / 4) * columns[0].values.length;
    }
    this.#tableWords = end;
  }

  /** Where a table is in the pool. */
  table(ref: TableRef): TablePlace {
    return this.#tableAt.get(ref)!;
  }

  /** Offset of a word in the pool. */
  constant(bits: number): number {
    let at = this.#constants.get(bits);
    if (at === undefined) {
      at = 4 * (this.#tableWords + this.#words.length);
      this.#words.push(bits);
      this.#constants.set(bits, at);
    }
    return at;
  }

  get pool(): Int32Array<ArrayBuffer> {
    const pool = new Int32Array(this.#tableWords + this.#words.length);
    const floats = new Float32Array(pool.buffer);
    for (const [{ type, values }, { offset, bytes }] of this.#tableAt) {
      const words = type === "f32" ? floats : pool;
      if (bytes === 4) words.set(values, offset / 4);
      else for (let i = 0, at = offset / 4; i < values.length; i++, at += bytes / 4) words[at] = values[i];
    }
    pool.set(this.#words, this.#tableWords);
    return pool;
  }
}

/**
 * Tables by what lies side by side: those of one length whose names differ in the digit at their end, four at most, are
 * read at one index, and are in one line of a cache.
 */
function columnsOf(tables: readonly TableRef[]): TableRef[][] {
  const all: TableRef[][] = [];
  const open = new Map<string, TableRef[]>();
  for (const t of tables) {
    const key = `${t.name.replace(/\d$/, "")} ${t.values.length}`;
    let columns = /\d$/.test(t.name) ? open.get(key) : undefined;
    if (columns === undefined || columns.length === 4) {
      columns = [];
      all.push(columns);
      open.set(key, columns);
    }
    columns.push(t);
  }
  return all;
}

/** The bits of a float32, as a signed word. */
export const bitsOf = (x: number): number => helpers.bitsOf(Math.fround(x)) | 0;
