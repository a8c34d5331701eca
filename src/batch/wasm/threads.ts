// the threads of one batch of WebAssembly
import { ThreadPool, type PoolListener } from "../../core/thread-pool.ts";
import { MOST_KERNELS, openBatch, TASK, type ThreadSetup } from "./thread.ts";

/** What the threads of a batch have in common. */
export type SharedSetup = Omit<ThreadSetup, "frames" | "task">;

export class WasmThreads extends ThreadPool<ThreadSetup> {
  /** Starts a thread for each list of frames. */
  constructor(setup: SharedSetup, frames: readonly (readonly number[])[], listener: PoolListener) {
    const setups = frames.map((own): ThreadSetup => ({ ...setup, frames: own, task: TASK }));
    super({ name: "corral.wasm", open: openBatch, setups, taskWords: TASK.params + setup.params }, listener);
  }

  /** Runs kernels, at most MOST_KERNELS, one after the other. Only if `isFree`, and after the one before is done. */
  submit(kernels: readonly number[], params: Uint32Array): void {
    const which = new Int32Array(MOST_KERNELS);
    which.set(kernels);
    this.start([kernels.length], which, params);
  }
}
