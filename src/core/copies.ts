// the copies of corral in this process: two of them, of any versions, cannot trace one task together
import { CorralError } from "./errors.ts";
import { PACKAGE_FOLDER } from "./host.ts";

// what all copies see: the folder of each
const COPIES = Symbol.for("corral.copies");
const folders = ((globalThis as Record<symbol, unknown>)[COPIES] ??= new Set<string>()) as Set<string>;
folders.add(PACKAGE_FOLDER);

/** The error for what another copy of corral has made; undefined if there is none. */
export function otherCopyError(): CorralError | undefined {
  if (folders.size < 2) return undefined;
  const all = [...folders];
  return new CorralError(
    "two-copies",
    `${all.length} copies of corral are loaded (${all.join(", ")}), and numbers of one mean nothing to the other. ` +
      "Import corral in the task from the copy that runs it, or run the project's own with npx corral.",
    { folders: all },
  );
}
