/** Creation inside error scopes: what Dawn refuses becomes an error that names the object and its size. */

import { GpuCreationError } from "../core/errors.ts";
import type { GpuDevice } from "./device.ts";
import { waitFor } from "./waiter.ts";

/** What is being made, for the error's text. */
export interface Creation {
  /** The object's label, as `buffer 'state'`. */
  readonly what: string;
  /** Its size in bytes, when it has one. */
  readonly bytes?: number;
}

const FILTERS = ["validation", "out-of-memory", "internal"] as const;

const REMEDIES = {
  validation: "This is a limit of the device or a bug of corral.",
  "out-of-memory": "Ask for fewer environments or close other batches.",
  internal: "The driver failed; try another CORRAL_ADAPTER.",
};

/**
 * Runs `make` (which must not await) inside the three error scopes and returns what it made.
 * Throws `GpuCreationError` (`gpu-validation`, `gpu-out-of-memory`, `gpu-internal`) or `DeviceLostError`; an object with
 * a `destroy` method that was made all the same is destroyed first.
 */
export async function inScopes<T>(gpu: GpuDevice, creation: Creation, make: () => T): Promise<T> {
  const { device } = gpu;
  gpu.assertUsable(`create ${creation.what}`);

  // scopes are a stack of the device: pushed and popped without an await between, calls cannot mix
  for (const filter of FILTERS) device.pushErrorScope(filter);
  let made: T | undefined;
  let thrown: unknown;
  try {
    made = make();
  } catch (error) {
    thrown = error ?? new Error("nothing");
  }
  const popped = FILTERS.map(() => device.popErrorScope());

  const errors = await waitFor(Promise.all(popped)).catch((cause: unknown) => {
    if (gpu.isLost || gpu.isClosed) return [null, null, null];
    throw cause;
  });
  const at = errors.findIndex((error) => error !== null);
  if (at < 0 && thrown === undefined && !gpu.isLost && !gpu.isClosed) return made as T;

  destroy(made);
  gpu.assertUsable(`create ${creation.what}`);

  // popped in reverse order of the pushes
  const filter = FILTERS[FILTERS.length - 1 - Math.max(at, 0)];
  if (at >= 0) throw refusal(creation, filter, errors[at]?.message ?? "");
  throw refusal(creation, thrown instanceof RangeError ? "out-of-memory" : "validation", String((thrown as Error).message), thrown);
}

function refusal(creation: Creation, filter: (typeof FILTERS)[number], message: string, cause?: unknown): GpuCreationError {
  const size = creation.bytes === undefined ? "" : ` of ${creation.bytes} bytes`;
  const text = message.trim().split("\n")[0];
  return new GpuCreationError(
    `gpu-${filter}`,
    `the device refused ${creation.what}${size}: ${text} ${REMEDIES[filter]}`,
    { what: creation.what, bytes: creation.bytes, message },
    { cause },
  );
}

function destroy(made: unknown): void {
  const object = made as { destroy?: () => void } | undefined;
  object?.destroy?.();
}

/** A buffer made inside error scopes; its label names it in errors. Size in bytes, usage of `BufferUsage`. */
export function createBuffer(gpu: GpuDevice, label: string, size: number, usage: number): Promise<GPUBuffer> {
  return inScopes(gpu, { what: `buffer '${label}'`, bytes: size }, () => gpu.device.createBuffer({ label, size, usage }));
}
