/** `corral bench`: steps per second beside MuJoCo's WebAssembly, in one run on this machine. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatBytes, formatCount } from "../core/units.ts";
import { list } from "../env/index.ts";
import { machineName } from "../forensics/machine.ts";
import { busyNote, type Bench } from "../forensics/bench_report.ts";
import { bench, disableShaderCaches } from "../forensics/throughput.ts";
import { EXIT, integerOption, parse, print, printJson, progress, UsageError } from "./io.ts";
import { rate, table } from "./table.ts";
import { deviceOf, MODEL_OPTIONS, overridesOf, secondsOption, taskOfTarget } from "./target.ts";

export const summary = "steps per second beside MuJoCo's WebAssembly on the same cores";

export const help = `
Usage: corral bench [ENV_OR_MODEL] [--envs 256,1024,4096] [--seconds S] [--json]

Measures an environment or a model (path of an MJCF file; without an argument all environments): physics steps per
second with results left on the device, env steps per second with all results on the host, bytes of a world, and the
time from construction to the results of the first step, with the driver's shader cache off. In the same run MuJoCo's
WebAssembly makes the same steps, one world in one worker thread, then one in each of as many as there are cores: the
same model, options, start states, random controls and lengths of episodes, but no observations or rewards. Everything
is measured by turns; medians are reported, and ratios of the fastest batch.

  --envs LIST       worlds of each batch (256,1024,4096)
  --seconds S       seconds of each measurement (1)
  --repetitions N   measurements of everything (3)
  --workers N       worker threads with MuJoCo (as many as cores)
  --seed N          seed of starts and actions (0)
  --set NAME=VALUE  overrides an option: integrator=Euler, frameSkip=1; may be repeated
  --adapter NAME    auto (default), gpu, system or embedded
  --device NAME     cpu (float32) or cpu-f64 (float64) instead of an adapter
  --rolled          kernels with runtime loops instead of straight-line code
  --out FOLDER      also writes FOLDER/<machine>/<name>.json, and a table of all
  --json            one JSON document on stdout; a list of them where all environments are measured

Exit codes: 0 done, 1 a measurement is worth nothing, 2 bad usage, 3 no device or no memory.
`;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(
    args,
    {
      ...MODEL_OPTIONS,
      envs: { type: "string" },
      seconds: { type: "string" },
      repetitions: { type: "string" },
      workers: { type: "string" },
      seed: { type: "string" },
      out: { type: "string" },
    },
    1,
  );
  const workers = values.workers === undefined ? {} : { workers: integerOption("workers", values.workers, 1) };
  const options = {
    numEnvs: countsOf(values.envs ?? "256,1024,4096"),
    seconds: secondsOption("seconds", values.seconds, 1),
    repetitions: integerOption("repetitions", values.repetitions, 3),
    seed: integerOption("seed", values.seed, 0, 0),
    ...workers,
    batch: {
      ...overridesOf(values.set),
      ...(values.adapter === undefined ? {} : { adapter: values.adapter }),
      ...deviceOf(values.device),
      unroll: !values.rolled,
    },
    onProgress: progress,
  };
  const targets = positionals.length > 0 ? positionals : list();
  disableShaderCaches();

  const results: Bench[] = [];
  for (const target of targets) {
    const result = await bench(await taskOfTarget(target), options);
    results.push(result);
    if (!values.json) print(`${describe(result)}\n`);
    if (values.out !== undefined) save(values.out, result);
  }
  if (values.json) printJson(positionals.length > 0 ? results[0] : results);
  else if (results.length > 1) print(overview(results));
  if (values.out !== undefined && results.length > 1) saveOverview(values.out, results);
  return EXIT.done;
}

function countsOf(text: string): number[] {
  const counts = text.split(",").map((part) => integerOption("envs", part.trim(), 1));
  if (new Set(counts).size < counts.length) throw new UsageError(`--envs is '${text}': pass each count once.`);
  return counts;
}

const percent = (range: { min: number; max: number }, median: number) =>
  `-${((100 * (median - range.min)) / median).toFixed(0)} +${((100 * (range.max - median)) / median).toFixed(0)} %`;

function describe(b: Bench): string {
  const { settings: s, machine: m, mujoco, ratio } = b;
  const rows = b.rows.map((r) => [
    `${formatCount(r.numEnvs)} worlds`,
    rate(r.physicsStepsPerSec),
    percent(r.physicsRange, r.physicsStepsPerSec),
    rate(r.envStepsPerSec),
    `${r.bytesPerEnv} B`,
    `${(r.firstStepMs / 1000).toFixed(2)} s${r.compiled ? "" : " *"}`,
  ]);
  const peers = [mujoco.workers1, ...(mujoco.workersN.workers > 1 ? [mujoco.workersN] : [])].map((p) => [
    `MuJoCo WASM, ${p.workers === 1 ? "1 worker" : `${p.workers} workers`}`,
    rate(p.physicsStepsPerSec),
    percent(p.physicsRange, p.physicsStepsPerSec),
    rate(p.envStepsPerSec),
  ]);
  const header = ["", "physics steps/s", "spread", "env steps/s", "a world", "first step"];
  const lines = [
    `${b.name} on ${b.adapter}`,
    `${m.cpu}, ${m.cores} cores, Node ${m.node}; ${s.frameSkip} x ${s.timestep} s a control step, episodes of ${s.episodeSteps}`,
    "",
    table([header, ...rows, ...peers]),
    "",
    `${formatCount(ratio.numEnvs)} worlds make ${ratio.workers1.toFixed(2)} x the physics steps of one worker (at least ${ratio.workers1Min.toFixed(2)} x), ` +
      `${ratio.workersN.toFixed(2)} x those of ${mujoco.workersN.workers} (at least ${ratio.workersNMin.toFixed(2)} x)`,
  ];
  const busy = busyNote(b);
  if (busy !== undefined) lines.push(busy);
  if (b.rows.length > 1) lines.push("* with the kernels of the row above");
  return lines.join("\n");
}

const HEADER = [
  "environment",
  "worlds",
  "physics steps/s",
  "env steps/s",
  "a world",
  "first step",
  "MuJoCo 1 worker",
  "MuJoCo all cores",
  "ratio 1",
  "ratio all",
];

/** One row an environment: its fastest batch. */
function overviewRows(results: readonly Bench[]): string[][] {
  return results.map((b) => {
    const best = b.rows.find((r) => r.numEnvs === b.ratio.numEnvs)!;
    return [
      b.name,
      formatCount(best.numEnvs),
      rate(best.physicsStepsPerSec),
      rate(best.envStepsPerSec),
      formatBytes(best.bytesPerEnv),
      `${(b.rows[0].firstStepMs / 1000).toFixed(1)} s`,
      rate(b.mujoco.workers1.physicsStepsPerSec),
      rate(b.mujoco.workersN.physicsStepsPerSec),
      b.ratio.workers1.toFixed(2),
      b.ratio.workersN.toFixed(2),
    ];
  });
}

const overview = (results: readonly Bench[]): string => table([HEADER, ...overviewRows(results)]);

function folderOf(out: string, { machine }: Bench): string {
  const folder = join(out, machineName(machine));
  mkdirSync(folder, { recursive: true });
  return folder;
}

function save(out: string, result: Bench): void {
  const file = join(folderOf(out, result), `${result.name.replace(/[^\w.-]+/g, "_")}.json`);
  writeFileSync(file, `${JSON.stringify(result, undefined, 2)}\n`);
  progress(`wrote ${file}`);
}

function saveOverview(out: string, results: readonly Bench[]): void {
  const [{ machine, settings }] = results;
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const lines = [
    `# ${machine.cpu}, ${machine.cores} cores, ${machine.driver}`,
    "",
    `Node ${machine.node}, ${formatBytes(machine.memory)} memory; ${settings.repetitions} measurements of ${settings.seconds} s each, by turns; medians.`,
    "Physics steps stay on the device, env steps bring all results to the host. MuJoCo is its WebAssembly, one world a worker thread.",
    "",
    row(HEADER),
    row(HEADER.map((_, i) => (i === 0 ? "---" : "---:"))),
    ...overviewRows(results).map(row),
  ];
  const file = join(folderOf(out, results[0]), "environments.md");
  writeFileSync(file, `${lines.join("\n")}\n`);
  progress(`wrote ${file}`);
}
