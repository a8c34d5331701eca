// waiting until destroyed buffers have given their memory back
import type { GpuDevice } from "../gpu/device.ts";
import { waitFor } from "../gpu/waiter.ts";

const TRIES = 3;

/**
 * Resolves once memory of destroyed buffers is back: `destroy()` returns it only after the next submission has
 * completed, so this submits nothing and waits for that. Never rejects: on a lost device there is nothing to wait for.
 */
export async function drain(gpu: GpuDevice): Promise<void> {
  // a submission that is refused returns nothing, so it is tried again
  for (let tries = 0; tries < TRIES; tries++) {
    if (gpu.isLost || gpu.isClosed) return;
    const { device } = gpu;
    device.pushErrorScope("validation");

    try {
      device.queue.submit([]);
      const refused = device.popErrorScope();
      const [error] = await waitFor(Promise.all([refused, device.queue.onSubmittedWorkDone()]));
      if (error === null) return;
    } catch {
      // the device went away meanwhile, and its memory with it
      return;
    }
  }
}
