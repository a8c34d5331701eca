import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder and those above it that are missing. Throws what the file system throws.
 * `mkdir` of Node with `recursive` never returns where a file system denies a folder by ENOENT, as /proc does.
 */
export function makeFolder(folder: string, mode = 0o777): void {
  const missing = [folder];
  for (let at = dirname(folder); !existsSync(at); at = dirname(at)) missing.push(at);
  for (const path of missing.toReversed()) {
    try {
      mkdirSync(path, { mode });
    } catch (error) {
      if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
    }
  }
}
