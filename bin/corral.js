#!/usr/bin/env node
// the project's own copy where it has one; the sources through tsx in a clone, what was built from them in a package

import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = realpathSync(fileURLToPath(new URL("..", import.meta.url)));

// tasks import the copy of their project, and two copies in one process do not understand each other
function projectCopy() {
  try {
    return dirname(realpathSync(createRequire(join(process.cwd(), "corral")).resolve("corral/package.json")));
  } catch {
    return undefined;
  }
}

const inside = (folder, path) => realpathSync(path) === folder || realpathSync(path).startsWith(folder + sep);

// tasks import the sources, which would be a second copy beside what is bundled of them
const WITHOUT_TASKS = ["demo", "doctor", "list"];

async function startOfClone(source) {
  if (WITHOUT_TASKS.includes(process.argv[2])) {
    const { bundledMain } = await import(new URL("../tools/start.mjs", import.meta.url));
    // a checkout that cannot be written to runs from its sources
    const bundled = await bundledMain().catch(() => undefined);
    if (bundled) return bundled;
  }
  const { register } = await import("tsx/esm/api");
  register();
  return source;
}

const copy = projectCopy();
const other = copy !== undefined && copy !== root ? join(copy, "bin", "corral.js") : root;
if (other !== root && existsSync(other)) await import(pathToFileURL(other).href);
else {
  const source = new URL("../src/cli/main.ts", import.meta.url);
  const built = new URL("../dist/src/cli/main.js", import.meta.url);
  // tasks of a project that links this clone import what was built of it
  const linked = copy === root && !inside(root, process.cwd()) && existsSync(built);
  const cloned = !linked && existsSync(source);
  if (cloned) {
    if (!existsSync(new URL("../node_modules/tsx", import.meta.url))) {
      process.stderr.write("corral: the dependencies are not installed. Run: npm run setup\n");
      process.exit(1);
    }
  }
  const { main } = await import(cloned ? await startOfClone(source) : built);
  process.exitCode = await main(process.argv.slice(2), { waits: true });
}
