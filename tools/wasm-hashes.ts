// writes test/support/wasm-hashes.json: the bits of the device "wasm", which every machine has to make
import { writeFileSync } from "node:fs";
import "../envs/index.ts";
import { list } from "../src/env/index.ts";
import { hashOf, LONG, SHORT, type Hashes } from "../test/support/wasm-hashes.ts";

const hashes: Record<string, Hashes> = {};
for (const id of list()) hashes[id] = { short: await hashOf(id, SHORT), long: await hashOf(id, LONG) };
writeFileSync(
  new URL("../test/support/wasm-hashes.json", import.meta.url),
  `${JSON.stringify(hashes, undefined, 2)}\n`,
);
