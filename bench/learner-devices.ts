// PPO as `corral train` sets it up, on wasm and on the system's driver in turns: env steps/s with training.
// npx tsx bench/learner-devices.ts [--seconds S] [--rounds N] ENV ...
import { parseArgs } from "node:util";
import "../envs/index.ts";
import { guardOutput } from "../src/cli/io.ts";
import { makeVec, type VectorEnv } from "../src/env/index.ts";
import { Ppo } from "../src/rl/index.ts";
import type { PpoConfig } from "../src/rl/ppo/config.ts";
import { runDefaults } from "../src/runs/defaults.ts";

guardOutput();

const { values, positionals } = parseArgs({
  options: { seconds: { type: "string" }, rounds: { type: "string" } },
  allowPositionals: true,
});
const seconds = Number(values.seconds ?? 1.5);
const rounds = Number(values.rounds ?? 5);
const targets = positionals.length > 0 ? positionals : ["CartPole", "HalfCheetah-v5", "Ant-v5", "Humanoid-v5"];

const SIDES = [{ device: "wasm" }, { device: "gpu", adapter: "system" }] as const;

const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1];

interface Side {
  readonly env: VectorEnv;
  readonly ppo: Ppo;
  readonly rates: number[];
}

async function sideOf(id: string, where: (typeof SIDES)[number]): Promise<Side> {
  const { config, numEnvs } = runDefaults(id);
  const env = await makeVec(id, { numEnvs, autoreset: "next-step", seed: 1, ...where });
  const ppo = await Ppo.create(env, { ...(config as Partial<PpoConfig>), seed: 1 });
  for (let i = 0; i < 2; i++) await ppo.iterate();
  return { env, ppo, rates: [] };
}

for (const id of targets) {
  const sides: Side[] = [];
  for (const where of SIDES) sides.push(await sideOf(id, where));
  for (let round = 0; round < rounds; round++)
    for (const { ppo, rates } of sides) {
      const [before, begin] = [ppo.envSteps, performance.now()];
      while (performance.now() - begin < 1000 * seconds) await ppo.iterate();
      rates.push((1000 * (ppo.envSteps - before)) / (performance.now() - begin));
    }
  const ratios = sides[0].rates.map((rate, i) => rate / sides[1].rates[i]);
  for (const { env, rates } of sides)
    console.log(`${id}, ${env.numEnvs} worlds: ${Math.round(median(rates))} env steps/s on ${env.deviceName}`);
  console.log(`${id}: ratio ${median(ratios).toFixed(2)}`);
  for (const { ppo, env } of sides) {
    await ppo.close();
    await env.close();
  }
}
