// reads GPU buffers back through a ring of staging buffers that are made once
import { CorralError } from "../core/errors.ts";
import { BufferUsage, MapMode } from "./constants.ts";
import type { GpuDevice } from "./device.ts";
import { createBuffer } from "./scopes.ts";
import { waitFor } from "./waiter.ts";

/** One region to read: `size` bytes from `offset`, copied to the start of `into`. Both are multiples of 4. */
export interface ReadRegion {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly size: number;
  readonly into: ArrayBufferView;
}

/** How many staging buffers, and the bytes of each (a multiple of 4). */
export interface StagingOptions {
  readonly slots?: number;
  readonly slotBytes: number;
  readonly label?: string;
}

/** One piece of a region, small enough for what is left of a slot. */
interface Piece {
  readonly region: ReadRegion;
  readonly from: number;
  readonly at: number;
  readonly size: number;
}

/**
 * A staging ring. Reads that are under way at the same time take different slots; when all are taken a read waits for
 * the next free one. Regions larger than a slot are read in pieces.
 */
export class Readback {
  /** Bytes of GPU memory that the ring holds. */
  readonly bytes: number;
  readonly #gpu: GpuDevice;
  readonly #slotBytes: number;
  readonly #slots: readonly GPUBuffer[];
  readonly #free: GPUBuffer[];
  readonly #queue: ((slot: GPUBuffer) => void)[] = [];

  /** Takes staging buffers that were made elsewhere, all of one size, with usage `Readback.usage`. */
  constructor(gpu: GpuDevice, slots: readonly GPUBuffer[]) {
    this.#gpu = gpu;
    this.#slots = slots;
    this.#free = [...slots];
    this.#slotBytes = slots[0].size;
    this.bytes = slots.reduce((sum, slot) => sum + slot.size, 0);
  }

  /** Usage flags of a staging buffer. */
  static readonly usage = BufferUsage.MAP_READ | BufferUsage.COPY_DST;

  /** Makes the staging buffers in error scopes. Throws `GpuCreationError`; nothing is left behind. */
  static async create(gpu: GpuDevice, { slots = 2, slotBytes, label = "readback" }: StagingOptions): Promise<Readback> {
    const made: GPUBuffer[] = [];
    try {
      for (let i = 0; i < slots; i++) made.push(await createBuffer(gpu, `${label}.${i}`, slotBytes, Readback.usage));
    } catch (error) {
      for (const buffer of made) buffer.destroy();
      throw error;
    }
    return new Readback(gpu, made);
  }

  /** Reads `size` bytes from `offset` of `buffer` into `into`. */
  read(buffer: GPUBuffer, offset: number, size: number, into: ArrayBufferView): Promise<void> {
    return this.readAll([{ buffer, offset, size, into }]);
  }

  /**
   * Reads several regions, in one submission if they fit a slot together. They are copied after everything that was
   * submitted before the call; if they need more than the free slots, the rest is copied later: do not overwrite a
   * region before the call has ended. Throws `readback-range` before anything is submitted, `readback-failed` or
   * `DeviceLostError`.
   */
  async readAll(regions: readonly ReadRegion[]): Promise<void> {
    this.#gpu.assertUsable("read a buffer");
    for (const region of regions) checkRegion(region);
    const loads = pack(regions, this.#slotBytes);

    // all have ended before the first failure is thrown: nothing writes into the arrays after this call
    const ended = await Promise.allSettled(loads.map((load) => this.#readLoad(load)));
    for (const end of ended) if (end.status === "rejected") throw end.reason;
  }

  /** True while part of a read waits for a slot and is not copied yet: work that is submitted now comes before it. */
  get isWaiting(): boolean {
    return this.#queue.length > 0;
  }

  /** Destroys the staging buffers. Reads under way reject. */
  close(): void {
    for (const slot of this.#slots) slot.destroy();
  }

  async #readLoad(load: readonly Piece[]): Promise<void> {
    const slot = this.#free.pop() ?? (await new Promise<GPUBuffer>((resolve) => this.#queue.push(resolve)));
    try {
      this.#gpu.assertUsable("read a buffer");
      const used = await this.#copyAndMap(load, slot);
      const mapped = slot.getMappedRange(0, used);
      for (const piece of load) store(piece, mapped);
    } catch (cause) {
      this.#gpu.assertUsable("read a buffer");
      throw readFailed(load, (cause as Error).message || (cause as Error).name, cause);
    } finally {
      slot.unmap();
      const next = this.#queue.shift();
      if (next) next(slot);
      else this.#free.push(slot);
    }
  }

  /** Returns how many bytes of the slot are mapped. */
  async #copyAndMap(load: readonly Piece[], slot: GPUBuffer): Promise<number> {
    const { device } = this.#gpu;

    // a copy that Dawn refuses (of a destroyed buffer, say) would leave the last read's bytes in the slot
    device.pushErrorScope("validation");
    const encoder = device.createCommandEncoder({ label: "readback" });
    for (const { region, from, at, size } of load) encoder.copyBufferToBuffer(region.buffer, from, slot, at, size);
    device.queue.submit([encoder.finish()]);
    const scope = device.popErrorScope();

    const last = load[load.length - 1];
    const used = last.at + last.size;
    const [refused] = await waitFor(Promise.all([scope, slot.mapAsync(MapMode.READ, 0, used)]));
    if (refused) throw new Error(refused.message.trim().split("\n")[0]);
    return used;
  }
}

function readFailed(load: readonly Piece[], why: string, cause: unknown): CorralError {
  const labels = [...new Set(load.map(({ region }) => `'${region.buffer.label}'`))].join(", ");
  return new CorralError("readback-failed", `reading ${labels} failed: ${why}`, {}, { cause });
}

function checkRegion({ buffer, offset, size, into }: ReadRegion): void {
  const wrong = (text: string) => {
    throw new CorralError("readback-range", `buffer '${buffer.label}': ${text}`, { offset, size });
  };
  if (!Number.isInteger(offset) || offset < 0 || offset % 4 !== 0) wrong(`offset ${offset} is not a multiple of 4.`);
  if (!Number.isInteger(size) || size < 0 || size % 4 !== 0) wrong(`size ${size} is not a multiple of 4.`);
  if (!(buffer.usage & BufferUsage.COPY_SRC)) wrong("it was not made to be copied from (COPY_SRC).");
  if (offset + size > buffer.size) wrong(`bytes ${offset} to ${offset + size} pass its end at ${buffer.size}.`);
  if (into.byteLength < size) wrong(`${size} bytes do not fit an array of ${into.byteLength} bytes.`);
}

/** Cuts regions into pieces and groups the pieces by slot, in order. */
function pack(regions: readonly ReadRegion[], slotBytes: number): Piece[][] {
  const loads: Piece[][] = [];
  let room = 0;
  for (const region of regions) {
    for (let done = 0; done < region.size;) {
      if (room === 0) {
        loads.push([]);
        room = slotBytes;
      }
      const size = Math.min(room, region.size - done);
      loads[loads.length - 1].push({ region, from: region.offset + done, at: slotBytes - room, size });
      room -= size;
      done += size;
    }
  }
  return loads;
}

function store({ region, from, at, size }: Piece, mapped: ArrayBuffer): void {
  const { into, offset } = region;
  const target = new Uint8Array(into.buffer, into.byteOffset + (from - offset), size);
  target.set(new Uint8Array(mapped, at, size));
}
