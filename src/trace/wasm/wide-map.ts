// where a kernel in float64 finds things: elements of arrays and of tables have places of eight bytes
import type { Liveness } from "../liveness.ts";
import type { Trace } from "../graph.ts";
import type { TableRef } from "../nodes.ts";
import { FrameMap } from "./memory-map.ts";

/** Bytes of an element of a private array or of a table, whatever its type. */
export const PLACE = 8;

export class WideMap extends FrameMap {
  readonly pool: Int32Array<ArrayBuffer>;
  readonly #tableAt = new Map<TableRef, number>();

  constructor(trace: Trace, live: Liveness) {
    super(trace, live, PLACE);
    const count = trace.tables.reduce((sum, t) => sum + t.values.length, 0);
    const bytes = new DataView(new ArrayBuffer(count * PLACE));
    let next = 0;
    for (const t of trace.tables) {
      this.#tableAt.set(t, next);
      for (const value of Array.from(t.values)) {
        if (t.type === "f32") bytes.setFloat64(next, value, true);
        else bytes.setInt32(next, value, true);
        next += PLACE;
      }
    }
    this.pool = new Int32Array(bytes.buffer);
  }

  /** Offset of a table in the pool. */
  table(ref: TableRef): number {
    return this.#tableAt.get(ref)!;
  }
}
