// the adapter of a browser: it chooses, a page only says whether it wants speed
import { AdapterUnavailableError, CorralError } from "../core/errors.ts";
import type { OpenAdapter } from "./adapter.ts";

/** What a page may ask for: `gpu` refuses a software adapter. */
const OFFERED = ["auto", "gpu"];

const NONE: Record<"api" | "adapter" | "software", string> = {
  api: "this browser has no WebGPU here: Chrome and Edge 113, Firefox 141 and Safari 26 have it, in secure pages (https:// or localhost)",
  adapter: "this browser has WebGPU but no adapter for it: graphics acceleration is off, or the GPU is blocked",
  software: "this browser computes WebGPU in software",
};

/** What is asked for. */
export const adapterChoice = (option?: string | number): string => String(option ?? "auto").trim();

/**
 * Opens the browser's adapter.
 * @throws AdapterUnavailableError adapter-unavailable
 * @throws CorralError adapter-unknown
 */
export async function openAdapter(option?: string | number): Promise<OpenAdapter> {
  const choice = adapterChoice(option);
  if (!OFFERED.includes(choice)) {
    throw new CorralError(
      "adapter-unknown",
      `adapter is '${choice}': a page cannot choose among adapters. Use one of ${OFFERED.join(", ")}.`,
      { choice, adapters: [] },
    );
  }
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  const reason = !navigator.gpu
    ? NONE.api
    : !adapter
      ? NONE.adapter
      : choice === "gpu" && adapter.info.isFallbackAdapter
        ? NONE.software
        : undefined;
  if (reason === undefined) return { adapter: adapter!, source: "system", refusals: [] };
  throw new AdapterUnavailableError(
    "adapter-unavailable",
    `no WebGPU adapter for '${choice}' (${reason}). Use device: "wasm".`,
    { choice, refusals: [{ choice, reason }] },
  );
}

let fast: Promise<boolean> | undefined;

/** Whether there is a GPU: WebAssembly is faster than a browser's software adapter. Looked for once. */
export function hasFastAdapter(): Promise<boolean> {
  fast ??= openAdapter("gpu").then(
    () => true,
    () => false,
  );
  return fast;
}
