// what is said of kernels that are longer than an engine of WebAssembly takes
import { CorralError } from "../../core/errors.ts";
import { formatBytes } from "../../core/units.ts";

/** How V8 says so. */
const LONGEST = /size (\d+) > maximum (?:function|module) size (\d+)/;

/** Whether no flags would help. */
export const isTooLong = (error: unknown): boolean => LONGEST.test(String(error));

/** A module of a batch, compiled. Throws kernel-too-large where a function is longer than the engine takes. */
export function compiledFor(name: string, compile: () => WebAssembly.Module): WebAssembly.Module {
  try {
    return compile();
  } catch (error) {
    const found = LONGEST.exec(String(error));
    if (!found) throw error;
    const [bytes, most] = [Number(found[1]), Number(found[2])];
    throw new CorralError(
      "kernel-too-large",
      `${name} takes a kernel of ${formatBytes(bytes)} in one function, and WebAssembly takes ${formatBytes(most)} here. Pass device: "cpu" (slower, the same bits), or make the model smaller: corral check-model says what it costs.`,
      { bytes, most },
      { cause: error },
    );
  }
}
