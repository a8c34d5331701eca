/** Builds of a checkout's sources, kept in `.cache` until the sources change. */

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const SOURCES = ["src", "envs", "shaders"];

/** Another process may still use an older build. */
const KEPT_MS = 3_600_000;

/** Where a build of the sources as they are lies, and where to make it if it is not there. */
export function keptBuild(name) {
  const cache = join(root, ".cache", name);
  const folder = join(cache, stamp());
  const making = existsSync(folder) ? undefined : join(cache, `making-${process.pid}`);
  if (making === undefined) return { folder, making };

  mkdirSync(making, { recursive: true });
  for (const old of readdirSync(cache).map((entry) => join(cache, entry))) {
    if (Date.now() - (statSync(old, { throwIfNoEntry: false })?.mtimeMs ?? 0) > KEPT_MS)
      rmSync(old, { recursive: true, force: true });
  }
  cpSync(join(root, "package.json"), join(making, "package.json"));
  return { folder, making };
}

/** Puts what was made in its place. */
export function keep({ folder, making }) {
  try {
    renameSync(making, folder);
  } catch (error) {
    // another process was faster
    rmSync(making, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

/** What changes with any source. */
function stamp() {
  const hash = createHash("sha256");
  const below = (folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const files = [...SOURCES.flatMap(below), ...["package.json", "tools/bundle.mjs"].map((file) => join(root, file))];
  for (const file of files.toSorted((a, b) => (a < b ? -1 : 1))) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}
