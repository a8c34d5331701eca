// test/support/wasm-hashes.json: the bits of the device "wasm", which every machine has to make. Writes it; with --check
// holds this machine and this Node to it, in several counts of threads and worlds, and with --long for 1,000 control steps.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import "../envs/index.ts";
import { list } from "../src/env/index.ts";
import { hashOf, LONG, SHORT, type Hashes } from "../test/support/wasm-hashes.ts";

/** Worlds and threads: in the calling thread, no multiple of a vector or a tile, and more threads than cores. */
const BATCHES = [
  { numEnvs: 6, threads: 1 },
  { numEnvs: 13, threads: 1 },
  { numEnvs: 501, threads: 2 },
  { numEnvs: 1001, threads: 7 },
];

const textOf = ({ numEnvs, threads }: (typeof BATCHES)[number]): string => `${numEnvs} worlds, threads: ${threads}`;

const { values } = parseArgs({ options: { check: { type: "boolean" }, long: { type: "boolean" } } });
const file = new URL("../test/support/wasm-hashes.json", import.meta.url);
if (values.check) await check(JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, Hashes>>);
else await write();

async function write(): Promise<void> {
  const hashes: Record<string, Hashes> = {};
  for (const id of list()) hashes[id] = { short: await hashOf(id, SHORT), long: await hashOf(id, LONG) };
  writeFileSync(file, `${JSON.stringify(hashes, undefined, 2)}\n`);
}

async function check(pinned: Readonly<Record<string, Hashes>>): Promise<void> {
  console.log(`Node ${process.versions.node} (V8 ${process.versions.v8}) on ${process.platform}-${process.arch}`);
  let others = 0;
  for (const id of list()) {
    const told: string[] = [];
    for (const batch of BATCHES) if ((await hashOf(id, SHORT, batch)) !== pinned[id].short) told.push(textOf(batch));
    if (values.long && (await hashOf(id, LONG)) !== pinned[id].long) told.push(`${LONG} control steps`);
    others += told.length;
    console.log(`${id}: ${told.length === 0 ? "the pinned bits" : `OTHER bits (${told.join("; ")})`}`);
  }
  if (others > 0) process.exitCode = 1;
}
