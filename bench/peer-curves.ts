// Algorithms beside those of others at equal settings and steps: DQN beside Stable-Baselines3's, SAC of discrete actions beside
// one in torch, on Gymnasium's CartPole-v1, PPO beside rsl_rl's, and SAC of hundreds of worlds beside FastTD3 in torch. Trains
// both over several seeds, keeps every run in results/<machine>/curves/ENV.ALGO.json, and prints a table.
// Run: npx tsx bench/peer-curves.ts dqn|sac-discrete|ppo|fasttd3[-cheetah][-raw][-values][-layer-norm] [--seeds 0,1,2] [--peer PYTHON]
// Runs that the results hold already are not made again. --peer names a Python that has tools/reference/requirements.txt, for
// PPO rsl-rl-lib, for that and FastTD3 corral's own package, for FastTD3 torch. -raw: observations as they are; of the peer
// alone -values: critics of values in place of distributions, and -layer-norm: norms that FastTD3 has not.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import "../envs/index.ts";
import { cpuSeconds, machineFacts, machineName } from "../src/bench/machine.ts";
import { guardOutput } from "../src/cli/io.ts";
import { peerTable, type CurveRun, type PeerCurves } from "./learning-page.ts";
import { PEER_CASES } from "./peer-cases.ts";

guardOutput();

const EVAL_EPISODES = 10;
const EVAL_SEED = 2 ** 40;

const { values, positionals } = parseArgs({
  options: { seeds: { type: "string", default: "0,1,2" }, peer: { type: "string" } },
  allowPositionals: true,
});
const [algo] = positionals;
const one = PEER_CASES[algo];
if (!one) throw new Error(`pass an algorithm: ${Object.keys(PEER_CASES).join(", ")}`);
const { env, steps, evalEvery, config } = one;
const { numEnvs = 1 } = config as { numEnvs?: number };

const machine = machineFacts("wasm");
const file = fileURLToPath(new URL(`./results/${machineName(machine)}/curves/${env}.${algo}.json`, import.meta.url));

/** What the results hold, or none of these settings. */
function curves(): PeerCurves {
  const stored = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as PeerCurves) : undefined;
  if (stored && stored.steps === steps && isDeepStrictEqual(stored.config, config)) return stored;
  return { env, steps, config, machine, runs: [], peer: { who: one.peer.who, versions: {}, runs: [] } };
}

function keep(next: PeerCurves): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(next)}\n`);
}

const bySeed = (runs: readonly CurveRun[], run: CurveRun): CurveRun[] =>
  [...runs, run].toSorted((a, b) => a.seed - b.seed);

const told = (value: number): number => Number(value.toPrecision(6));

/** As many worlds as the peer. `seconds` are of processor time. */
async function train(make: NonNullable<typeof one.learner>, seed: number): Promise<CurveRun> {
  const worlds = await one.worlds(numEnvs, seed);
  const judges = await one.worlds(1, seed);
  const learner = await make(worlds, seed);
  const [points, evaluations]: [CurveRun["points"][number][], CurveRun["evaluations"][number][]] = [[], []];
  const start = cpuSeconds();
  while (learner.envSteps < steps) {
    const { episodes, episodeReturn } = await learner.iterate();
    const { envSteps } = learner;
    if (episodes > 0) points.push({ envSteps, episodes, episodeReturn: told(episodeReturn) });
    if (envSteps % evalEvery > 0) continue;
    let sum = 0;
    for (let i = 0; i < EVAL_EPISODES; i++)
      sum += (await learner.evaluate(judges, { seed: EVAL_SEED + EVAL_EPISODES * seed + i })).meanReturn;
    evaluations.push([envSteps, told(sum / EVAL_EPISODES)]);
  }
  const seconds = cpuSeconds() - start;
  await learner.close();
  for (const held of [worlds, judges]) await held.close?.();
  const about = { evalEpisodes: EVAL_EPISODES, load: loadavg()[0], date: new Date().toISOString() };
  return { seed, points, evaluations, seconds, ...about };
}

/** The same of the peer, in a process. */
function trainPeer(python: string, seed: number): { versions: Record<string, string>; run: CurveRun } {
  const script = fileURLToPath(new URL(`../tools/reference/${one.peer.script}`, import.meta.url));
  const setup = { algo, env, seed, steps, evalEvery, evalEpisodes: EVAL_EPISODES, config };
  const { status, stdout, stderr } = spawnSync(python, [script], {
    input: `${JSON.stringify(setup)}\n`,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${python} ${script} ended with ${status}: ${stderr.slice(-2000)}`);
  return JSON.parse(stdout) as ReturnType<typeof trainPeer>;
}

for (const seed of values.seeds.split(",").map(Number)) {
  if (one.learner && !curves().runs.some((run) => run.seed === seed)) {
    const run = await train(one.learner, seed);
    const now = curves();
    keep({ ...now, machine, runs: bySeed(now.runs, run) });
  }
  if (values.peer !== undefined && !curves().peer.runs.some((run) => run.seed === seed)) {
    const { versions, run } = trainPeer(values.peer, seed);
    const now = curves();
    keep({ ...now, peer: { ...now.peer, versions, runs: bySeed(now.peer.runs, run) } });
  }
}
console.log(peerTable(curves(), algo));
