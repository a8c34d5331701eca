// where a kernel finds things: addresses of buffers and parameters, private arrays, tables and constants
import type { Trace } from "../graph.ts";
import type { ArrayRef, BufferRef, ParamRef, TableRef } from "../nodes.ts";
import type { Liveness } from "../liveness.ts";
import { helpers, type Type } from "../operations.ts";
import type { Bits } from "./code.ts";

/** Bytes of a vector: the values of four worlds, or of two in float64. */
export const VECTOR = 16;

/** Where the first number of a table is in the pool, and how far each next one is from it. */
export interface TablePlace {
  readonly offset: number;
  readonly bytes: Stride;
  /** Which of the numbers that lie side by side it is. */
  readonly column: number;
}

/** Bytes between what has one index and the next. */
export type Stride = 4 | 8 | 16 | 32;

/**
 * Offsets in the two blocks of memory of a kernel. Its frame, one for each thread: addresses of buffers, parameters, private
 * arrays with one element more, which indices without a place in them read and write. Its pool, which is shared: tables, then
 * constants.
 */
export class MemoryMap {
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
  readonly #isWide: boolean;
  readonly #tableAt = new Map<TableRef, TablePlace>();
  /** Words of all tables. */
  #tableWords = 0;
  /** Constants. */
  readonly #words: number[] = [];
  readonly #constants = new Map<Bits, number>();

  constructor(trace: Trace, live: Liveness) {
    this.#isWide = trace.wide;
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
        at += (a.length + 1) * VECTOR;
      }
      return at;
    };
    this.zeroed = { from, to: place(trace.arrays.filter((a) => !a.isScratch)) };
    this.end = Math.ceil(place(trace.arrays.filter((a) => a.isScratch)) / VECTOR) * VECTOR;
    this.#placeTables(trace.tables);
  }

  #placeTables(tables: readonly TableRef[]): void {
    const lane = this.#isWide ? 8 : 4;
    let end = 0;
    for (const columns of columnsOf(tables)) {
      const bytes = (lane * (columns.length > 2 ? 4 : columns.length)) as Stride;
      columns.forEach((t, k) => this.#tableAt.set(t, { offset: end + lane * k, bytes, column: k }));
      end += bytes * columns[0].values.length;
    }
    this.#tableWords = end / 4;
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

  /** Where a table is in the pool. */
  table(ref: TableRef): TablePlace {
    return this.#tableAt.get(ref)!;
  }

  /** Offset of a number's bits in the pool. */
  constant(bits: Bits): number {
    let at = this.#constants.get(bits);
    if (at === undefined) {
      at = 4 * (this.#tableWords + this.#words.length);
      if (typeof bits === "number") this.#words.push(bits);
      else this.#words.push(Number(BigInt.asIntN(32, bits)), Number(bits >> 32n));
      this.#constants.set(bits, at);
    }
    return at;
  }

  get pool(): Int32Array<ArrayBuffer> {
    const pool = new Int32Array(this.#tableWords + this.#words.length);
    const floats = this.#isWide ? new Float64Array(pool.buffer) : new Float32Array(pool.buffer);
    for (const [{ type, values }, { offset, bytes }] of this.#tableAt) {
      if (type === "f32") {
        const size = floats.BYTES_PER_ELEMENT;
        fill(floats, values, offset / size, bytes / size);
      } else for (const half of this.#isWide ? [0, 1] : [0]) fill(pool, values, offset / 4 + half, bytes / 4);
    }
    pool.set(this.#words, this.#tableWords);
    return pool;
  }
}

/** Writes values at every so many elements, from one on. */
function fill(
  into: Int32Array | Float32Array | Float64Array,
  values: ArrayLike<number>,
  from: number,
  step: number,
): void {
  if (step === 1) into.set(values, from);
  else for (let i = 0, at = from; i < values.length; i++, at += step) into[at] = values[i];
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

const double = new DataView(new ArrayBuffer(8));

/** The bits of a number in a lane, signed. */
export function bitsOf(value: number, type: Type, isWide: boolean): Bits {
  if (!isWide) return type === "f32" ? helpers.bitsOf(Math.fround(value)) | 0 : value | 0;
  if (type === "f32") double.setFloat64(0, value);
  else for (const half of [0, 4]) double.setInt32(half, value | 0);
  return double.getBigInt64(0);
}
