// runs resets, and control steps with the kernels of recorder and monitor around them; keeps count, and reads what comes of them
import { CorralError } from "../../core/errors.ts";
import type { Batch } from "../../batch/batch.ts";
import type { SnapshotKeeper } from "../../batch/snapshot.ts";
import type { EnvSpec } from "../kernel/env-kernel.ts";
import { defersResets } from "../kernel/start-fields.ts";
import type { Exchange } from "./exchange.ts";
import type { ResetRequest } from "./reset-request.ts";
import type { StepResult } from "./step-result.ts";
import type { Progress } from "./time-travel.ts";
import type { Watch } from "./watch.ts";

/** Unread steps that may be under way before the host waits for the device. */
const MAX_UNREAD = 32;

/** What steps take of an environment. */
export interface StepperParts {
  readonly id: string;
  readonly spec: EnvSpec;
  readonly batch: Batch;
  readonly watch: Watch;
  readonly exchange: Exchange;
  readonly keeper: SnapshotKeeper | undefined;
  readonly progress: Progress;
}

export class Stepper {
  readonly #id: string;
  readonly #spec: EnvSpec;
  readonly #batch: Batch;
  readonly #watch: Watch;
  readonly #exchange: Exchange;
  readonly #keeper: SnapshotKeeper | undefined;
  readonly #progress: Progress;
  #unread = 0;

  constructor({ id, spec, batch, watch, exchange, keeper, progress }: StepperParts) {
    this.#id = id;
    this.#spec = spec;
    this.#batch = batch;
    this.#watch = watch;
    this.#exchange = exchange;
    this.#keeper = keeper;
    this.#progress = progress;
  }

  assertWasReset(): void {
    if (this.#progress.wasReset) return;
    throw new CorralError("needs-reset", `${this.#id} was not reset yet. Call reset() before step().`);
  }

  /** Throws needs-reset, also where an episode is over that nothing resets, and snapshot-failed. */
  assertSteppable(): void {
    this.assertWasReset();
    this.#keeper?.check();
    if (this.#spec.autoreset !== "disabled") return;
    const over = this.#exchange.firstOver();
    if (over < 0) return;
    throw new CorralError(
      "needs-reset",
      `the episode of world ${over} is over and autoreset is disabled; no world was stepped. Call reset({ options: { mask } }) first, in Python reset(options={"reset_mask": mask}).`,
      { world: over },
    );
  }

  /** Starts new episodes in the worlds of a request. */
  async reset(request: ResetRequest): Promise<void> {
    await this.#exchange.sendRequests(request);
    this.#watch.changed();
    this.#batch.run(...(defersResets(this.#spec) ? ["reset", "step"] : ["reset"]));
    this.#progress.wasReset = true;
    this.#keeper?.stepped(this.#progress.steps);
    this.#exchange.expect("reset", request.mask);
  }

  /** Reads the last results, and looks at what went wrong; `starts`: they are of a reset. */
  read(starts = false): Promise<StepResult> {
    this.#unread = 0;
    return this.#exchange.collect(async (result, infos) => {
      await this.#watch.look(result, this.#progress.steps);
      if (starts) this.#watch.lookAtStarts(result, infos.worldsWithStatus(), this.#progress.steps);
    });
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
  async encode(encode: (pass: GPUComputePassEncoder, step: () => void) => void): Promise<void> {
    const batch = this.#batch;
    if (!batch.submit) {
      throw new CorralError(
        "needs-gpu",
        `${this.#id} runs on ${batch.deviceName}, which has no GPU passes. Use step().`,
      );
    }
    let count = 0;
    let isOver = false;
    const undo = this.#watch.mark();
    try {
      batch.submit("step", (pass, run) => {
        const made: unknown = encode(pass, () => {
          if (isOver) throw endedPass("step() was called after the function had returned");
          for (const kernel of this.#kernels(this.#progress.steps + count)) run(kernel);
          count++;
        });
        if (!(made instanceof Promise)) return;
        made.catch(() => {});
        throw endedPass("the function returned a promise");
      });
    } catch (error) {
      undo();
      throw error;
    } finally {
      isOver = true;
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

const endedPass = (what: string): CorralError =>
  new CorralError(
    "pass-ended",
    `${what}: what stepOnDevice is given encodes at once, into a pass that ends with it. Await before, and call stepOnDevice again for more.`,
  );
