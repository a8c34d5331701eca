// the table of devices: what may be asked for, and what it comes to on this machine
import { CorralError } from "../core/errors.ts";
import { env } from "../core/host.ts";
import { badOption } from "../core/options.ts";
import { show } from "../core/show.ts";
import { adapterChoice, hasFastAdapter } from "../gpu/adapter.ts";
import { assertDevice, type GpuDevice } from "../gpu/device.ts";

/** Every device, and what it is. */
export const DEVICES = {
  auto: "a GPU or a fast software driver of the system where there is one, else wasm",
  gpu: "an adapter of WebGPU, software ones too: that of the option adapter",
  wasm: "WebAssembly: no driver, the same bits on every machine",
  cpu: "JavaScript: the bits of wasm, for checks",
  "cpu-f64": "JavaScript in float64, the reference",
} as const;

export type DeviceName = keyof typeof DEVICES;
export type HostDevice = Exclude<DeviceName, "auto" | "gpu">;

/** Devices without an adapter. */
export const HOST_DEVICES = ["wasm", "cpu", "cpu-f64"] as const satisfies readonly HostDevice[];

/** Where to run: an open device, or one of DEVICES. Default: `CORRAL_DEVICE`, else auto. */
export type DeviceChoice = GpuDevice | DeviceName;

/** What an adapter or a device is chosen by. */
export interface DeviceOptions {
  readonly device?: DeviceChoice;
  /** Adapter of the shared device: auto, gpu, system, embedded, an index or a part of a name. */
  readonly adapter?: string | number;
}

/** A choice that was made: an open device, the shared device of an adapter, or none. */
export type ChosenDevice = Exclude<DeviceChoice, "auto">;

export const isHostDevice = (device: unknown): device is HostDevice => HOST_DEVICES.some((name) => name === device);

const isName = (device: unknown): device is DeviceName => typeof device === "string" && Object.hasOwn(DEVICES, device);

/** Throws `bad-option` for a name that is no device. */
function checked(device: unknown, where: string): DeviceName {
  if (isName(device)) return device;
  const names = Object.keys(DEVICES).map((name) => `"${name}"`);
  throw new CorralError(
    "bad-option",
    `${where} is ${show(device)}; pass an open device, ${names.slice(0, -1).join(", ")} or ${names.at(-1)!}.`,
    { device },
  );
}

/** Throws `bad-option` for an adapter that would not be used. */
function assertNoAdapter(adapter: unknown, why: string): void {
  if (adapter === undefined) return;
  throw badOption("adapter", adapter, `${why}: leave it out, or pass device: "gpu"`);
}

/**
 * Where to run. Who chooses an adapter, by the option or by `CORRAL_ADAPTER`, runs on it; else `auto` is the system's GPU
 * or fast software driver, and WebAssembly where it has neither: it is several times as fast as the embedded driver.
 * @throws CorralError bad-option
 */
export async function chooseDevice({ device, adapter }: DeviceOptions): Promise<ChosenDevice> {
  if (typeof device === "object" || typeof device === "function") {
    assertDevice(device);
    assertNoAdapter(adapter, "an open device has its own");
    return device;
  }
  const fromEnvironment = env.CORRAL_DEVICE;
  const [wanted, where] =
    device === undefined && adapter === undefined && fromEnvironment
      ? [fromEnvironment, "CORRAL_DEVICE"]
      : [device ?? "auto", "device"];
  const name = checked(wanted, where);
  if (isHostDevice(name)) assertNoAdapter(adapter, `device "${name}" has none`);
  if (name !== "auto") return name;
  if (adapterChoice(adapter) !== "auto" || adapter !== undefined) return "gpu";
  return (await hasFastAdapter()) ? "gpu" : "wasm";
}

/**
 * The device without an adapter that options name, or `CORRAL_DEVICE` where they name none; undefined for any other.
 * @throws CorralError bad-option
 */
export function namedHostDevice({ device, adapter }: DeviceOptions): HostDevice | undefined {
  if (typeof device === "object" || typeof device === "function") return undefined;
  const fromEnvironment = adapter === undefined ? env.CORRAL_DEVICE : undefined;
  const named = device ?? fromEnvironment;
  if (!named) return undefined;
  const name = checked(named, device === undefined ? "CORRAL_DEVICE" : "device");
  if (!isHostDevice(name)) return undefined;
  assertNoAdapter(adapter, `device "${name}" has none`);
  return name;
}

/** A device's name; undefined for an open one. */
export const namedDevice = (device: DeviceChoice | undefined): DeviceName | undefined =>
  isName(device) ? device : undefined;

/** The same options with the device that `chooseDevice` chooses. */
export async function withDevice<O extends DeviceOptions>(
  options: O,
): Promise<Omit<O, "device"> & { device: ChosenDevice }> {
  return { ...options, device: await chooseDevice(options) };
}
