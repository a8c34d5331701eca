// DQN beside Stable-Baselines3's at equal settings on Gymnasium's CartPole-v1, whose formulas are here as an environment in
// JavaScript: trains both over several seeds, keeps every run in results/<machine>/curves/CartPole-v1.dqn.json, and prints a table.
// Run: npx tsx bench/dqn-curves.ts [--seeds 0,1,2] [--peer PYTHON]
// Runs that the results hold already are not made again. --peer names a Python that has tools/reference/requirements.txt.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { cpuSeconds, machineFacts, machineName } from "../src/bench/machine.ts";
import { Box, defineJsEnv, Discrete, Dqn, makeJsVec } from "../src/index.ts";
import { peerTable, type CurveRun, type PeerCurves } from "./learning-page.ts";

const STEPS = 30_720;
const EVAL_EVERY = 5_120;
const EVAL_EPISODES = 10;
const EVAL_SEED = 2 ** 40;
/** What RL Baselines3 Zoo sets for DQN on CartPole-v1, but for narrower networks. */
const SETTINGS = {
  hidden: [64, 64],
  collectSteps: 256,
  gradientSteps: 128,
  batchSize: 64,
  bufferSize: 100_000,
  learningStarts: 1000,
  learningRate: 2.3e-3,
  gamma: 0.99,
  explorationSteps: 8000,
  explorationFinal: 0.04,
};
/** Stable-Baselines3 copies the targets once between two collections, and lets them choose what they value. */
const AS_PEER = { tau: 1, targetEvery: SETTINGS.gradientSteps, doubleQ: false };

const { values } = parseArgs({ options: { seeds: { type: "string", default: "0,1,2" }, peer: { type: "string" } } });

/** Gymnasium's CartPole-v1: equations and Euler's method of Barto, Sutton and Anderson (1983), masses in kg, metres. */
const cartpole = defineJsEnv({
  id: "CartPole-v1",
  observationSpace: new Box({ low: -Infinity, high: Infinity, shape: [4] }),
  actionSpace: new Discrete(2),
  maxEpisodeSteps: 500,
  makeWorld() {
    const [gravity, cart, pole, half, force, dt] = [9.8, 1, 0.1, 0.5, 10, 0.02];
    let [x, v, angle, spin] = [0, 0, 0, 0];
    return {
      reset({ random }) {
        [x, v, angle, spin] = [0, 1, 2, 3].map((i) => random.uniform(i) * 0.1 - 0.05);
        return [x, v, angle, spin];
      },
      step([action]) {
        const push = action === 1 ? force : -force;
        const [sin, cos, total] = [Math.sin(angle), Math.cos(angle), cart + pole];
        const along = (push + pole * half * spin * spin * sin) / total;
        const turn = (gravity * sin - cos * along) / (half * (4 / 3 - (pole * cos * cos) / total));
        const speedUp = along - (pole * half * turn * cos) / total;
        [x, v, angle, spin] = [x + dt * v, v + dt * speedUp, angle + dt * spin, spin + dt * turn];
        const terminated = Math.abs(x) > 2.4 || Math.abs(angle) > (12 * 2 * Math.PI) / 360;
        return { observation: [x, v, angle, spin], reward: 1, terminated };
      },
    };
  },
});

const machine = machineFacts("wasm");
const file = fileURLToPath(
  new URL(`./results/${machineName(machine)}/curves/${cartpole.id}.dqn.json`, import.meta.url),
);

/** What the results hold, or none of these settings. */
function curves(): PeerCurves {
  const stored = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as PeerCurves) : undefined;
  if (stored && stored.steps === STEPS && isDeepStrictEqual(stored.config, SETTINGS)) return stored;
  const peer = { who: "Stable-Baselines3", versions: {}, runs: [] };
  return { env: cartpole.id, steps: STEPS, config: SETTINGS, machine, runs: [], peer };
}

function keep(next: PeerCurves): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(next)}\n`);
}

const bySeed = (runs: readonly CurveRun[], run: CurveRun): CurveRun[] =>
  [...runs, run].toSorted((a, b) => a.seed - b.seed);

/** One world, as the peer. `seconds` are of processor time. */
async function train(seed: number): Promise<CurveRun> {
  await using dqn = await Dqn.create(makeJsVec(cartpole, { numEnvs: 1, seed }), { ...SETTINGS, ...AS_PEER, seed });
  const evalEnv = makeJsVec(cartpole, { numEnvs: 1, seed });
  const [points, evaluations]: [CurveRun["points"][number][], CurveRun["evaluations"][number][]] = [[], []];
  const start = cpuSeconds();
  while (dqn.envSteps < STEPS) {
    const { episodes, episodeReturn } = await dqn.iterate();
    const { envSteps } = dqn;
    if (episodes > 0) points.push({ envSteps, episodes, episodeReturn: Number(episodeReturn.toPrecision(6)) });
    if (envSteps % EVAL_EVERY > 0) continue;
    let sum = 0;
    for (let i = 0; i < EVAL_EPISODES; i++)
      sum += (await dqn.evaluate(evalEnv, { seed: EVAL_SEED + EVAL_EPISODES * seed + i })).meanReturn;
    evaluations.push([envSteps, Number((sum / EVAL_EPISODES).toPrecision(6))]);
  }
  const about = { evalEpisodes: EVAL_EPISODES, load: loadavg()[0], date: new Date().toISOString() };
  return { seed, points, evaluations, seconds: cpuSeconds() - start, ...about };
}

/** The same of Stable-Baselines3, in a process. */
function trainPeer(python: string, seed: number): { versions: Record<string, string>; run: CurveRun } {
  const script = fileURLToPath(new URL("../tools/reference/sb3_curves.py", import.meta.url));
  const setup = {
    algo: "dqn",
    env: cartpole.id,
    seed,
    steps: STEPS,
    evalEvery: EVAL_EVERY,
    evalEpisodes: EVAL_EPISODES,
  };
  const input = `${JSON.stringify({ ...setup, config: SETTINGS })}\n`;
  const { status, stdout, stderr } = spawnSync(python, [script], { input, encoding: "utf8" });
  if (status !== 0) throw new Error(`${python} ${script} ended with ${status}: ${stderr.slice(-2000)}`);
  return JSON.parse(stdout) as ReturnType<typeof trainPeer>;
}

for (const seed of values.seeds.split(",").map(Number)) {
  if (!curves().runs.some((run) => run.seed === seed)) {
    const run = await train(seed);
    const now = curves();
    keep({ ...now, machine, runs: bySeed(now.runs, run) });
  }
  if (values.peer !== undefined && !curves().peer.runs.some((run) => run.seed === seed)) {
    const { versions, run } = trainPeer(values.peer, seed);
    const now = curves();
    keep({ ...now, peer: { ...now.peer, versions, runs: bySeed(now.peer.runs, run) } });
  }
}
console.log(peerTable(curves(), "DQN"));
