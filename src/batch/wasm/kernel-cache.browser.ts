// kernels as WebAssembly, emitted once in a page
import { CorralError } from "../../core/errors.ts";
import { timed } from "../../core/spans.ts";
import type { Trace } from "../../trace/graph.ts";
import type { toWasm as ToWasm, WasmKernel } from "../../trace/wasm/index.ts";

const emitted = new WeakMap<Trace, WasmKernel>();

let toWasm: typeof ToWasm | undefined;

/** Resolves when kernels can be emitted: pages that step on a GPU never load what emits them. */
export async function emitterReady(): Promise<void> {
  ({ toWasm } = await import("../../trace/wasm/index.ts"));
}

/** A kernel of a trace, once the emitter is ready. Throws `emitter-not-ready`, and what `toWasm` throws. */
export function emittedKernel(trace: Trace): WasmKernel {
  const emit = toWasm;
  if (emit === undefined) {
    throw new CorralError(
      "emitter-not-ready",
      "what makes WebAssembly of kernels is not loaded in this page yet: await plan(model, options) in place of planSimulation(model, options), or make a batch before.",
    );
  }
  const kernel = emitted.get(trace) ?? timed("emit", () => emit(trace));
  emitted.set(trace, kernel);
  return kernel;
}
