// a device that only keeps books: which buffers live, and memory that comes back as a driver gives it back
import type { OpenAdapter } from "../../src/gpu/adapter.ts";
import { type AdapterInfo, GpuDevice } from "../../src/gpu/device.ts";
import { RAISED_LIMITS } from "../../src/gpu/limits.ts";

export interface FakeGpu {
  readonly gpu: GpuDevice;
  /** Sizes and labels of all buffers that were ever made, in order. */
  readonly made: { readonly label: string; readonly size: number; readonly usage: number }[];
  /** Bytes of buffers that were not destroyed. */
  liveBytes(): number;
  /** Bytes that the driver holds: destroyed ones count until the next submission has completed. */
  heldBytes(): number;
  lose(): void;
}

const INFO: AdapterInfo = {
  vendor: "fake",
  architecture: "",
  device: "fake",
  description: "a device that keeps books",
  driver: "fake",
  kind: "software",
  source: "system",
  subgroupMinSize: 1,
  subgroupMaxSize: 1,
};

/**
 * A device with `capacity` bytes; a buffer beyond it is refused in the out-of-memory scope. The headroom that is asked for
 * and given back is in no book; it is refused if it is more than `headroom`.
 */
export function fakeGpu(capacity = Infinity, headroom = Infinity): FakeGpu {
  const made: FakeGpu["made"] = [];
  const scopes: { filter: string; error: { message: string } | null }[] = [];
  let live = 0;
  let held = 0;
  let destroyed = 0;
  let lose: (info: object) => void;
  const lost = new Promise<object>((resolve) => (lose = resolve));

  function raise(filter: string, message: string): void {
    const scope = scopes.findLast((candidate) => candidate.filter === filter);
    if (scope === undefined) throw new Error(`no scope catches: ${message}`);
    scope.error ??= { message };
  }

  function createBuffer({ label = "", size, usage }: GPUBufferDescriptor): object {
    const probe = label.endsWith(".headroom");
    if (probe && size <= headroom) return { label, size, usage, destroy() {} };
    if (probe || held + size > capacity) {
      raise("out-of-memory", `${size} bytes do not fit`);
      return { label, size, usage, destroy() {} };
    }

    made.push({ label, size, usage });
    live += size;
    held += size;
    let alive = true;
    const destroy = () => {
      if (!alive) return;
      alive = false;
      live -= size;
      destroyed += size;
    };
    return { label, size, usage, destroy };
  }

  const device = {
    limits: Object.fromEntries(RAISED_LIMITS.map((name) => [name, 1])),
    features: new Set(),
    lost,
    addEventListener() {},
    createBuffer,
    pushErrorScope: (filter: string) => void scopes.push({ filter, error: null }),
    popErrorScope: async () => scopes.pop()!.error,
    destroy: () => lose({ reason: "destroyed", message: "" }),
    queue: {
      submit() {},
      async onSubmittedWorkDone() {
        held -= destroyed;
        destroyed = 0;
      },
    },
  };

  return {
    gpu: new GpuDevice(device as unknown as GPUDevice, { instance: {} } as unknown as OpenAdapter, INFO),
    made,
    liveBytes: () => live,
    heldBytes: () => held,
    lose: () => lose({ reason: "unknown", message: "pulled out" }),
  };
}
