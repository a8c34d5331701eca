// GPU time of compute passes, if the device has `timestamp-query`
import { CorralError } from "../core/errors.ts";
import { BufferUsage } from "./constants.ts";
import type { GpuDevice } from "./device.ts";
import { Readback } from "./readback.ts";
import { createBuffer, inScopes } from "./scopes.ts";

const BYTES_PER_STAMP = 8;

/** Measures up to `capacity` compute passes between two reads. */
export class PassTimer {
  readonly #set: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #readback: Readback;
  readonly #capacity: number;
  #used = 0;

  private constructor(set: GPUQuerySet, resolved: GPUBuffer, readback: Readback, capacity: number) {
    this.#set = set;
    this.#resolved = resolved;
    this.#readback = readback;
    this.#capacity = capacity;
  }

  /** Makes the timer. Throws `no-timestamps` on a device without them, or `GpuCreationError`. */
  static async create(gpu: GpuDevice, capacity = 64): Promise<PassTimer> {
    if (!gpu.features.has("timestamp-query")) {
      throw new CorralError("no-timestamps", `${gpu.info.driver} cannot time its work. Time on the CPU instead.`);
    }
    const count = 2 * capacity;
    const bytes = count * BYTES_PER_STAMP;
    const set = await inScopes(gpu, { what: "query set 'timestamps'", bytes }, () =>
      gpu.device.createQuerySet({ label: "timestamps", type: "timestamp", count }),
    );
    const usage = BufferUsage.QUERY_RESOLVE | BufferUsage.COPY_SRC;
    const resolved = await createBuffer(gpu, "timestamps", bytes, usage);
    const readback = await Readback.create(gpu, { slots: 1, slotBytes: bytes, label: "timestamps.readback" });
    return new PassTimer(set, resolved, readback, capacity);
  }

  /** What to pass as `timestampWrites` of the next compute pass. Throws `too-many-passes`. */
  next(): GPUComputePassTimestampWrites {
    if (this.#used === this.#capacity) {
      throw new CorralError("too-many-passes", `the timer holds ${this.#capacity} passes. Read it, or make it larger.`);
    }
    const first = 2 * this.#used++;
    return { querySet: this.#set, beginningOfPassWriteIndex: first, endOfPassWriteIndex: first + 1 };
  }

  /** To be encoded after the passes, in the same or a later submission. */
  resolve(encoder: GPUCommandEncoder): void {
    if (this.#used > 0) encoder.resolveQuerySet(this.#set, 0, 2 * this.#used, this.#resolved, 0);
  }

  /** Nanoseconds of each pass since the last read, in order; the timer starts over. */
  async read(): Promise<number[]> {
    const stamps = new BigUint64Array(2 * this.#used);
    this.#used = 0;
    if (stamps.length > 0) await this.#readback.read(this.#resolved, 0, stamps.byteLength, stamps);
    return Array.from({ length: stamps.length / 2 }, (_, i) => Number(stamps[2 * i + 1] - stamps[2 * i]));
  }

  /** Returns its GPU memory. */
  close(): void {
    this.#set.destroy();
    this.#resolved.destroy();
    this.#readback.close();
  }
}
