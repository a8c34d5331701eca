// one checkout's side of bench/versions.ts: an environment on the device wasm, in one thread, measured when asked. See sides.ts.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { guardOutput } from "../src/cli/io.ts";
import type { makeVec as MakeVec } from "../src/index.ts";

guardOutput();

interface Setup {
  readonly checkout: string;
  readonly id: string;
  readonly numEnvs: number;
  readonly steps: number;
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { checkout, id, numEnvs, steps } = JSON.parse((await lines.next()).value as string) as Setup;
const { makeVec } = (await import(`${pathToFileURL(checkout).href}/src/index.ts`)) as { makeVec: typeof MakeVec };
await using env = await makeVec(id, { numEnvs, seed: 0, device: "wasm", threads: 1 });
const actions = env.actionSpace.sample(1);

/** Env steps for each second of the processor, of the same steps each time. */
async function rate(): Promise<number> {
  await env.reset({ seed: 1 });
  const used = process.cpuUsage();
  for (let t = 0; t < steps; t++) await env.step(actions);
  const { user, system } = process.cpuUsage(used);
  return (1e6 * steps * numEnvs) / (user + system);
}

await rate();
console.log(JSON.stringify({ id }));
for await (const _ of lines) console.log(JSON.stringify({ rate: await rate() }));
