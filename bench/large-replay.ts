// SAC from thousands of worlds and large batches, beside SAC from a few worlds and PPO: returns of evaluations over env steps
// and over processor seconds of one thread, evaluations left out.
// Run: npx tsx bench/large-replay.ts ENV CASE[,CASE...] [--seeds 0,1] [--seconds S] [--set NAME=VALUE ...]
import { parseArgs } from "node:util";
import "../envs/index.ts";
import { cpuSeconds } from "../src/bench/machine.ts";
import { guardOutput } from "../src/cli/io.ts";
import { makeVec, Ppo, Sac } from "../src/index.ts";
import { runDefaults } from "../src/runs/defaults.ts";
import { LARGE_REPLAY_CASES } from "./large-replay-cases.ts";

guardOutput();

/** Worlds of an evaluation, one episode each, and how many of them a run has about. */
const EVAL_WORLDS = 32;
const EVALUATIONS = 20;

const { values, positionals } = parseArgs({
  options: {
    seeds: { type: "string", default: "0" },
    seconds: { type: "string", default: "60" },
    set: { type: "string", multiple: true, default: [] },
  },
  allowPositionals: true,
});
const [id = "InvertedPendulum-v5", names = "large"] = positionals;
const seconds = Number(values.seconds);
const given = Object.fromEntries(
  values.set.map((text) => {
    const [name, value] = text.split("=");
    return [name, JSON.parse(value) as unknown];
  }),
);

async function train(name: string, seed: number): Promise<void> {
  const { algo, numEnvs: worlds, config = {} } = LARGE_REPLAY_CASES[name];
  const defaults = runDefaults(id, algo);
  const { numEnvs = worlds ?? defaults.numEnvs, ...set } = given as { numEnvs?: number };
  const options = { ...(worlds === undefined ? defaults.config : {}), ...config, ...set, seed };
  const where = { device: "wasm", threads: 1, recorder: false, seed, autoreset: "next-step" } as const;
  await using env = await makeVec(id, { ...where, numEnvs });
  await using judges = await makeVec(id, { ...where, numEnvs: Math.min(EVAL_WORLDS, numEnvs) });
  await using learner = algo === "ppo" ? await Ppo.create(env, options) : await Sac.create(env, options);
  const rows: string[] = [];
  let [spent, next] = [0, seconds / EVALUATIONS];
  while (spent < seconds) {
    const start = cpuSeconds();
    await learner.iterate();
    spent += cpuSeconds() - start;
    if (spent < next) continue;
    next += seconds / EVALUATIONS;
    const { meanReturn } = await learner.evaluate(judges, { seed: 2 ** 40 });
    rows.push(`${spent.toFixed(1)} s ${learner.envSteps} ${meanReturn.toFixed(0)}`);
    console.log(`${id} ${name} seed ${seed}: ${rows.at(-1)!} (${learner.iteration} updates)`);
  }
}

for (const name of names.split(",")) for (const seed of values.seeds.split(",").map(Number)) await train(name, seed);
