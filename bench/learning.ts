/**
 * Env steps per second simulated, with inference, and with training, in turns on one device, so that what else the
 * machine does falls on all three. Run: npx tsx bench/learning.ts [ENV] [WORLDS] [--seconds S] [--json]
 * Without ENV: CartPole, HalfCheetah-v5 and Ant-v5 with the worlds that `corral train` takes, and with 1,024.
 */
import { parseArgs } from "node:util";
import { formatBytes, makeVec, Ppo, type VectorEnv } from "../src/index.ts";
import { runDefaults } from "../src/runs/defaults.ts";

const { values, positionals } = parseArgs({
  options: { seconds: { type: "string", default: "1" }, json: { type: "boolean" } },
  allowPositionals: true,
});
const [only, worlds] = positionals;
const seconds = Number(values.seconds);
const ROUNDS = 5;
const LARGE = 1024;

const median = (list: readonly number[]) => list.toSorted((a, b) => a - b)[list.length >> 1];

/** Control steps of all worlds per second, times the worlds. */
async function rate(env: VectorEnv, steps: number, run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  let done = 0;
  do {
    await run();
    done += steps;
  } while (performance.now() - start < 1000 * seconds);
  await env.read();
  return (1000 * done * env.numEnvs) / (performance.now() - start);
}

async function measure(id: string, numEnvs: number) {
  await using env = await makeVec(id, { numEnvs, seed: 0 });
  await using ppo = await Ppo.create(env, { ...runDefaults(id).config, seed: 0, schedule: "constant" });
  const { rolloutSteps, epochs, minibatches, hidden } = ppo.config;
  const actions = env.actionSpace.sample(0);
  const kinds = {
    simulated: async () => {
      for (let t = 0; t < rolloutSteps; t++) await env.step(actions, { readback: false });
    },
    inference: () => ppo.collect(),
    training: () => ppo.iterate(),
  };
  await ppo.iterate();
  const rates: Record<string, number[]> = { simulated: [], inference: [], training: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [kind, run] of Object.entries(kinds)) rates[kind].push(await rate(env, rolloutSteps, run));
  }
  return {
    id,
    numEnvs,
    config: { rolloutSteps, epochs, minibatches, hidden },
    bytes: env.plan.totalBytes + ppo.plan.totalBytes,
    envStepsPerSec: Object.fromEntries(Object.entries(rates).map(([kind, list]) => [kind, median(list)])),
    best: Object.fromEntries(Object.entries(rates).map(([kind, list]) => [kind, Math.max(...list)])),
  };
}

const cases = only
  ? [[only, Number(worlds ?? runDefaults(only).numEnvs)] as const]
  : ["CartPole", "HalfCheetah-v5", "Ant-v5"].flatMap((id) => [
      [id, runDefaults(id).numEnvs] as const,
      [id, LARGE] as const,
    ]);
const found = [];
for (const [id, numEnvs] of cases) {
  const one = await measure(id, numEnvs);
  found.push(one);
  const { simulated, inference, training } = one.envStepsPerSec;
  const text = [simulated, inference, training].map((x) => Math.round(x).toString().padStart(9)).join(" ");
  if (!values.json) console.log(`${id.padEnd(15)} ${String(numEnvs).padStart(6)} ${text}  ${formatBytes(one.bytes)}`);
}
if (values.json) console.log(JSON.stringify(found, undefined, 2));
