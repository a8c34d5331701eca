// work for the queue inside error scopes: what the device refuses is kept, and thrown to the next who waits or asks
import { CorralError } from "../core/errors.ts";
import type { GpuDevice } from "./device.ts";
import { waitFor } from "./waiter.ts";

/** What a queue refuses: invalid work, or work that there is no memory for. Internal errors lose the device. */
const FILTERS = ["validation", "out-of-memory"] as const;

/**
 * Submissions and writes of one owner. Refused work was not done, and nothing after it can be trusted: from then on every
 * call throws `work-refused`, until `forget()` says that the owner has put things right.
 */
export class GuardedQueue {
  readonly #gpu: GpuDevice;
  readonly #owner: string;
  readonly #open = new Set<Promise<void>>();
  #refusal: CorralError | undefined;

  constructor(gpu: GpuDevice, owner: string) {
    this.#gpu = gpu;
    this.#owner = owner;
  }

  /**
   * Runs `work`, which must not await: encoding, submissions, writes. Throws `DeviceLostError`, `device-closed`, and
   * `work-refused` where earlier work is known to have been refused; then `work` does not run.
   */
  run(what: string, work: () => void): void {
    this.#assertGood(what);
    const { device } = this.#gpu;

    // scopes are a stack of the device: pushed and popped without an await between, calls cannot mix
    for (const filter of FILTERS) device.pushErrorScope(filter);
    try {
      work();
    } finally {
      const popped = FILTERS.map(() => device.popErrorScope());
      const done = Promise.all(popped).then(
        (errors) =>
          this.#refuse(
            what,
            errors.find((error) => error !== null),
          ),
        // a lost device is reported by itself
        () => {},
      );
      this.#open.add(done);
      void done.then(() => this.#open.delete(done));
    }
  }

  /** Resolves once all work so far is done. Throws as `run`, also for work that was refused. */
  async done(what: string): Promise<void> {
    this.#assertGood(what);
    const { queue } = this.#gpu.device;
    const finished = queue.onSubmittedWorkDone().catch(() => {});
    await waitFor(Promise.all([finished, ...this.#open]));
    this.#assertGood(what);
  }

  /** Resolves once the device has looked at all work so far, done or not. Throws as `done`. */
  async accepted(what: string): Promise<void> {
    if (this.#open.size > 0) await waitFor(Promise.all(this.#open));
    this.#assertGood(what);
  }

  /** Forgets a refusal: whatever it left undone was put right. */
  forget(): void {
    this.#refusal = undefined;
  }

  #assertGood(what: string): void {
    this.#gpu.assertUsable(what);
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  #refuse(what: string, error: GPUError | null | undefined): void {
    if (!error || this.#refusal !== undefined) return;
    const [why] = error.message.trim().split("\n");
    this.#refusal = new CorralError(
      "work-refused",
      `the device refused to ${what} for ${this.#owner} (${why}), and what followed cannot be trusted. ` +
        `Restore a snapshot or reset all worlds, or close it.`,
      { what, owner: this.#owner, message: error.message },
      { cause: error },
    );
  }
}
