/** The commands of a checkout that read no task: bundled when sources have changed, since to load them one by one takes seconds. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { keep, keptBuild } from "./kept-build.mjs";

/** The command line's module, as a URL. */
export async function bundledMain() {
  const build = keptBuild("bundled");
  const { folder, making } = build;
  if (making !== undefined) {
    const { bundle } = await import("./bundle.mjs");
    const { copyAssets } = await import("./emit.mjs");
    const dist = join(making, "dist");
    await bundle(dist);
    copyAssets(dist);
    keep(build);
  }
  return pathToFileURL(join(folder, "dist", "src", "cli", "main.js"));
}
