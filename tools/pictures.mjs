/** Draws the pictures of the README: `npm run pictures`. */

import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** File, and what `corral render` draws there. */
const PICTURES = {
  "ants.gif": ["Ant-v5", "--worlds", "16", "--steps", "60", "--size", "480x300"],
  "humanoid.png": ["Humanoid-v5", "--size", "480x300"],
};

for (const [file, args] of Object.entries(PICTURES)) {
  const out = join(root, "docs", "pictures", file);
  const corral = join(root, "bin", "corral.js");
  const { status } = spawnSync(process.execPath, [corral, "render", ...args, "--out", out], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
