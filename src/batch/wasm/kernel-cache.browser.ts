// kernels as WebAssembly, emitted once in a page
import { timed } from "../../core/spans.ts";
import type { Trace } from "../../trace/graph.ts";
import { toWasm, type WasmKernel } from "../../trace/wasm/index.ts";

const emitted = new WeakMap<Trace, WasmKernel>();

/** A kernel of a trace. Throws what `toWasm` throws. */
export function emittedKernel(trace: Trace): WasmKernel {
  const kernel = emitted.get(trace) ?? timed("emit", () => toWasm(trace));
  emitted.set(trace, kernel);
  return kernel;
}
