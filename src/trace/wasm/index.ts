// back end: a trace as a WebAssembly module, four worlds a vector in float32 or two in float64; bit for bit what JavaScript computes
import type { Trace } from "../graph.ts";
import { analyse, type Liveness } from "../liveness.ts";
import { Bytes, I32, MAGIC, Section } from "./bytes.ts";
import { Emitter } from "./emitter.ts";
import { MemoryMap } from "./memory-map.ts";
import { MOST_PAGES } from "./pages.ts";
import { runBody } from "./run.ts";
import { PARAMETERS } from "./values.ts";

/** A kernel as a module, and the memory that it needs; addresses are multiples of 16. */
export interface WasmKernel {
  /** Imports the memory `corral.memory` (shared), exports `run(from, to, last, frame, pool)`: worlds [from, to), from a multiple of 4. */
  readonly module: Uint8Array<ArrayBuffer>;
  /** Buffers in the order of their addresses, with which a frame begins. */
  readonly buffers: readonly string[];
  /**
   * Offset in a frame of the addresses of two lists: the worlds of a shard in the order in which they run, and by world the
   * effort that its last run took. 0 for worlds as they are numbered.
   */
  readonly order: number;
  /** Offset in a frame of the parameters, four bytes each, in the order of the trace. */
  readonly params: number;
  /** Bytes of a frame, one for each thread. */
  readonly frameBytes: number;
  /** Tables and constants. */
  readonly pool: Int32Array<ArrayBuffer>;
}

/**
 * Emits a trace as a WebAssembly module.
 * @throws CorralError trace-exact, wasm-locals
 */
export function toWasm(trace: Trace, live: Liveness = analyse(trace)): WasmKernel {
  const map = new MemoryMap(trace, live);
  const { code, tellsEffort } = new Emitter(trace, live, map);
  const run = runBody(tellsEffort ? map.order : undefined, code.lanes.length);
  const types = (...lists: number[]) =>
    lists.reduce(
      (out, count) => out.byte(0x60).unsigned(count).append(new Uint8Array(count).fill(I32)).unsigned(0),
      new Bytes().unsigned(lists.length),
    );
  const sections: readonly (readonly [number, Bytes])[] = [
    [Section.type, types(PARAMETERS, PARAMETERS + 1)],
    // a shared memory has a maximum
    [Section.import, new Bytes().unsigned(1).name("corral").name("memory").byte(2, 3).unsigned(1).unsigned(MOST_PAGES)],
    [Section.function, new Bytes().unsigned(2).unsigned(0).unsigned(1)],
    [Section.export, new Bytes().unsigned(1).name("run").byte(0).unsigned(1)],
    [Section.code, new Bytes().unsigned(2).sized(code.body()).sized(run)],
  ];
  const module = new Bytes().byte(...MAGIC);
  for (const [id, section] of sections) module.byte(id).sized(section);
  return {
    module: module.all.slice(),
    buffers: map.buffers,
    order: map.order,
    params: map.params,
    frameBytes: map.end,
    pool: map.pool,
  };
}
