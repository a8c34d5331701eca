// env steps per second simulated, with inference, and with training; with --python PATH also Stable-Baselines3's PPO on
// Gymnasium's environments, and our re-implementation of CleanRL's. Each side is a process that waits until it is asked:
// all are measured in turns, so that what else the machine does falls on every one.
// Run: npx tsx bench/learning.ts [ENV] [WORLDS] [--seconds S] [--python PATH] [--json] [--out FILE]
// Without ENV: CartPole, HalfCheetah-v5 and Ant-v5. Without WORLDS: those that `corral train` takes, and 1,024.
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { MachineFacts } from "../src/bench/machine.ts";
import { guardOutput } from "../src/cli/io.ts";
import { formatBytes } from "../src/index.ts";
import { runDefaults } from "../src/runs/defaults.ts";
import { Side } from "./sides.ts";

guardOutput();

const { values, positionals } = parseArgs({
  options: {
    seconds: { type: "string", default: "0.7" },
    json: { type: "boolean" },
    python: { type: "string" },
    out: { type: "string" },
  },
  allowPositionals: true,
});
const [only, worlds] = positionals;
const seconds = Number(values.seconds);
const LARGE = 1024;
const KINDS = ["simulated", "inference", "training"] as const;
/** Turns, and seconds after which an environment gets no more than the least. */
const MOST_ROUNDS = 5;
const LEAST_ROUNDS = 3;
const ENOUGH = 35;
const PEERS = [
  ["Stable-Baselines3", "sb3_learning.py"],
  ["CleanRL's PPO, re-implemented", "cleanrl_ppo.py"],
] as const;

type Kind = (typeof KINDS)[number];
type Rates = Record<Kind, number>;

interface OwnFacts {
  readonly machine: MachineFacts;
  readonly withoutThreads: boolean;
  readonly config: Readonly<Record<string, unknown>>;
  readonly bytes: number;
}
interface PeerFacts {
  readonly absent?: string;
  /** The ways that were tried, each for a moment. */
  readonly rows: readonly object[];
}

const median = (list: readonly number[]) => list.toSorted((a, b) => a - b)[list.length >> 1];
const progress = (text: string) => process.stderr.write(`${text}\n`);
const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));

function startOwn(id: string, numEnvs: number): Promise<Side<OwnFacts>> {
  const args = [...process.execArgv, pathOf("learning-side.ts")];
  return Side.start(`${id}, ${numEnvs} worlds`, process.execPath, args, { id, numEnvs, seconds });
}

/** Peers on this machine, the fastest of their ways for each kind; none without a Python. */
async function startPeers(id: string): Promise<Side<PeerFacts>[]> {
  if (values.python === undefined) return [];
  // Gymnasium's CartPole has the same spaces and conditions, and integrates its equations itself
  const setup = { env: id === "CartPole" ? "CartPole-v1" : id, seconds, threads: availableParallelism() };
  const sides: Side<PeerFacts>[] = [];
  for (const [name, file] of PEERS) {
    progress(`${id}: tries the ways of ${name}`);
    const side = await Side.start<PeerFacts>(name, values.python, [pathOf(`../tools/reference/${file}`)], setup);
    if (side.facts.absent !== undefined) throw new Error(side.facts.absent);
    sides.push(side);
  }
  return sides;
}

/** The rates of all sides, round by round. */
async function inTurns(id: string, sides: readonly Side<unknown>[]): Promise<Rates[][]> {
  const rounds: Rates[][] = [];
  const start = performance.now();
  while (rounds.length < MOST_ROUNDS) {
    if (rounds.length >= LEAST_ROUNDS && performance.now() - start > 1000 * ENOUGH) break;
    const round: Rates[] = [];
    for (const side of sides) {
      const [simulated, inference, training] = [
        await side.ask(KINDS[0]),
        await side.ask(KINDS[1]),
        await side.ask(KINDS[2]),
      ];
      round.push({ simulated, inference, training });
    }
    rounds.push(round);
    const told = round.map(({ training }, i) => `${sides[i].name} ${Math.round(training)}`);
    progress(`${id}: round ${rounds.length}, training: ${told.join("; ")}`);
  }
  return rounds;
}

async function measure(id: string, counts: readonly number[]) {
  const own: Side<OwnFacts>[] = [];
  for (const count of counts) own.push(await startOwn(id, count));
  const peers = await startPeers(id);
  const rounds = await inTurns(id, [...own, ...peers]);
  for (const side of [...own, ...peers]) await side.close();
  const over = (side: number, of: (list: number[]) => number) =>
    Object.fromEntries(KINDS.map((kind) => [kind, of(rounds.map((round) => round[side][kind]))])) as Rates;
  const others = peers.map(({ name, facts }, i) => ({ name, ...facts, ...over(own.length + i, median) }));
  return own.map(({ facts }, i) => {
    const { machine, ...rest } = facts;
    // beside the fastest of them, round by round
    const ratios = rounds.map((r) => r[i].training / Math.max(...r.slice(own.length).map(({ training }) => training)));
    const beside = others.length > 0 ? { peers: others, ratio: median(ratios), leastRatio: Math.min(...ratios) } : {};
    const rates = { envStepsPerSec: over(i, median), best: over(i, (list) => Math.max(...list)) };
    return { machine, one: { id, numEnvs: counts[i], ...rest, rounds: rounds.length, ...rates, ...beside } };
  });
}

const whole = (x: number) => Math.round(x).toLocaleString("en").padStart(9);
const line = (name: string, r: Rates) =>
  `${name.padEnd(36)} ${whole(r.simulated)} ${whole(r.inference)} ${whole(r.training)}`;
const tell = (text: string) => (values.json ? undefined : console.log(text));

const found = [];
let machine: MachineFacts | undefined;
tell(`${"env steps/s".padEnd(36)} simulated inference  training`);
for (const id of only ? [only] : ["CartPole", "HalfCheetah-v5", "Ant-v5"]) {
  const counts = worlds ? [Number(worlds)] : [runDefaults(id).numEnvs, LARGE];
  for (const { machine: facts, one } of await measure(id, counts)) {
    machine ??= facts;
    found.push(one);
    tell(line(`${id}, ${one.numEnvs} worlds, ${formatBytes(one.bytes)}`, one.envStepsPerSec));
    for (const peer of one.peers ?? [])
      tell(`${line(`  ${peer.name}`, peer)}  training ${(one.envStepsPerSec.training / peer.training).toFixed(1)} x`);
  }
}
const report = { machine, load: loadavg()[0], date: new Date().toISOString(), found };
if (values.json) console.log(JSON.stringify(report, undefined, 2));
if (values.out) writeFileSync(values.out, `${JSON.stringify(report, undefined, 2)}\n`);
