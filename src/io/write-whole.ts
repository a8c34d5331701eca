// files that are whole or not there, also if the process is killed or the machine stops
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { writeSynced } from "../core/write-bytes.ts";

const PARTIAL = /^\..*\.partial-\d+$/;

/** Writes a file beside its place, then renames it into it; both are on the disk when this returns. Throws what the file system throws; then nothing is left. */
export const writeWhole = (path: string, bytes: Uint8Array): void => writeAllWhole({ [path]: bytes });

/** The same for files that belong together, by path: none gets its name before all are written. */
export function writeAllWhole(files: Readonly<Record<string, Uint8Array>>): void {
  const partials = Object.entries(files).map(([path, bytes]) => ({
    path,
    bytes,
    partial: join(dirname(path), `.${basename(path)}.partial-${process.pid}`),
  }));
  try {
    for (const { partial, bytes } of partials) writeSynced(partial, "w", bytes);
    for (const { partial, path } of partials) renameSync(partial, path);
  } catch (error) {
    for (const { partial } of partials) rmSync(partial, { force: true });
    throw error;
  }
  for (const folder of new Set(partials.map(({ path }) => dirname(path)))) syncFolder(folder);
}

/** A name is on the disk once its folder is. */
function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const opened = openSync(folder, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

/** Removes what writers that were killed left in a folder. */
export function removePartial(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (PARTIAL.test(name)) rmSync(join(folder, name), { force: true });
}
