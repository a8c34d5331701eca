// the error that everything throws: a stable code beside its text
import { printable } from "./show.ts";

/**
 * An error with a stable code. Its message states the value, the bound and the remedy, printed as `[code] text`.
 * Every live object is as it was before the call that threw it.
 */
export class CorralError extends Error {
  // a minifier's names of classes would be those of errors
  override name = "CorralError";
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, text: string, details: Record<string, unknown> = {}, options?: ErrorOptions) {
    // names in it may come from anyone's file, and it ends on a terminal
    super(`[${code}] ${printable(text)}`, options);
    this.code = code;
    this.details = details;
  }
}

/** The GPU device is gone (driver reset, unplugged, destroyed behind our back). Open a new one and restore a snapshot. */
export class DeviceLostError extends CorralError {
  override name = "DeviceLostError";
}

/** No adapter of the wanted kind can be opened; the text says what was tried, why each failed and what to install. */
export class AdapterUnavailableError extends CorralError {
  override name = "AdapterUnavailableError";
}

/** A GPU object could not be created: `gpu-out-of-memory`, `gpu-validation` or `gpu-internal`; names the object and its size. */
export class GpuCreationError extends CorralError {
  override name = "GpuCreationError";
}

/** WGSL that does not compile; carries the compiler's messages and the lines around each. */
export class ShaderError extends CorralError {
  override name = "ShaderError";
}
