/** The JavaScript of the sources, with shaders and environment models at the places the sources see them. */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** What runs or is read at run time besides the emitted code. */
const ASSETS = {
  shaders: [".wgsl", ".wesl", ".js", ".ts", ".html", ".md"],
  envs: [".xml", ".stl", ".obj", ".png", ".json"],
};

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Writes them into a folder, with further options of tsc; its exit status, 0 if all is there. */
export function emit(dist, ...options) {
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  const args = [tsc, "-p", join(root, "tsconfig.build.json"), "--outDir", dist, ...options];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) return status ?? 1;
  copyAssets(dist);
  return 0;
}

/** Copies shaders and models of environments to where the emitted code looks for them. */
export function copyAssets(dist) {
  for (const [folder, endings] of Object.entries(ASSETS)) {
    const from = join(root, folder);
    if (!existsSync(from)) continue;
    for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !endings.includes(extname(entry.name))) continue;
      const file = join(entry.parentPath, entry.name);
      // only to be read
      const inShaders = relative(join(root, "shaders"), file);
      if (inShaders.startsWith("emitted") || inShaders === "README.md") continue;
      cpSync(file, join(dist, relative(root, file)));
    }
  }
}
