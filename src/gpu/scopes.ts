// creation inside error scopes: what Dawn refuses becomes an error that names the object and its size
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
  const action = `create ${creation.what}`;
  gpu.assertUsable(action);

  // scopes are a stack of the device: pushed and popped without an await between, calls cannot mix
  for (const filter of FILTERS) device.pushErrorScope(filter);
  let made: T | undefined;
  let refused: Refusal | undefined;
  try {
    made = make();
  } catch (thrown) {
    refused = { filter: thrown instanceof RangeError ? "out-of-memory" : "validation", thrown: thrown as Error };
  }
  const popped = FILTERS.toReversed().map(async (filter) => ({ filter, thrown: await device.popErrorScope() }));

  const caught = await waitFor(Promise.allSettled(popped));
  const errors = caught.filter((pop) => pop.status === "fulfilled").map((pop) => pop.value);
  refused ??= errors.find((error): error is Refusal => error.thrown !== null);
  if (!refused && !gpu.isLost && !gpu.isClosed) return made as T;

  (made as { destroy?: () => void } | undefined)?.destroy?.();
  gpu.assertUsable(action);
  throw refusal(creation, refused as Refusal);
}

interface Refusal {
  readonly filter: (typeof FILTERS)[number];
  readonly thrown: { readonly message: string };
}

function refusal(creation: Creation, { filter, thrown }: Refusal): GpuCreationError {
  const { what, bytes } = creation;
  const { message } = thrown;
  const size = bytes === undefined ? "" : ` of ${bytes} bytes`;
  const text = message.trim().split("\n")[0];
  return new GpuCreationError(
    `gpu-${filter}`,
    `the device refused ${what}${size}: ${text} ${REMEDIES[filter]}`,
    { what, bytes, message },
    { cause: thrown },
  );
}

/** A buffer made inside error scopes; its label names it in errors. Size in bytes, usage of `BufferUsage`. */
export function createBuffer(gpu: GpuDevice, label: string, size: number, usage: number): Promise<GPUBuffer> {
  return inScopes(gpu, { what: `buffer '${label}'`, bytes: size }, () =>
    gpu.device.createBuffer({ label, size, usage }),
  );
}
