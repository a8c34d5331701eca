// bundles of updates that were stopped because something was not finite: all that it takes to execute them again
import { CorralError } from "../core/errors.ts";
import { sha256 } from "../core/packing.ts";
import { Mismatch } from "../core/schema.ts";
import { decodeSafetensors, encodeSafetensors, type Tensor } from "../io/safetensors.ts";
import { versions } from "../record/bundle.ts";
import { corrupt, manifestIn, readSealed, writeSealed } from "../record/sealed.ts";
import { KIND, readEvidence, type UpdateBundleAbout } from "./update-format.ts";
import { kernelCode } from "../rl/device/kernels.ts";
import { KERNELS, type KernelName } from "../rl/device/kernel-table.ts";
import type { AnyEvidence } from "../rl/algorithm.ts";

const ARENAS = "learner.safetensors";
const MAX_BYTES = 2 ** 32;

export interface UpdateBundle {
  readonly path: string;
  readonly about: UpdateBundleAbout;
  readonly evidence: AnyEvidence;
}

/** Tells one set of kernels from another. */
export function kernelsHash(): string {
  const names = Object.keys(KERNELS) as KernelName[];
  return sha256(names.flatMap((name) => [kernelCode(name), kernelCode(name, "lanes")]).join("\n"));
}

/**
 * Writes a bundle into a folder. Returns its path.
 * @throws CorralError bundle-too-large, bundle-not-written
 */
export function writeUpdateBundle(
  directory: string,
  { arenas, ...facts }: AnyEvidence,
  { message, device }: { readonly message: string; readonly device: string },
): string {
  const created = new Date().toISOString();
  const about = {
    kind: KIND,
    ...versions(),
    created,
    message,
    device,
    ...facts,
    kernels: kernelsHash(),
  };
  const tensors: Record<string, Tensor> = {};
  for (const [name, data] of Object.entries(arenas)) tensors[name] = { shape: [data.length], data };
  const files = new Map([[ARENAS, encodeSafetensors(tensors)]]);
  const name = `${facts.env.id}-update${facts.iteration + 1}`;
  return writeSealed(directory, name, about, files, MAX_BYTES);
}

/** Whether a path is a bundle of an update. */
export const isUpdateBundle = (path: string): boolean =>
  (manifestIn(path) as { kind?: string } | null | undefined)?.kind === KIND;

/**
 * Reads a bundle and checks every byte.
 * @throws CorralError no-bundle, bundle-newer, bundle-corrupt
 */
export function readUpdateBundle(path: string): UpdateBundle {
  const sealed = readSealed(path);
  const bytes = sealed.files.get(ARENAS);
  if (sealed.about.kind !== KIND || bytes === undefined) {
    throw new CorralError("bundle-corrupt", `${path} is no bundle of an update. Pass one that corral train wrote.`, {
      path,
    });
  }
  try {
    const { tensors } = decodeSafetensors(bytes, ARENAS);
    const arenas = Object.fromEntries([...tensors].map(([name, { data }]) => [name, data as Uint32Array<ArrayBuffer>]));
    return { path, ...readEvidence(sealed.about, arenas) };
  } catch (error) {
    const isKnown = error instanceof CorralError && /^(bad-|unknown-)/.test(error.code);
    if (!(error instanceof Mismatch) && !isKnown) throw error;
    throw corrupt(path, error.message.replace(/^\[[\w-]+\] /, "").replace(/\.$/, ""));
  }
}
