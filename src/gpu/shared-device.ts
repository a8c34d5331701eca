// one device for everybody in the process who asks for the same adapter, closed by the last who gives it back
import { adapterChoice } from "./adapter.ts";
import { type GpuDevice, openDevice } from "./device.ts";

/** A share of a device. `release()` it; the device closes with its last share. */
export interface DeviceLease {
  readonly gpu: GpuDevice;
  /** Gives the share back. Calling it again does nothing. */
  release(): void;
}

interface Shared {
  readonly opening: Promise<GpuDevice>;
  leases: number;
}

const shared = new Map<string, Shared>();

/**
 * A share of the process's device for an adapter (a way, an index or a part of a name, as `openDevice` takes them).
 * A device that was lost or closed is not handed out again. Throws what `openDevice` throws.
 */
export async function shareDevice(adapter?: string | number): Promise<DeviceLease> {
  const key = adapterChoice(adapter);
  const entry = shared.get(key) ?? { opening: openDevice(adapter === undefined ? {} : { adapter }), leases: 0 };
  shared.set(key, entry);

  // counted before the wait, so that a release in the meantime does not close it
  entry.leases++;
  let gpu: GpuDevice;
  try {
    gpu = await entry.opening;
  } catch (error) {
    forget(key, entry);
    throw error;
  }
  if (gpu.isLost || gpu.isClosed) {
    giveBack(key, entry, gpu);
    forget(key, entry);
    return shareDevice(key);
  }

  let released = false;
  return {
    gpu,
    release() {
      if (released) return;
      released = true;
      giveBack(key, entry, gpu);
    },
  };
}

function giveBack(key: string, entry: Shared, gpu: GpuDevice): void {
  if (--entry.leases > 0) return;
  forget(key, entry);
  gpu.close();
}

function forget(key: string, entry: Shared): void {
  if (shared.get(key) === entry) shared.delete(key);
}
