/** Waiting until destroyed buffers have given their memory back. */
import type { GpuDevice } from "../gpu/device.ts";
import { waitFor } from "../gpu/waiter.ts";

/**
 * Resolves once memory of destroyed buffers is back: `destroy()` returns it only after the next submission has
 * completed, so this submits nothing and waits for that. Never rejects: on a lost device there is nothing to wait for.
 */
export async function drain(gpu: GpuDevice): Promise<void> {
  if (gpu.isLost || gpu.isClosed) return;

  try {
    gpu.device.queue.submit([]);
    await waitFor(gpu.device.queue.onSubmittedWorkDone());
  } catch {
    // the device went away meanwhile, and its memory with it
  }
}
