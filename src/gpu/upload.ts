// writes to buffers with little on the way at a time. A driver stages what `writeBuffer` is given in memory of its own,
// and loses the device if it finds none: large data goes in pieces, each waited for.
import type { GpuDevice } from "./device.ts";
import type { GuardedQueue } from "./guarded-queue.ts";

/** Bytes of one write. */
const PIECE = 2 ** 20;

/** Bytes that may be on their way: as much as Dawn keeps for staging. */
const MOST = 4 * PIECE;

/** The writes of one owner, in order. */
export class Uploader {
  readonly #gpu: GpuDevice;
  readonly #queue: GuardedQueue;
  /** Bytes written, and of those the bytes that have arrived. */
  #written = 0;
  #arrived = 0;
  #waiting: Promise<void> | undefined;

  constructor(gpu: GpuDevice, queue: GuardedQueue) {
    this.#gpu = gpu;
    this.#queue = queue;
  }

  /** True while data waits for its turn: work that is submitted now comes before it. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined;
  }

  /**
   * Writes `data` from byte `offset` on. Small data is queued when this returns; of other data the promise tells, and it
   * must not change before. Throws what `GuardedQueue` throws.
   */
  async write(what: string, buffer: GPUBuffer, offset: number, data: Uint32Array<ArrayBuffer>): Promise<void> {
    const onTheWay = this.#written - this.#arrived;
    if (this.#waiting === undefined && onTheWay + data.byteLength <= MOST) {
      this.#send(what, buffer, offset, data);
      return;
    }

    const before = this.#waiting ?? Promise.resolve();
    const writing = before.then(() => this.#inPieces(what, buffer, offset, data));
    const ended = writing.catch(() => {});
    this.#waiting = ended;
    try {
      await writing;
    } finally {
      if (this.#waiting === ended) this.#waiting = undefined;
    }
  }

  /** Resolves when nothing waits for its turn. Never rejects: what went wrong is known to its writer and the queue. */
  async settled(): Promise<void> {
    while (this.#waiting !== undefined) await this.#waiting;
  }

  /** How much was written so far, for `arrived` once the device has done all work so far. */
  mark(): number {
    return this.#written;
  }

  /** Tells that all that was written up to a mark has arrived. */
  arrived(mark: number): void {
    this.#arrived = Math.max(this.#arrived, mark);
  }

  async #inPieces(what: string, buffer: GPUBuffer, offset: number, data: Uint32Array<ArrayBuffer>): Promise<void> {
    for (let at = 0; at < data.byteLength; at += PIECE) {
      const piece = data.subarray(at / 4, (at + PIECE) / 4);

      if (this.#written - this.#arrived + piece.byteLength > MOST) {
        const mark = this.mark();
        await this.#queue.done(what);
        this.arrived(mark);
      }

      this.#send(what, buffer, offset + at, piece);
    }
  }

  #send(what: string, buffer: GPUBuffer, offset: number, data: Uint32Array<ArrayBuffer>): void {
    this.#queue.run(what, () => this.#gpu.device.queue.writeBuffer(buffer, offset, data));
    this.#written += data.byteLength;
  }
}
