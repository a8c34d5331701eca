/**
 * Draws the pictures of README and docs: `npm run pictures`. Pages are pictured in the browser that tests use. The
 * Humanoid is trained first, until it stands for a while (about 230,000 env steps, some minutes), unless
 * `-- --humanoid DIR` names the folder of its run.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const MOST_BYTES = 500_000;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({ options: { humanoid: { type: "string" } } });

function run(...args) {
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit", cwd: root });
  if (status !== 0) process.exit(status ?? 1);
}

const corral = (...args) => run(join(root, "bin", "corral.js"), ...args);
const out = (file) => join(root, "docs", "pictures", file);

const folder = mkdtempSync(join(tmpdir(), "corral-pictures-"));
try {
  const humanoid = values.humanoid ?? join(folder, "humanoid");
  if (!existsSync(humanoid)) corral("train", "Humanoid-v5", "--until", "450", "--out", humanoid);
  corral("render", "Ant-v5", "--worlds", "16", "--steps", "60", "--size", "480x300", "--out", out("ants.gif"));
  corral("render", humanoid, "--steps", "90", "--size", "360x240", "--out", out("humanoid.gif"));
  run("--import", "tsx", join(root, "tools", "page-pictures.ts"), out("crash.png"), out("training.png"));
} finally {
  rmSync(folder, { recursive: true });
}
for (const file of ["ants.gif", "humanoid.gif", "crash.png", "training.png"]) {
  const { size } = statSync(out(file));
  if (size <= MOST_BYTES) continue;
  console.error(`${file} has ${size} bytes, more than ${MOST_BYTES}.`);
  process.exitCode = 1;
}
