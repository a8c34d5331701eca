// one environment on every device of this machine, in turns: env steps/s with actions from the host and results on it, by
// wall clock and by processor time, which says more where others use the cores.
// npx tsx bench/devices.ts [--seconds S] [--rounds N] [--out FILE] ENV=WORLDS ...
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import "../envs/index.ts";
import { machineFacts } from "../src/bench/machine.ts";
import { guardOutput } from "../src/cli/io.ts";
import { makeVec, type VectorEnv } from "../src/env/index.ts";

guardOutput();

const { values, positionals } = parseArgs({
  options: { seconds: { type: "string" }, rounds: { type: "string" }, out: { type: "string" } },
  allowPositionals: true,
});
const seconds = Number(values.seconds ?? 0.5);
const rounds = Number(values.rounds ?? 3);
const targets = positionals.length > 0 ? positionals : ["HalfCheetah-v5=4096", "Ant-v5=2048", "Humanoid-v5=512"];

const SIDES = {
  wasm: { device: "wasm" },
  system: { device: "gpu", adapter: "system" },
  embedded: { device: "gpu", adapter: "embedded" },
} as const;

interface Rates {
  readonly wall: number[];
  readonly processor: number[];
}

/** Steps for a time of the processor, at least twice. */
async function slice(env: VectorEnv, rates: Rates): Promise<void> {
  const actions = env.actionSpace.sample(1);
  const [begin, used] = [performance.now(), process.cpuUsage()];
  let cpu = 0;
  let steps = 0;
  while (steps < 2 || cpu < seconds * 1e6) {
    await env.step(actions);
    steps++;
    const { user, system } = process.cpuUsage(used);
    cpu = user + system;
  }
  const made = steps * env.numEnvs;
  rates.wall.push((1000 * made) / (performance.now() - begin));
  rates.processor.push((1e6 * made) / cpu);
}

const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1];

const documents: object[] = [];
for (const target of targets) {
  const [id, worlds] = target.split("=");
  const sides: { name: string; env: VectorEnv; rates: Rates }[] = [];
  for (const [name, where] of Object.entries(SIDES)) {
    try {
      const env = await makeVec(id, { numEnvs: Number(worlds), recorder: false, ...where });
      await env.reset({ seed: 1 });
      for (let t = 0; t < 3; t++) await env.step(env.actionSpace.sample(t));
      sides.push({ name, env, rates: { wall: [], processor: [] } });
    } catch (error) {
      console.log(`${id} on ${name}: ${(error as Error).message}`);
    }
  }
  for (let round = 0; round < rounds; round++) for (const { env, rates } of sides) await slice(env, rates);
  for (const { name, env, rates } of sides) {
    const [wall, processor] = [median(rates.wall), median(rates.processor)];
    const own = sides[0].rates;
    const ratio = median(own.processor.map((x, i) => x / rates.processor[i]));
    documents.push({
      env: id,
      worlds: Number(worlds),
      side: name,
      device: env.deviceName,
      wall,
      processor,
      wasmAgainst: ratio,
    });
    console.log(
      `${id} ${worlds} ${env.deviceName}: ${Math.round(wall)}/s by the clock, ${Math.round(processor)} a processor second; wasm makes ${ratio.toFixed(2)} x`,
    );
    await env.close();
  }
}
const result = { machine: machineFacts("wasm"), seconds, rounds, rows: documents };
if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(result, undefined, 2)}\n`);
