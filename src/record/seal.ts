// the manifest of a bundle: what it says, and the size and the SHA-256 of every file
import { CorralError } from "../core/errors.ts";
import { sha256 } from "../core/packing.ts";
import { formatBytes } from "../core/units.ts";
import { pack } from "./pack.ts";

/** Format of a bundle; a reader refuses what is newer than itself. */
export const BUNDLE_VERSION = 2;
export const FORMAT = "corral-bundle";

export interface FileEntry {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * The files with `manifest.json`, and `manifest.sha256` of it.
 * @throws CorralError bundle-too-large
 */
export function seal(
  name: string,
  about: Readonly<Record<string, unknown>>,
  files: ReadonlyMap<string, Uint8Array>,
  maxBytes: number,
): Map<string, Uint8Array> {
  const entries: Record<string, FileEntry> = {};
  for (const [file, bytes] of files) entries[file] = { bytes: bytes.length, sha256: sha256(bytes) };
  const manifest = pack({ format: FORMAT, version: BUNDLE_VERSION, ...about, files: entries }, 1);
  const total = [...files.values()].reduce((sum, { length }) => sum + length, manifest.length);
  if (total > maxBytes) {
    throw new CorralError(
      "bundle-too-large",
      `the bundle ${name} needs ${formatBytes(total)}, recorder.maxBytes is ${formatBytes(maxBytes)}. Raise it, or lower recorder.maxWorlds, everySteps or keep.`,
      { name, bytes: total, maxBytes },
    );
  }
  const checksum = new TextEncoder().encode(`${sha256(manifest)}  manifest.json\n`);
  return new Map([...files, ["manifest.json", manifest], ["manifest.sha256", checksum]]);
}
