/**
 * Env steps per second simulated, with inference, and with training, in turns on one device, so that what else the
 * machine does falls on all three; with --python PATH also Stable-Baselines3's PPO on Gymnasium's environments.
 * Run: npx tsx bench/learning.ts [ENV] [WORLDS] [--seconds S] [--python PATH] [--json] [--out FILE]
 * Without ENV: CartPole, HalfCheetah-v5 and Ant-v5 with the worlds that `corral train` takes, and with 1,024.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { machineFacts } from "../src/forensics/machine.ts";
import { formatBytes, makeVec, Ppo, type VectorEnv } from "../src/index.ts";
import { runDefaults } from "../src/runs/defaults.ts";

const { values, positionals } = parseArgs({
  options: {
    seconds: { type: "string", default: "1" },
    json: { type: "boolean" },
    python: { type: "string" },
    out: { type: "string" },
  },
  allowPositionals: true,
});
const [only, worlds] = positionals;
const seconds = Number(values.seconds);
const ROUNDS = 5;
const LARGE = 1024;

let driver = "";

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

type Rates = { simulated: number; inference: number; training: number };

/** Stable-Baselines3 on this machine, the fastest of its ways for each kind; undefined without a Python. */
function peerOf(id: string): (Rates & { absent?: string }) | undefined {
  if (values.python === undefined) return undefined;
  const script = fileURLToPath(new URL("../tools/reference/sb3_learning.py", import.meta.url));
  // Gymnasium's CartPole has the same spaces and conditions, and integrates its equations itself
  const env = id === "CartPole" ? "CartPole-v1" : id;
  const input = JSON.stringify({ env, seconds, repetitions: 3, threads: availableParallelism() });
  const { stdout, stderr, status } = spawnSync(values.python, [script], { input, encoding: "utf8" });
  if (status !== 0) throw new Error(`${values.python} ${script}: ${stderr}`);
  const found = JSON.parse(stdout.trim().split("\n").at(-1)!) as { absent?: string; rows: Rates[] };
  if (found.absent !== undefined) throw new Error(found.absent);
  const best = (kind: keyof Rates) => Math.max(...found.rows.map((row) => row[kind]));
  return { ...found, simulated: best("simulated"), inference: best("inference"), training: best("training") };
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
  driver = env.deviceName;
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
const peers = new Map<string, ReturnType<typeof peerOf>>();
const whole = (x: number) => Math.round(x).toLocaleString("en").padStart(9);
const line = (name: string, r: Rates) =>
  `${name.padEnd(36)} ${whole(r.simulated)} ${whole(r.inference)} ${whole(r.training)}`;
const tell = (text: string) => (values.json ? undefined : console.log(text));
tell(`${"env steps/s".padEnd(36)} simulated inference  training`);
for (const [id, numEnvs] of cases) {
  if (!peers.has(id)) peers.set(id, peerOf(id));
  const peer = peers.get(id);
  const one = await measure(id, numEnvs);
  const rates = one.envStepsPerSec as Rates;
  found.push({ ...one, ...(peer ? { peer, ratio: rates.training / peer.training } : {}) });
  tell(line(`${id}, ${numEnvs} worlds, ${formatBytes(one.bytes)}`, rates));
  if (peer) tell(`${line("  Stable-Baselines3", peer)}  training ${(rates.training / peer.training).toFixed(1)} x`);
}
const report = { machine: machineFacts(driver), load: loadavg()[0], date: new Date().toISOString(), found };
if (values.json) console.log(JSON.stringify(report, undefined, 2));
if (values.out) writeFileSync(values.out, `${JSON.stringify(report, undefined, 2)}\n`);
