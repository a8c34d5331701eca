// a program for a process of its own: goes on from a snapshot in a file. Prints the hash of where it ends.
import { readFileSync } from "node:fs";
import { deserialize } from "node:v8";
import type { VecSnapshot } from "../../src/env/index.ts";
import { endOf, makeWorlds, WATCHED } from "./invariance.ts";

const [file, device, steps] = process.argv.slice(2);
await using env = await makeWorlds({ worldIds: WATCHED, ...(device === "gpu" ? {} : { device: "cpu" }) });
await env.restore(deserialize(readFileSync(file)) as VecSnapshot);
console.log(await endOf(env, Number(steps)));
