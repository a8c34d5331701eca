// counts what is made on a device: live bytes, labels, and everything else that a running batch must not make
import type { GpuDevice } from "../../src/gpu/device.ts";

const OTHERS = [
  "createBindGroup",
  "createComputePipeline",
  "createComputePipelineAsync",
  "createQuerySet",
  "createShaderModule",
  "createTexture",
] as const;

export interface WatchedDevice {
  /** Buffers that were made and not destroyed, in order. */
  readonly live: ReadonlySet<{ readonly label: string; readonly size: number; readonly usage: number }>;
  /** Calls that made something, by name, since the watch began. */
  readonly made: Readonly<Record<string, number>>;
  liveBytes(): number;
  /** Times that the host mapped one of these buffers. */
  maps(): number;
  /** Puts the device's methods back. */
  remove(): void;
}

/** Watches a device from now on. */
export function watchDevice(gpu: GpuDevice): WatchedDevice {
  const device = gpu.device as unknown as Record<string, (...args: unknown[]) => unknown>;
  const live = new Set<GPUBuffer>();
  const made: Record<string, number> = { createBuffer: 0 };
  let maps = 0;

  const create = device.createBuffer;
  device.createBuffer = (...args) => {
    made.createBuffer++;
    const buffer = create.apply(gpu.device, args) as GPUBuffer;
    live.add(buffer);
    const { destroy, mapAsync } = buffer;
    buffer.mapAsync = (...range) => {
      maps++;
      return mapAsync.apply(buffer, range);
    };
    buffer.destroy = () => {
      live.delete(buffer);
      return destroy.call(buffer);
    };
    return buffer;
  };

  for (const name of OTHERS) {
    made[name] = 0;
    const original = device[name];
    device[name] = (...args) => {
      made[name]++;
      return original.apply(gpu.device, args);
    };
  }

  return {
    live,
    made,
    liveBytes: () => [...live].reduce((sum, { size }) => sum + size, 0),
    maps: () => maps,
    remove: () => {
      for (const name of ["createBuffer", ...OTHERS]) Reflect.deleteProperty(device, name);
    },
  };
}
