// SAC beside Stable-Baselines3's at equal settings: trains both from the same hyperparameters over several seeds, keeps every
// run in results/<machine>/curves/ENV.sac.json, and writes a table and a chart into the README of the environment.
// Run: npx tsx bench/sac-curves.ts ENV [--seeds 0,1,2] [--peer PYTHON] [--page]
// Runs that the results hold already are not made again. --peer names a Python that has tools/reference/requirements.txt;
// without it corral's side alone is trained. --page trains nothing and only writes the page.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { tasks } from "../envs/index.ts";
import { guardOutput } from "../src/cli/io.ts";
import { computeWithoutThreads } from "../src/gpu/driver-threads.ts";
import { makeVec, Sac } from "../src/index.ts";
import { machineName } from "../src/bench/machine.ts";
import { chosenMachine } from "./chosen-machine.ts";
import { peerSection, peerChart, withSection, PEER, type CurveRun, type PeerCurves } from "./learning-page.ts";

guardOutput();

const STEPS = 12_000;
const EVAL_EVERY = 3000;
const EVAL_EPISODES = 5;
/** Stable-Baselines3's defaults but for narrower networks and a higher rate, so that little time tells something. */
const SETTINGS = {
  hidden: [128, 128],
  batchSize: 256,
  bufferSize: STEPS,
  learningStarts: 100,
  tau: 0.005,
  gamma: 0.99,
  learningRate: 1e-3,
};
const EVAL_SEED = 2 ** 40;

const { values, positionals } = parseArgs({
  options: {
    seeds: { type: "string", default: "0,1,2" },
    peer: { type: "string" },
    page: { type: "boolean" },
  },
  allowPositionals: true,
});
const [id] = positionals;
const task = tasks.find((one) => one.id === id);
if (!task) throw new Error(`pass an environment: ${tasks.map((one) => one.id).join(", ")}`);

computeWithoutThreads();
const machine = await chosenMachine();
const file = fileURLToPath(new URL(`./results/${machineName(machine)}/curves/${id}.sac.json`, import.meta.url));
const stored = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as PeerCurves) : undefined;
let curves: PeerCurves =
  stored && stored.steps === STEPS && isDeepStrictEqual(stored.config, SETTINGS)
    ? stored
    : {
        env: id,
        steps: STEPS,
        config: SETTINGS,
        machine,
        runs: [],
        peer: { who: "Stable-Baselines3", versions: {}, runs: [] },
      };

const bySeed = (runs: readonly CurveRun[], run: CurveRun): CurveRun[] =>
  [...runs, run].toSorted((a, b) => a.seed - b.seed);

function keep(next: PeerCurves): void {
  curves = next;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(curves)}\n`);
}

/** One world, one control step and one batch an update, as the peer. */
async function train(seed: number): Promise<CurveRun> {
  const { learningRate } = SETTINGS;
  await using env = await makeVec(id, { numEnvs: 1, seed });
  await using evalEnv = await makeVec(id, { numEnvs: 1, seed });
  const rates = { criticLearningRate: learningRate, temperatureLearningRate: learningRate };
  await using sac = await Sac.create(env, { ...SETTINGS, ...rates, seed });
  const [points, evaluations]: [CurveRun["points"][number][], CurveRun["evaluations"][number][]] = [[], []];
  const start = performance.now();
  while (sac.envSteps < STEPS) {
    const { episodes, episodeReturn } = await sac.iterate();
    const { envSteps } = sac;
    if (episodes > 0) points.push({ envSteps, episodes, episodeReturn: Number(episodeReturn.toPrecision(6)) });
    if (envSteps % EVAL_EVERY > 0) continue;
    let sum = 0;
    for (let i = 0; i < EVAL_EPISODES; i++)
      sum += (await sac.evaluate(evalEnv, { seed: EVAL_SEED + EVAL_EPISODES * seed + i })).meanReturn;
    evaluations.push([envSteps, Number((sum / EVAL_EPISODES).toPrecision(6))]);
  }
  const seconds = (performance.now() - start) / 1000;
  const about = { evalEpisodes: EVAL_EPISODES, seconds, load: loadavg()[0], date: new Date().toISOString() };
  return { seed, points, evaluations, ...about };
}

/** The same of Stable-Baselines3, in a process. */
function trainPeer(python: string, seed: number): { versions: Record<string, string>; run: CurveRun } {
  const script = fileURLToPath(new URL("../tools/reference/sb3_curves.py", import.meta.url));
  const setup = { env: id, seed, steps: STEPS, evalEvery: EVAL_EVERY, evalEpisodes: EVAL_EPISODES, config: SETTINGS };
  const { status, stdout, stderr } = spawnSync(python, [script], {
    input: `${JSON.stringify(setup)}\n`,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${python} ${script} ended with ${status}: ${stderr.slice(-2000)}`);
  return JSON.parse(stdout) as ReturnType<typeof trainPeer>;
}

const tell = (who: string, { seed, evaluations, seconds }: CurveRun) =>
  console.log(`${id} seed ${seed}, ${who}: evaluation ${evaluations.at(-1)?.[1]} after ${Math.round(seconds)} s`);

// runs of before a change are no part of those to come
if (curves.note !== undefined && !values.page) {
  const { note: _, ...rest } = curves;
  curves = { ...rest, runs: [] };
}

for (const seed of values.page ? [] : values.seeds.split(",").map(Number)) {
  if (!curves.runs.some((run) => run.seed === seed)) {
    const run = await train(seed);
    keep({ ...curves, machine, runs: bySeed(curves.runs, run) });
    tell("corral", run);
  }
  if (values.peer !== undefined && !curves.peer.runs.some((run) => run.seed === seed)) {
    const { versions, run } = trainPeer(values.peer, seed);
    keep({ ...curves, peer: { ...curves.peer, versions, runs: bySeed(curves.peer.runs, run) } });
    tell(curves.peer.who, run);
  }
}

const folder = new URL("./", task.model);
writeFileSync(new URL("learning-sac.svg", folder), peerChart(curves));
const readme = new URL("README.md", folder);
writeFileSync(readme, withSection(readFileSync(readme, "utf8"), peerSection(curves, "learning-sac.svg"), PEER));
