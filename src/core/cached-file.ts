// files of the cache, whole or not at all
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "./make-folder.ts";

/**
 * Writes a file of the cache whole or not at all, beside other processes, and makes its folder. Unlike what must outlast a
 * power cut, it is not forced to the disk. Throws what the file system throws.
 */
export function writeCached(file: string, content: string | Uint8Array): void {
  makeFolder(dirname(file), 0o700);
  const part = `${file}.${process.pid}`;
  try {
    writeFileSync(part, content);
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}
