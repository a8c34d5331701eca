// the default budget of a device where a page runs: browsers tell little of memory, so it is small; a budget says more
import type { AdapterInfo } from "./device.ts";
import type { MemoryInfo } from "./memory-info.ts";

/** Of the machine's memory, which the page shares with all else. */
const SHARE = 0.25;
/** What machines have that tell nothing, in GiB. */
const UNKNOWN_GIB = 4;
/** Without any knowledge: what every GPU of the last ten years has. */
const GPU_BYTES = 1024 ** 3;

/** The default budget for the adapter. */
export const memoryInfo = async ({ kind }: AdapterInfo): Promise<MemoryInfo> =>
  kind === "software"
    ? ofHost()
    : {
        bytes: GPU_BYTES,
        available: undefined,
        source: "a constant, since no page is told a GPU's memory (pass a budget)",
      };

/** The budget on a device that computes in the machine's own memory. */
export function ofHost(): MemoryInfo {
  // in GiB, rounded, 8 at most; Chrome alone tells
  const told = (navigator as { readonly deviceMemory?: number }).deviceMemory;
  const available = (told ?? UNKNOWN_GIB) * 1024 ** 3;
  const of = told === undefined ? `${UNKNOWN_GIB} GiB, a guess` : "the memory that the browser tells of";
  return { bytes: Math.floor(SHARE * available), available, source: `${100 * SHARE} % of ${of} (pass a budget)` };
}
