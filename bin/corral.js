#!/usr/bin/env node
// the sources through tsx in a clone, what was built from them in an installed package

import { existsSync } from "node:fs";

const source = new URL("../src/cli/main.ts", import.meta.url);
const cloned = existsSync(source);
if (cloned) {
  if (!existsSync(new URL("../node_modules/tsx", import.meta.url))) {
    process.stderr.write("corral: the dependencies are not installed. Run: npm run setup\n");
    process.exit(1);
  }
  const { register } = await import("tsx/esm/api");
  register();
}
const { main } = await import(cloned ? source : new URL("../dist/src/cli/main.js", import.meta.url));
process.exitCode = await main(process.argv.slice(2));
