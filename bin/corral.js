#!/usr/bin/env node
// the sources through tsx in a clone, what was built from them in an installed package

import { existsSync } from "node:fs";

const source = new URL("../src/cli/main.ts", import.meta.url);
if (existsSync(source)) {
  const { register } = await import("tsx/esm/api");
  register();
}
const { main } = await import(existsSync(source) ? source : new URL("../dist/src/cli/main.js", import.meta.url));
process.exitCode = await main(process.argv.slice(2));
