// runs control steps with the kernels of recorder and monitor around them, and keeps count
import { CorralError } from "../../core/errors.ts";
import type { Batch } from "../../batch/batch.ts";
import type { SnapshotKeeper } from "../../batch/snapshot.ts";
import type { Exchange } from "./exchange.ts";
import type { Progress } from "./time-travel.ts";
import type { Watch } from "./watch.ts";

/** Unread steps that may be under way before the host waits for the device. */
const MAX_UNREAD = 32;

export class Stepper {
  readonly #batch: Batch;
  readonly #watch: Watch;
  readonly #exchange: Exchange;
  readonly #keeper: SnapshotKeeper | undefined;
  readonly #progress: Progress;
  #unread = 0;

  constructor(batch: Batch, watch: Watch, exchange: Exchange, keeper: SnapshotKeeper | undefined, progress: Progress) {
    this.#batch = batch;
    this.#watch = watch;
    this.#exchange = exchange;
    this.#keeper = keeper;
    this.#progress = progress;
  }

  /** One control step of every world. */
  async step(): Promise<void> {
    this.#batch.run(...this.#kernels(this.#progress.steps));
    await this.#stepped(1);
  }

  /**
   * Control steps in one submission, if `encode` says; see `VectorEnv.stepOnDevice`.
   * @throws CorralError needs-gpu, and what `encode` throws: then no world was stepped
   */
  async encode(id: string, encode: (pass: GPUComputePassEncoder, step: () => void) => void): Promise<void> {
    const batch = this.#batch;
    if (!batch.submit) {
      throw new CorralError("needs-gpu", `${id} runs on ${batch.deviceName}, which has no GPU passes. Use step().`);
    }
    let count = 0;
    const undo = this.#watch.mark();
    try {
      batch.submit("step", (pass, run) =>
        encode(pass, () => {
          for (const kernel of this.#kernels(this.#progress.steps + count)) run(kernel);
          count++;
        }),
      );
    } catch (error) {
      undo();
      throw error;
    }
    await this.#stepped(count);
  }

  /** Resolves when the device has made all steps so far. */
  async sync(): Promise<void> {
    await this.#batch.sync();
    this.#unread = 0;
  }

  /** Keeps the host from running far ahead of the device. */
  async keepPace(): Promise<undefined> {
    if (this.#unread >= MAX_UNREAD) await this.sync();
  }

  /** Tells that results were read, which waits for the device. */
  wasRead(): void {
    this.#unread = 0;
  }

  #kernels(made: number): string[] {
    return [...this.#watch.before(made), "step", ...this.#watch.after(made)];
  }

  /** Counts steps that were just queued, and compares what the monitor's kernels have copied, if they have. */
  async #stepped(count: number): Promise<void> {
    this.#progress.steps += count;
    this.#unread += count;
    this.#keeper?.stepped(this.#progress.steps);
    this.#exchange.expect("step");
    const drift = await this.#watch.check(this.#progress.steps);
    if (drift) this.#exchange.expect("step", undefined, drift);
  }
}
