// kernels as WebAssembly, emitted once in a page
import { timed } from "../../core/spans.ts";
import type { Trace } from "../../trace/graph.ts";
import type { toWasm as ToWasm, WasmKernel } from "../../trace/wasm/index.ts";

const emitted = new WeakMap<Trace, WasmKernel>();

let toWasm: typeof ToWasm;

/** Resolves when kernels can be emitted: pages that step on a GPU never load what emits them. */
export async function emitterReady(): Promise<void> {
  ({ toWasm } = await import("../../trace/wasm/index.ts"));
}

/** A kernel of a trace, once the emitter is ready. Throws what `toWasm` throws. */
export function emittedKernel(trace: Trace): WasmKernel {
  const kernel = emitted.get(trace) ?? timed("emit", () => toWasm(trace));
  emitted.set(trace, kernel);
  return kernel;
}
