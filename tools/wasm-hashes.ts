// test/support/wasm-hashes.json: the bits of the device "wasm", which every machine has to make. Writes it; with --check
// holds this machine and this Node to it, in several counts of threads and worlds, and with --long for 1,000 control steps.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import "../envs/index.ts";
import { list } from "../src/env/index.ts";
import { FLOAT64, hashOf, IN_FLOAT64, inFloat64, LONG, SHORT, type Hashes } from "../test/support/wasm-hashes.ts";

/** Worlds and threads: in the calling thread, no multiple of a vector or a tile, and more threads than cores. */
const BATCHES = [
  { numEnvs: 6, threads: 1 },
  { numEnvs: 13, threads: 1 },
  { numEnvs: 501, threads: 2 },
  { numEnvs: 1001, threads: 7 },
];

const textOf = ({ numEnvs, threads }: (typeof BATCHES)[number]): string => `${numEnvs} worlds, threads: ${threads}`;

/** What is pinned: a name, the environment and its options. */
const PINNED: readonly (readonly [name: string, id: string, options: object])[] = [
  ...list().map((id) => [id, id, {}] as const),
  ...IN_FLOAT64.map((id) => [inFloat64(id), id, FLOAT64] as const),
];

const { values } = parseArgs({ options: { check: { type: "boolean" }, long: { type: "boolean" } } });
const file = new URL("../test/support/wasm-hashes.json", import.meta.url);
if (values.check) await check(JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, Hashes>>);
else await write();

async function write(): Promise<void> {
  const hashes: Record<string, Hashes> = {};
  for (const [name, id, options] of PINNED)
    hashes[name] = { short: await hashOf(id, SHORT, options), long: await hashOf(id, LONG, options) };
  writeFileSync(file, `${JSON.stringify(hashes, undefined, 2)}\n`);
}

async function check(pinned: Readonly<Record<string, Hashes>>): Promise<void> {
  console.log(`Node ${process.versions.node} (V8 ${process.versions.v8}) on ${process.platform}-${process.arch}`);
  let others = 0;
  for (const [name, id, options] of PINNED) {
    const told: string[] = [];
    for (const batch of BATCHES)
      if ((await hashOf(id, SHORT, { ...options, ...batch })) !== pinned[name].short) told.push(textOf(batch));
    if (values.long && (await hashOf(id, LONG, options)) !== pinned[name].long) told.push(`${LONG} control steps`);
    others += told.length;
    console.log(`${name}: ${told.length === 0 ? "the pinned bits" : `OTHER bits (${told.join("; ")})`}`);
  }
  if (others > 0) process.exitCode = 1;
}
