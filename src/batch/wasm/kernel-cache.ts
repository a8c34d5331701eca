// kernels as WebAssembly, emitted once: kept in the process by their trace, and in the cache folder by its digest
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheDir } from "../../core/cache-dir.ts";
import { digestOf, cacheValue, readCachedValue, sourcesIn } from "../../core/cached-values.ts";
import { timed } from "../../core/spans.ts";
import { digestOfTrace } from "../../trace/digest.ts";
import type { Trace } from "../../trace/graph.ts";
import { toWasm, type WasmKernel } from "../../trace/wasm/index.ts";
import { hasLaneSelect } from "../../trace/wasm/relaxed.ts";

/** The most kernels that are kept, and bytes of one. */
const LIMITS = { most: 512, mostBytes: 64 << 20, mostInAll: 1 << 30 };

const emitted = new WeakMap<Trace, WasmKernel>();

let emitter: string | undefined;

/** The folder of kernels; undefined if none are kept. */
function folder(): string | undefined {
  const given = process.env.CORRAL_MODEL_CACHE;
  if (given === "off") return undefined;
  try {
    return given && isAbsolute(given) ? `${given}-kernels` : join(cacheDir(), "kernels");
  } catch {
    return undefined;
  }
}

/** Resolves when kernels can be emitted: at once, but in pages. */
export const emitterReady = async (): Promise<void> => {};

/** A kernel of a trace. Throws what `toWasm` throws. */
export function emittedKernel(trace: Trace): WasmKernel {
  const before = emitted.get(trace);
  if (before) return before;
  const kernel = timed("emit", () => keptKernel(trace));
  emitted.set(trace, kernel);
  return kernel;
}

function keptKernel(trace: Trace): WasmKernel {
  const where = folder();
  if (where === undefined) return toWasm(trace);
  let file: string;
  try {
    // whoever emits is part of what is emitted, and so is what the engine knows
    const sources = sourcesIn(fileURLToPath(new URL("../../trace/", import.meta.url)));
    emitter ??= digestOf(...sources, hasLaneSelect() ? "lanes" : "bits");
    file = join(where, digestOf(emitter, digestOfTrace(trace)).slice(0, 40));
  } catch {
    return toWasm(trace);
  }
  const kept = readCachedValue(file) as WasmKernel | undefined;
  if (kept) return kept;
  const kernel = toWasm(trace);
  cacheValue(file, kernel, LIMITS);
  return kernel;
}
