/** `npm run check`: formatting, lint, types and tests, all of them even when one fails. Exit code 0 when all passed. */

import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const STEPS = [
  ["format", "oxfmt", ["--check"], "run: npm run format"],
  ["lint", "oxlint", ["--type-aware"], "see above"],
  ["types", "tsc", [], "see above"],
  ["types as published", "tsc", ["-p", "tsconfig.build.json", "--noEmit"], "see above"],
  ["tests", "vitest", ["run"], "see above"],
];

const failed = [];
for (const [name, command, args, remedy] of STEPS) {
  process.stdout.write(`\n== ${name}\n`);
  const env = { ...process.env, PATH: `${root}/node_modules/.bin${process.platform === "win32" ? ";" : ":"}${process.env.PATH}` };
  const shell = process.platform === "win32";
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit", env, shell });
  if (status !== 0) failed.push(`${name} (${remedy})`);
}

process.stdout.write(failed.length === 0 ? "\ncheck: all passed\n" : `\ncheck: failed: ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
