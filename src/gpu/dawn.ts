/** Loads Dawn (the `webgpu` package) on first use and makes instances of it. */

import { tmpdir } from "node:os";
import { AdapterUnavailableError } from "../core/errors.ts";

/** What `create()` of `webgpu` returns. It must stay referenced while anything made from it lives. */
export type Instance = GPU;

interface Dawn {
  create(flags: string[]): GPU;
}

// timers of our own kernels need no protection from their reader
const FLAGS = ["disable-dawn-features=timestamp_quantization"];

let loading: Promise<Dawn> | undefined;

async function load(): Promise<Dawn> {
  // without it the Vulkan loader and Mesa complain on stderr
  if (process.platform === "linux") process.env.XDG_RUNTIME_DIR ??= tmpdir();

  try {
    return (await import("webgpu")) as unknown as Dawn;
  } catch (cause) {
    loading = undefined;
    throw new AdapterUnavailableError(
      "webgpu-not-loadable",
      `the webgpu package has no usable binary for ${process.platform}-${process.arch}: ${(cause as Error).message}. ` +
        `Run npm install again, or use device: 'cpu'.`,
      {},
      { cause },
    );
  }
}

/** Loads the native module and returns its `create`. Afterwards `create` may be called synchronously. */
export async function loadDawn(): Promise<(flags?: string[]) => Instance> {
  loading ??= load();
  const dawn = await loading;
  return (flags = []) => dawn.create([...FLAGS, ...flags]);
}
