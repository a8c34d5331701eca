// versions of what runs
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

function versionIn(file: string | URL): string {
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** corral's version, from the nearest package.json above this file. */
export function corralVersion(): string {
  for (const up of ["../../package.json", "../../../package.json"]) {
    const file = new URL(up, import.meta.url);
    if (existsSync(file)) return versionIn(file);
  }
  return "unknown";
}

/** What runs corral. */
export const runtime = (): { readonly node: string; readonly platform: string } => ({
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
});

/** Version of an installed package; "unknown" if it is not found. */
export function packageVersion(name: string): string {
  try {
    for (let folder = dirname(require.resolve(name)); folder !== dirname(folder); folder = dirname(folder)) {
      const file = join(folder, "package.json");
      if (existsSync(file)) return versionIn(file);
    }
  } catch {
    // not installed
  }
  return "unknown";
}
