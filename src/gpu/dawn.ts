// loads Dawn (the `webgpu` package) on first use and makes its instances, one for each set of flags and driver
import { tmpdir } from "node:os";
import { AdapterUnavailableError } from "../core/errors.ts";
import { withQuietStderr } from "./quiet.ts";

interface Dawn {
  create(flags: string[]): GPU;
}

// timers of our own kernels need no protection from their reader
const FLAGS = ["disable-dawn-features=timestamp_quantization"];

let loading: Promise<Dawn> | undefined;

/**
 * Instances are kept until the process ends: when one is collected before the last object made from it, a buffer even,
 * Dawn aborts the process. Kept ones do not hold Node open and cost nothing while idle.
 */
const instances = new Map<string, GPU>();

/** Those that know their adapters: Dawn lists them, and prints what it thinks of them, inside the first request. */
const listed = new WeakSet<GPU>();

async function load(): Promise<Dawn> {
  // without it the Vulkan loader and Mesa complain on stderr
  if (process.platform === "linux") process.env.XDG_RUNTIME_DIR ??= tmpdir();

  try {
    return await import("webgpu");
  } catch (cause) {
    loading = undefined;
    throw new AdapterUnavailableError(
      "webgpu-not-loadable",
      `the webgpu package has no usable binary for ${process.platform}-${process.arch}: ${(cause as Error).message}. ` +
        `Run npm install again, or use device: 'wasm'.`,
      {},
      { cause },
    );
  }
}

/**
 * The instance for a driver (any name) and Dawn's flags. An instance finds its driver at its first adapter request.
 * Throws `AdapterUnavailableError` (`webgpu-not-loadable`).
 */
export async function dawnInstance(driver: string, flags: readonly string[] = []): Promise<GPU> {
  loading ??= load();
  const dawn = await loading;
  const key = [driver, ...flags].join("\n");
  let instance = instances.get(key);
  if (!instance) instances.set(key, (instance = dawn.create([...FLAGS, ...flags])));
  return instance;
}

/** The first of an instance's adapters, or null; what Dawn prints of drivers meanwhile is kept from stderr. */
export function requestAdapter(instance: GPU, options?: GPURequestAdapterOptions): Promise<GPUAdapter | null> {
  if (listed.has(instance)) return instance.requestAdapter(options);
  listed.add(instance);
  return withQuietStderr(() => instance.requestAdapter(options));
}
