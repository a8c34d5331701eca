// makes folders where Node does not, and refuses files without one
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";

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

/** Throws an error whose code says so if there is no folder for a file that a command was asked to write. */
export function assertFolderOf(file: string): void {
  const folder = dirname(resolve(file));
  // if a file is in the way, the file system says so
  if (statSync(folder, { throwIfNoEntry: false })) return;
  throw Object.assign(new Error(`there is no folder ${folder}`), { code: `there is no folder ${folder}` });
}

/**
 * Makes a folder that a command was asked to fill. Those above it are made within the working folder alone: elsewhere a
 * name that is not there is a mistake. Throws an error whose code says so, and what the file system throws.
 */
export function makeOutputFolder(folder: string): void {
  const within = relative(process.cwd(), dirname(resolve(folder)));
  if (isAbsolute(within) || within.split(/[/\\]/)[0] === "..") assertFolderOf(folder);
  makeFolder(folder);
}
