// learning curves over several seeds: trains as `corral train` does, keeps every run in
// results/<machine>/curves/ENV.json, and writes a table and a chart into the README of the environment.
// Run: npx tsx bench/curves.ts ENV [--seeds 0,1,2] [--steps M] [--again] [--page]
// Seeds that the results hold already, with the same steps and hyperparameters, are not trained again but with --again;
// what was interrupted goes on with the next seed. --page trains nothing and only writes the page.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { tasks } from "../envs/index.ts";
import { machineName } from "../src/bench/machine.ts";
import { guardOutput } from "../src/cli/io.ts";
import { computeWithoutThreads } from "../src/gpu/driver-threads.ts";
import { ppoConfig } from "../src/rl/ppo/config.ts";
import { isShort, runDefaults } from "../src/runs/defaults.ts";
import { toJson } from "../src/runs/folder.ts";
import { TrainingRun } from "../src/runs/train.ts";
import { chosenMachine } from "./chosen-machine.ts";
import {
  curvesChart,
  curvesSection,
  withSection,
  type CurveRun,
  type Curves,
  type Published,
} from "./learning-page.ts";

guardOutput();

const CLEANRL = "https://docs.cleanrl.dev/rl-algorithms/ppo/#experiment-results_5";
const ZOO = "https://github.com/DLR-RM/rl-baselines3-zoo/blob/master/benchmark.md";
const cleanrl = (env: string, value: number, spread: number, minutes: number): Published => ({
  who: "CleanRL",
  what: `${env}, 1 M`,
  kind: "return",
  value,
  spread,
  seconds: 60 * minutes,
  source: CLEANRL,
});
const zoo = (env: string, value: number, spread: number): Published => ({
  who: "RL Zoo",
  what: `Stable-Baselines3 with tuned hyperparameters, one run, ${env}, 1 M`,
  kind: "evaluation",
  value,
  spread,
  source: ZOO,
});

/** PPO's returns as others publish them; minutes are of their machine. */
const PUBLISHED: Readonly<Record<string, readonly Published[]>> = {
  "Hopper-v5": [cleanrl("Hopper-v4", 2382.86, 271.74, 25.7066), zoo("Hopper-v3", 2410.435, 10.026)],
  "HalfCheetah-v5": [cleanrl("HalfCheetah-v4", 1442.64, 46.03, 25.3589), zoo("HalfCheetah-v3", 5819.099, 663.53)],
  "Ant-v5": [zoo("Ant-v3", 1327.158, 451.577)],
  "Humanoid-v5": [cleanrl("Humanoid-v4", 716.11, 49.08, 49.5592)],
  "Walker2d-v5": [cleanrl("Walker2d-v4", 2287.95, 571.78, 24.3157)],
};

/** Evaluations of a run, about: each takes as long as many updates. */
const EVALUATIONS = 10;

const { values, positionals } = parseArgs({
  options: {
    seeds: { type: "string", default: "0,1,2" },
    steps: { type: "string" },
    again: { type: "boolean" },
    page: { type: "boolean" },
  },
  allowPositionals: true,
});
const [id] = positionals;
const task = tasks.find((one) => one.id === id);
if (!task) throw new Error(`pass an environment: ${tasks.map((one) => one.id).join(", ")}`);

if (isShort(id, {})) computeWithoutThreads();
const machine = await chosenMachine();
const file = fileURLToPath(new URL(`./results/${machineName(machine)}/curves/${id}.json`, import.meta.url));
let curves = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Curves) : undefined;

/** Updates between two evaluations of a run. */
function evalEveryOf(steps: number | undefined): number {
  const defaults = runDefaults(id);
  const { rolloutSteps } = ppoConfig(defaults.config);
  return Math.max(1, Math.floor((steps ?? defaults.steps) / EVALUATIONS / (defaults.numEnvs * rolloutSteps)));
}

/** One seed from nothing to the end. */
async function train(seed: number, told: { readonly steps?: number }): Promise<void> {
  const evalEvery = evalEveryOf(told.steps);
  await using run = await TrainingRun.create(id, { ...told, seed, evalEvery, checkpointEvery: 0 });
  const { numEnvs, steps } = run.settings;
  const config = JSON.parse(toJson(run.algorithm.config)) as Record<string, unknown>;
  const same =
    curves && curves.steps === steps && curves.numEnvs === numEnvs && isDeepStrictEqual(curves.config, config);
  if (!same) curves = { env: id, numEnvs, steps, config, machine, runs: [] };
  if (curves!.runs.some((one) => one.seed === seed) && !values.again)
    return console.log(`${id} seed ${seed}: is there`);

  const [points, evaluations]: [CurveRun["points"][number][], CurveRun["evaluations"][number][]] = [[], []];
  const result = await run.train({
    onProgress: ({ envSteps, metrics, evaluation, evaluated }) => {
      const { episodes, episodeReturn } = metrics;
      points.push({ envSteps, episodes, episodeReturn: episodes > 0 ? Number(episodeReturn.toPrecision(6)) : null });
      if (evaluated) evaluations.push([envSteps, Number(evaluation!.meanReturn.toPrecision(6))]);
    },
  });
  const { seconds, evaluation } = result;
  const load = loadavg()[0];
  const one = {
    seed,
    points,
    evaluations,
    evalEpisodes: evaluation.episodes,
    seconds,
    load,
    date: new Date().toISOString(),
  };
  const runs = [...curves!.runs.filter((other) => other.seed !== seed), one].toSorted((a, b) => a.seed - b.seed);
  curves = { ...curves!, machine, runs };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(curves)}\n`);
  console.log(`${id} seed ${seed}: evaluation ${Math.round(evaluation.meanReturn)} after ${Math.round(seconds)} s`);
}

for (const seed of values.page ? [] : values.seeds.split(",").map(Number)) {
  await train(seed, values.steps === undefined ? {} : { steps: Number(values.steps) });
}

if (!curves) throw new Error(`${file} is not there: train first`);
const published = PUBLISHED[id] ?? [];
const folder = new URL("./", task.model);
writeFileSync(new URL("learning.svg", folder), curvesChart(curves, published));
const readme = new URL("README.md", folder);
writeFileSync(readme, withSection(readFileSync(readme, "utf8"), curvesSection(curves, published, "learning.svg")));
