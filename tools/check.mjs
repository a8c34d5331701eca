/** `npm run check`: formatting, lint, types, what nothing uses, and tests, all of them even when one fails. Exit code 0 when all passed. */

import { spawnSync } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const STEPS = [
  { name: "format", command: "oxfmt", args: ["--check"], remedy: "run: npm run format" },
  { name: "lint", command: "oxlint", args: ["--type-aware"], remedy: "see above" },
  { name: "types", command: "tsc", args: [], remedy: "see above" },
  { name: "published types", command: "tsc", args: ["-p", "tsconfig.build.json", "--noEmit"], remedy: "see above" },
  { name: "unused", command: "knip", args: ["--no-progress"], remedy: "delete it, or say in knip.json why it stays" },
  { name: "tests", command: "vitest", args: ["run"], remedy: "see above" },
];

const env = { ...process.env, PATH: [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter) };
const failed = [];
for (const { name, command, args, remedy } of STEPS) {
  process.stdout.write(`\n== ${name}\n`);
  const shell = process.platform === "win32";
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit", env, shell });
  if (status !== 0) failed.push(`${name} (${remedy})`);
}

process.stdout.write(failed.length === 0 ? "\ncheck: all passed\n" : `\ncheck: failed: ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
