// where a kernel finds things: addresses of buffers and parameters, private arrays, tables and constants
import type { Trace } from "../graph.ts";
import type { ArrayRef, BufferRef, ParamRef, TableRef } from "../nodes.ts";
import type { Liveness } from "../liveness.ts";
import { helpers } from "../operations.ts";

/** Bytes of a vector: the values of four worlds. */
export const VECTOR = 16;

/**
 * Offsets in the two blocks of memory of a kernel. Its frame, one for each thread: addresses of buffers, parameters,
 * private arrays (a vector for each element, and one more that lanes without a place write to). Its pool, shared:
 * tables, then constants.
 */
export class MemoryMap {
  readonly buffers: readonly string[];
  /** Offset of the first parameter in the frame. */
  readonly params: number;
  /** Offsets of the private arrays that are zero at the start; scratch follows them. */
  readonly zeroed: { readonly from: number; readonly to: number };
  /** Where the last private array ends. */
  readonly end: number;
  readonly #arrayAt = new Map<ArrayRef, number>();
  readonly #tableAt: Record<"f32" | "i32", number>;
  readonly #words: number[] = [];
  readonly #constants = new Map<number, number>();
  readonly #refs: readonly BufferRef[];

  constructor(trace: Trace, live: Liveness) {
    this.#refs = trace.buffers;
    this.buffers = trace.buffers.map((b) => b.name);
    this.params = 4 * trace.buffers.length;
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
    this.end = place(trace.arrays.filter((a) => a.isScratch));
    const placeTables = (type: "f32" | "i32") => {
      const start = 4 * this.#words.length;
      for (const t of trace.tables) {
        if (t.type === type) for (const x of t.values) this.#words.push(type === "f32" ? bitsOf(x) : x | 0);
      }
      return start;
    };
    this.#tableAt = { f32: placeTables("f32"), i32: placeTables("i32") };
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

  /** Offset of a table in the pool. */
  table(ref: TableRef): number {
    return this.#tableAt[ref.type] + 4 * ref.offset;
  }

  /** Offset of a word in the pool. */
  constant(bits: number): number {
    let at = this.#constants.get(bits);
    if (at === undefined) {
      at = 4 * this.#words.length;
      this.#words.push(bits);
      this.#constants.set(bits, at);
    }
    return at;
  }

  get pool(): Int32Array<ArrayBuffer> {
    return Int32Array.from(this.#words);
  }
}

/** The bits of a float32, as a signed word. */
export const bitsOf = (x: number): number => helpers.bitsOf(Math.fround(x)) | 0;
