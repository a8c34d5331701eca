// a WebGPU device with its adapter's facts, granted limits and features, and an honest end
import { INSPECT, type Inspect, printFacts } from "../core/inspect.ts";
import { CorralError, DeviceLostError } from "../core/errors.ts";
import { warn } from "../core/host.ts";
import { optionsOf, unknownOption } from "../core/options.ts";
import { type AdapterSource, type OpenAdapter, openAdapter, type Refusal } from "./adapter.ts";
import { type Limits, readLimits, requestedLimits } from "./limits.ts";

/** What to open. `adapter` and `limits` are checked before anything is opened. */
export interface GpuDeviceOptions {
  /**
   * `auto` (default), `gpu`, `system`, `embedded` or `null`; or one of the adapters that `corral doctor` lists, by its
   * index or a part of its name. Without it the variable `CORRAL_ADAPTER` decides.
   */
  adapter?: string | number;
  /** Name of the device in Dawn's messages. */
  label?: string;
  /** Limits below the adapter's own maxima, in bytes or counts. */
  limits?: Partial<Limits>;
}

/** What is known of the adapter, in words. */
export interface AdapterInfo {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  /** One line that names driver and version. */
  readonly driver: string;
  readonly kind: "gpu" | "software";
  readonly source: AdapterSource;
  readonly subgroupMinSize: number;
  readonly subgroupMaxSize: number;
}

/** Features that are requested when the adapter has them. */
const FEATURES = ["timestamp-query", "subgroups", "shader-f16"] as const;

export type FeatureName = (typeof FEATURES)[number];

/** How many uncaptured errors are kept. */
const KEPT_ERRORS = 16;

/**
 * An open device. `close()` it: a device that is never closed keeps its driver threads until the process ends.
 * When the device is lost, `lost` resolves (it never rejects), `isLost` turns true and `assertUsable` throws.
 */
export class GpuDevice {
  readonly device: GPUDevice;
  readonly info: AdapterInfo;
  /** What was requested: Dawn grants WebGPU's defaults if less is asked for, corral keeps to the request. */
  readonly limits: Limits;
  readonly features: ReadonlySet<FeatureName>;
  /** What was tried before this adapter, and why it did not do. */
  readonly refusals: readonly Refusal[];
  /** Resolves when the device is gone: by `close()` or by a loss. */
  readonly lost: Promise<GPUDeviceLostInfo>;

  /** Errors that no scope caught, newest last: each is a bug of corral. */
  readonly uncaptured: GPUError[] = [];
  #closed = false;
  #lostInfo: GPUDeviceLostInfo | undefined;

  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return printFacts(
      "GpuDevice",
      {
        driver: this.info.driver,
        kind: this.info.kind,
        source: this.info.source,
        features: [...this.features],
        isClosed: this.isClosed,
        isLost: this.isLost,
      },
      options,
      inspect,
    );
  }

  constructor(device: GPUDevice, opened: OpenAdapter, info: AdapterInfo, limits: Limits = readLimits(device.limits)) {
    this.device = device;
    this.info = info;
    this.limits = limits;
    this.features = new Set(FEATURES.filter((name) => device.features.has(name)));
    this.refusals = opened.refusals;

    this.lost = device.lost.then((lostInfo) => {
      this.#lostInfo = lostInfo;
      return lostInfo;
    });

    keepUncaptured(device, this.uncaptured);
  }

  /** True once the device is gone without `close()`. */
  get isLost(): boolean {
    return this.#lostInfo !== undefined && !this.#closed;
  }

  /** True after `close()`. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Throws `DeviceLostError` (`device-lost`) or `device-closed`; `what` is what was about to be done. */
  assertUsable(what: string): void {
    if (this.#closed)
      throw new CorralError("device-closed", `cannot ${what}: the device was closed. Open another one.`);
    if (this.#lostInfo) throw this.lostError(what);
  }

  /** The error for a call that met a lost device. */
  lostError(what: string): DeviceLostError {
    const { reason, message } = this.#lostInfo ?? { reason: "unknown", message: "" };
    const why = message ? `: ${message.trim()}` : "";
    return new DeviceLostError(
      "device-lost",
      `cannot ${what}: the device ${this.info.driver} was lost (${reason}${why}). ` +
        `Open another device and restore the last snapshot.`,
      { reason, message },
    );
  }

  /** Destroys the device and everything made from it. Calling it again does nothing. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.device.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Keeps errors that no scope caught: unhandled, Dawn would print them on stdout. A function of its own, since what a
 * listener of the device knows is never collected, and the device's threads end only when it is.
 */
function keepUncaptured(device: GPUDevice, uncaptured: GPUError[]): void {
  device.addEventListener("uncapturederror", (event) => {
    event.preventDefault();
    const { error } = event;
    if (uncaptured.length === KEPT_ERRORS) uncaptured.shift();
    uncaptured.push(error);
    warn(`uncaptured WebGPU error: ${error.message}`, "corral-gpu-uncaptured");
  });
}

/** Throws `bad-option` for what `openDevice` did not give. */
export function assertDevice(gpu: unknown): asserts gpu is GpuDevice {
  const { device, info } = (gpu ?? {}) as Partial<GpuDevice>;
  if (device !== undefined && info !== undefined) return;
  const shown =
    typeof gpu === "string" ? JSON.stringify(gpu) : typeof gpu === "object" && gpu ? "another object" : String(gpu);
  throw new CorralError("bad-option", `device is ${shown}; pass what openDevice returns, or the name of a device.`, {
    device: gpu,
  });
}

/**
 * Opens a device with the adapter's maxima as limits and every feature that corral can use.
 * Throws `AdapterUnavailableError`, `adapter-unknown`, `limit-unknown`, `limit-too-large`, `device-refused`.
 */
export async function openDevice(options: GpuDeviceOptions = {}): Promise<GpuDevice> {
  const { adapter: chosen, label = "corral", limits: wanted, ...others } = optionsOf(options);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw unknownOption("a device", unknown, ["adapter", "label", "limits"]);
  const opened = await openAdapter(chosen);
  const { adapter } = opened;
  const limits = requestedLimits(readLimits(adapter.limits), wanted);
  const features = FEATURES.filter((name) => adapter.features.has(name));
  const info = describeAdapter(opened);
  try {
    const device = await adapter.requestDevice({
      label,
      requiredLimits: { ...limits },
      requiredFeatures: features,
    });
    return new GpuDevice(device, opened, info, limits);
  } catch (cause) {
    const why = (cause as Error).message.split("\n")[0];
    throw new CorralError(
      "device-refused",
      `${info.driver} refused a device: ${why}. Try another CORRAL_ADAPTER.`,
      {},
      { cause },
    );
  }
}

/** The facts of an adapter, in words. */
function describeAdapter({ adapter, source }: Pick<OpenAdapter, "adapter" | "source">): AdapterInfo {
  const { vendor, architecture, device, description, isFallbackAdapter, subgroupMinSize, subgroupMaxSize } =
    adapter.info;
  const software = source !== "system" || isFallbackAdapter;
  return {
    vendor,
    architecture,
    device,
    description,
    driver: description || device || [vendor, architecture].filter(Boolean).join(" ") || source,
    kind: software ? "software" : "gpu",
    source,
    subgroupMinSize,
    subgroupMaxSize,
  };
}
