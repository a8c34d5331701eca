// where a kernel in float64 finds things: its frame and its pool are laid out as those of `MemoryMap`, in places of eight bytes
import type { Liveness } from "../liveness.ts";
import type { Trace } from "../graph.ts";
import type { ArrayRef, BufferRef, ParamRef, TableRef } from "../nodes.ts";

/** Bytes of an element of a private array or of a table, whatever its type. */
export const PLACE = 8;

export class WideMap {
  readonly buffers: readonly string[];
  readonly order: number;
  readonly params: number;
  /** Offsets of the private arrays that are zero at the start; scratch follows them. */
  readonly zeroed: { readonly from: number; readonly to: number };
  readonly end: number;
  readonly pool: Int32Array<ArrayBuffer>;
  readonly #arrayAt = new Map<ArrayRef, number>();
  readonly #tableAt = new Map<TableRef, number>();
  readonly #refs: readonly BufferRef[];

  constructor(trace: Trace, live: Liveness) {
    this.#refs = trace.buffers;
    this.buffers = trace.buffers.map((b) => b.name);
    this.order = 4 * trace.buffers.length;
    this.params = this.order + 8;
    const from = Math.ceil((this.params + 4 * trace.params.length) / 16) * 16;
    let at = from;
    const place = (arrays: readonly ArrayRef[]) => {
      for (const a of arrays) {
        if (!live.liveArrays.has(a.id)) continue;
        this.#arrayAt.set(a, at);
        // the element after the last is that of indices that are out of range
        at += (a.length + 1) * PLACE;
      }
      return at;
    };
    this.zeroed = { from, to: place(trace.arrays.filter((a) => !a.isScratch)) };
    this.end = Math.ceil(place(trace.arrays.filter((a) => a.isScratch)) / 16) * 16;

    const count = trace.tables.reduce((sum, t) => sum + t.values.length, 0);
    const bytes = new DataView(new ArrayBuffer(count * PLACE));
    let next = 0;
    for (const t of trace.tables) {
      this.#tableAt.set(t, next);
      for (const value of t.values) {
        if (t.type === "f32") bytes.setFloat64(next, value, true);
        else bytes.setInt32(next, value, true);
        next += PLACE;
      }
    }
    this.pool = new Int32Array(bytes.buffer);
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
    return this.#tableAt.get(ref)!;
  }
}
