/**
 * Env steps per second simulated, with inference, and with training, in turns on one device, so that what else the
 * machine does falls on all three; with --python PATH also Stable-Baselines3's PPO on Gymnasium's environments, and our
 * re-implementation of CleanRL's.
 * Run: npx tsx bench/learning.ts [ENV] [WORLDS] [--seconds S] [--python PATH] [--json] [--out FILE]
 * Without ENV: CartPole, HalfCheetah-v5 and Ant-v5 with the worlds that `corral train` takes, and with 1,024.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { computeWithoutThreads } from "../src/gpu/driver-threads.ts";
import { machineFacts, type MachineFacts } from "../src/forensics/machine.ts";
import { formatBytes, makeVec, Ppo, type VectorEnv } from "../src/index.ts";
import { isShort, runDefaults } from "../src/runs/defaults.ts";

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

/** A way of a peer: so many environments; `minibatch` where it says how large its minibatches are. */
type PeerRow = Rates & { readonly minibatch?: number };
type Peer = Rates & { readonly name: string; readonly rows: readonly PeerRow[] };

const PEERS = [
  ["Stable-Baselines3", "sb3_learning.py"],
  ["CleanRL's PPO, re-implemented", "cleanrl_ppo.py"],
] as const;

/** Peers on this machine, the fastest of their ways for each kind; none without a Python. */
function peersOf(id: string): Peer[] {
  if (values.python === undefined) return [];
  const { python } = values;
  // Gymnasium's CartPole has the same spaces and conditions, and integrates its equations itself
  const env = id === "CartPole" ? "CartPole-v1" : id;
  const input = JSON.stringify({ env, seconds, repetitions: 3, threads: availableParallelism() });
  return PEERS.map(([name, file]) => {
    const script = fileURLToPath(new URL(`../tools/reference/${file}`, import.meta.url));
    const { stdout, stderr, status } = spawnSync(python, [script], { input, encoding: "utf8" });
    if (status !== 0) throw new Error(`${python} ${script}: ${stderr}`);
    const found = JSON.parse(stdout.trim().split("\n").at(-1)!) as { absent?: string; rows: PeerRow[] };
    if (found.absent !== undefined) throw new Error(found.absent);
    // minibatches of another size than the published one are told of, and do not count
    const rows = found.rows.filter((row) => row.minibatch === found.rows[0].minibatch);
    const best = (kind: keyof Rates) => Math.max(...rows.map((row) => row[kind]));
    const rates = { simulated: best("simulated"), inference: best("inference"), training: best("training") };
    return { name, ...found, ...rates };
  });
}

/** One case in a process of its own: how many threads a driver takes is settled once in a process. */
function measureApart(id: string, numEnvs: number): Found {
  const args = [fileURLToPath(import.meta.url), id, String(numEnvs), "--json", "--seconds", values.seconds];
  const child = spawnSync(process.execPath, [...process.execArgv, ...args], { encoding: "utf8" });
  if (child.status !== 0) throw new Error(`${id}, ${numEnvs} worlds: ${child.stderr}`);
  const { found, machine } = JSON.parse(child.stdout) as { found: [Found]; machine: MachineFacts };
  driver = machine.driver;
  return found[0];
}

type Found = Awaited<ReturnType<typeof measure>>;

async function measure(id: string, numEnvs: number) {
  const withoutThreads = isShort(id, { numEnvs });
  if (withoutThreads) computeWithoutThreads();
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
    withoutThreads,
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
const peers = new Map<string, Peer[]>();
const whole = (x: number) => Math.round(x).toLocaleString("en").padStart(9);
const line = (name: string, r: Rates) =>
  `${name.padEnd(36)} ${whole(r.simulated)} ${whole(r.inference)} ${whole(r.training)}`;
const tell = (text: string) => (values.json ? undefined : console.log(text));
tell(`${"env steps/s".padEnd(36)} simulated inference  training`);
for (const [id, numEnvs] of cases) {
  if (!peers.has(id)) peers.set(id, peersOf(id));
  const others = peers.get(id)!;
  const one = only ? await measure(id, numEnvs) : measureApart(id, numEnvs);
  const rates = one.envStepsPerSec as Rates;
  // beside the fastest of them
  const ratio = rates.training / Math.max(...others.map((peer) => peer.training));
  found.push({ ...one, ...(others.length > 0 ? { peers: others, ratio } : {}) });
  tell(line(`${id}, ${numEnvs} worlds, ${formatBytes(one.bytes)}`, rates));
  for (const peer of others)
    tell(`${line(`  ${peer.name}`, peer)}  training ${(rates.training / peer.training).toFixed(1)} x`);
}
const report = { machine: machineFacts(driver), load: loadavg()[0], date: new Date().toISOString(), found };
if (values.json) console.log(JSON.stringify(report, undefined, 2));
if (values.out) writeFileSync(values.out, `${JSON.stringify(report, undefined, 2)}\n`);
