// `npm run test:soak`: half an hour of stepping, resets, snapshots, constructions and refusals in one process, with what it
// holds looked at every few seconds. Memory of the process and of the device, threads and files must stay flat.
// Prints and writes `results/<machine>/soak.json`; exit code 1 if anything grows.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { guardOutput } from "../src/cli/io.ts";
import { createBudget, CorralError, formatBytes, makeVec, openDevice, type VectorEnv } from "../src/index.ts";
import { machineFacts, machineName } from "../src/bench/machine.ts";
import { trendOf, type Trend } from "../src/bench/trend.ts";

guardOutput();

const HELP = `Usage: npm run test:soak -- [--minutes 30] [--adapter NAME] [--env InvertedPendulum-v5] [--out FOLDER] [--uncollected]

  --uncollected  leave collecting to V8, as in a user's run: shows how much memory waits for it; writes soak-uncollected.json`;

/** What the numbers are of, for who reads the results. */
const METHOD = {
  collected:
    "After each round (50 steps and one of: a snapshot that is put back, a reset, a construction, refusals) garbage is collected, and malloc has one heap (MALLOC_ARENA_MAX=1). Dawn keeps up to 16 KB for the JavaScript objects of a step until V8, which knows nothing of these bytes, collects them: uncollected, malloc's heap swings by tens of MiB and keeps its high water, and no leak could be told from that. Growth is of a line fitted to the samples after the first 30 % of the run.",
  uncollected:
    "Collected when V8 likes, and before each sample: resident and mapped memory hold malloc's high water of what waited for collection. They are shown, with their most, and not judged.",
};
const LARGE = 2048;
const SMALL = 256;
const TOO_MANY = 20_000_000;
const STEPS = 50;

/** Part of the run until compilers, pools and heaps have what they keep. */
const SETTLE = 0.3;

/**
 * Growth over the rest of the run that is no growth: of bytes a part of what the process has (its heap holds compiled code,
 * to which V8 adds for long), of counts a part of themselves.
 */
const TOLERANCE = 0.01;
const OF_PROCESS = new Set<string>(["resident", "mapped", "heap"]);

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    adapter: { type: "string" },
    env: { type: "string", default: "InvertedPendulum-v5" },
    out: { type: "string", default: fileURLToPath(new URL("results", import.meta.url)) },
    uncollected: { type: "boolean", default: false },
    help: { type: "boolean" },
  },
});
const minutes = Number(values.minutes);
if (values.help || !(minutes > 0 && minutes <= 1440)) {
  process.stdout.write(`${HELP}\n`);
  process.exit(values.help ? 0 : 2);
}

// malloc reads how many heaps it may have when a process starts
if (!values.uncollected && process.env.MALLOC_ARENA_MAX === undefined) {
  const env = { ...process.env, MALLOC_ARENA_MAX: "1" };
  const again = spawnSync(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { env, stdio: "inherit" });
  process.exit(again.status ?? 1);
}

/** What is looked at: bytes, and counts. */
const WATCHED = ["resident", "mapped", "heap", "device", "threads", "files"] as const;
type Sample = { readonly minute: number } & Readonly<Record<(typeof WATCHED)[number], number>>;

const done = { steps: 0, resets: 0, snapshots: 0, constructions: 0, refusals: 0 };
const gpu = await openDevice(values.adapter === undefined ? {} : { adapter: values.adapter });
const budget = await createBudget(gpu, { limit: "1GiB" });
const began = performance.now();
const minute = () => (performance.now() - began) / 60_000;
const samples: Sample[] = [];

const env = await makeVec(values.env, {
  numEnvs: LARGE,
  device: gpu,
  seed: 1,
  snapshotEvery: 20,
  autoreset: "same-step",
});
await env.reset();
for (let round = 0; minute() < minutes; round++) {
  await work(env, round);
  if (!values.uncollected) global.gc?.();
  if (minute() >= (samples.at(-1)?.minute ?? -1) + minutes / 120) samples.push(look());
}
await env.close();
budget.assertEmpty();
const { refused } = budget.report();
const uncaptured = gpu.uncaptured.length;
gpu.close();

const settled = samples.filter((sample) => sample.minute >= SETTLE * minutes);
const at = settled.map((sample) => sample.minute);
const whole = settled.reduce((sum, sample) => sum + sample.resident, 0) / Math.max(1, settled.length);
const trends = Object.fromEntries(
  WATCHED.map((name) => {
    const column = settled.map((sample) => sample[name]);
    const allowed = OF_PROCESS.has(name) ? TOLERANCE * whole : TOLERANCE * (column[0] ?? 0);
    return [name, { ...trendOf(at, column, allowed), least: Math.min(...column), most: Math.max(...column) }];
  }),
);
const isJudged = (name: string) => !(values.uncollected && (name === "resident" || name === "mapped"));
const grows = WATCHED.filter((name) => !trends[name].flat && isJudged(name));
const machine = machineFacts(gpu.info.driver);
const folder = join(values.out, machineName(machine));
const method = values.uncollected ? METHOD.uncollected : METHOD.collected;
const result = {
  method,
  minutes,
  env: values.env,
  machine,
  done: { ...done, refused },
  uncaptured,
  grows,
  trends,
  samples,
};
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, values.uncollected ? "soak-uncollected.json" : "soak.json"),
  `${JSON.stringify(result, undefined, 2)}\n`,
);
report();
process.exitCode = grows.length === 0 && uncaptured === 0 ? 0 : 1;

/** One round of what a long run does, and of what goes wrong in one. */
async function work(large: VectorEnv, round: number): Promise<void> {
  for (let i = 0; i < STEPS; i++) {
    await large.step(large.actionSpace.sample(round, { draw: i }), i % 2 === 0 ? {} : ({ readback: false } as never));
    done.steps++;
  }
  if (round % 4 === 0) {
    const snapshot = await large.snapshot();
    await large.step(large.actionSpace.sample(round));
    await large.restore(snapshot);
    done.snapshots++;
  }
  if (round % 4 === 1) {
    await large.reset({ seed: round });
    done.resets++;
  }
  if (round % 4 === 2) {
    await using small = await makeVec(values.env, { numEnvs: SMALL, device: round % 8 === 2 ? gpu : "cpu" });
    await small.reset();
    await small.step(small.actionSpace.sample(0));
    done.constructions++;
  }
  if (round % 4 === 3) {
    await isRefused(() => makeVec(values.env, { numEnvs: TOO_MANY, device: gpu }), "budget-exceeded");
    await isRefused(() => large.step([Number.NaN]), "bad-action");
  }
}

async function isRefused(call: () => Promise<unknown>, code: string): Promise<void> {
  const error = await call().catch((thrown: unknown) => thrown);
  if (!(error instanceof CorralError) || error.code !== code) throw error;
  done.refusals++;
}

function look(): Sample {
  global.gc?.();
  const status = readFileSync("/proc/self/status", "utf8");
  const of = (name: string) => 1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return {
    minute: minute(),
    resident: process.memoryUsage.rss(),
    mapped: of("VmData"),
    heap: process.memoryUsage().heapUsed,
    device: budget.live,
    threads: of("Threads") / 1024,
    files: readdirSync("/proc/self/fd").length,
  };
}

function report(): void {
  const bytes = new Set<string>(["resident", "mapped", "heap", "device"]);
  const line = (name: string, trend: Trend & { least: number; most: number }) => {
    const show = (x: number) =>
      bytes.has(name) ? `${x < 0 ? "-" : ""}${formatBytes(Math.round(Math.abs(x)))}` : x.toFixed(2);
    const verdict = !isJudged(name) ? "not judged" : trend.flat ? "flat" : "GROWS";
    return `${name.padEnd(9)} ${show(trend.mean).padStart(9)}  most ${show(trend.most).padStart(9)}  growth ${show(trend.growth).padStart(9)}  noise ${show(trend.noise).padStart(9)}  ${verdict}`;
  };
  const did = Object.entries(done).map(([name, count]) => `${count} ${name}`);
  const lines = WATCHED.map((name) => line(name, trends[name]));
  process.stdout.write(`${values.env}, ${minutes} minutes: ${did.join(", ")}\n${lines.join("\n")}\n`);
}
