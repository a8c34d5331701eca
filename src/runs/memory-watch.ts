// memory that runs short while a run trains: other programs take it, and the run allocates nothing but its copies
import { formatBytes } from "../core/units.ts";
import { hostMemory, type MemoryBound } from "../gpu/host-memory.ts";

/** Below the first no copy is taken, from the second on they are taken again. */
const LOW = 2 ** 28;
const ENOUGH = 2 ** 29;
/** Milliseconds between two looks: each reads files of the kernel. */
const EVERY = 1000;

/** Watches the memory that this process may still take. */
export class MemoryWatch {
  readonly #available: () => MemoryBound;
  readonly #now: () => number;
  #next = -Infinity;
  #low = false;

  constructor(available = (): MemoryBound => hostMemory()[0], now = () => performance.now()) {
    this.#available = available;
    this.#now = now;
  }

  /** Whether memory is short. */
  get isLow(): boolean {
    return this.#low;
  }

  /** Looks, at most once a second. Returns what there is to say where memory has become short, or has come back. */
  look(): string | undefined {
    if (this.#now() < this.#next) return undefined;
    this.#next = this.#now() + EVERY;
    const { bytes, source } = this.#available();
    const wasLow = this.#low;
    this.#low = bytes < (wasLow ? ENOUGH : LOW);
    if (this.#low === wasLow) return undefined;
    const left = `${formatBytes(bytes)} of memory left (${source})`;
    return this.#low
      ? `${left}: no copies on the host until there are ${formatBytes(ENOUGH)}. Where the device is lost, the run goes on from the last one; end other programs, or train fewer worlds`
      : `${left}: copies on the host are taken again`;
  }
}
