// files of this machine that MuJoCo reads while it compiles a model
import { accessSync, constants, readdirSync, readFileSync, statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { FileTree } from "./files.ts";

/** What is asked of a path; the published types name none of Node's. */
export interface PathStat {
  readonly size: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

/** What lies at a path of this machine; undefined also for a path that cannot be one. */
export function statOf(path: string): PathStat | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The machine's own files. Every file that is read is kept in `seen`, so that a model can be compiled again elsewhere. */
export function hostTree(seen: Map<string, Uint8Array>): FileTree {
  // drive letters stand if a POSIX path has nothing
  const toHost = (path: string) => (isAbsolute(path) ? path : resolve("/", path));
  const stat = (path: string) => statOf(toHost(path));
  return {
    size(path) {
      const file = stat(path);
      if (!file?.isFile()) return undefined;
      try {
        accessSync(toHost(path), constants.R_OK);
        return file.size;
      } catch {
        // a file that may not be read is missing to MuJoCo, which names it
        return undefined;
      }
    },
    read(path) {
      const known = seen.get(path);
      if (known) return known;
      if (!stat(path)?.isFile()) return undefined;
      try {
        const bytes = new Uint8Array(readFileSync(toHost(path)));
        seen.set(path, bytes);
        return bytes;
      } catch {
        return undefined;
      }
    },
    isDirectory: (path) => path === "" || stat(path)?.isDirectory() === true,
    folders(path) {
      try {
        // links too: what they lead to is not looked up
        const entries = readdirSync(toHost(path), { withFileTypes: true }).filter((entry) => !entry.isFile());
        return entries.map(({ name }) => name).filter((name) => !/^\.|^node_modules$/.test(name));
      } catch {
        return [];
      }
    },
  };
}
