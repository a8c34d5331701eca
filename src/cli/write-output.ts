// what commands leave behind: whole files, or none
import { CorralError } from "../core/errors.ts";
import { reasonOf, remedyOf } from "../core/write-bytes.ts";
import { writeWhole } from "../io/write-whole.ts";

/** Writes what a command makes: all of it, or nothing. Throws output-not-written. */
export function writeOutput(path: string, content: Uint8Array | string): void {
  try {
    writeWhole(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
  } catch (cause) {
    const reason = reasonOf(cause);
    throw new CorralError(
      "output-not-written",
      `${path} cannot be written (${reason}). ${remedyOf(cause, "write to another place")}`,
      { path, reason },
      { cause },
    );
  }
}
