// `corral bench`: steps per second beside MuJoCo, in one run on this machine
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { makeOutputFolder } from "../core/make-folder.ts";
import { countOf, formatBytes, formatCount } from "../core/units.ts";
import { chooseDevice } from "../batch/devices.ts";
import { list } from "../env/index.ts";
import { bench } from "../bench/bench.ts";
import { MOTIONS, type Motion } from "../bench/actions.ts";
import { firstStepHere, firstSteps } from "../bench/first-step.ts";
import { leftOutText } from "../bench/counts.ts";
import { loopTable, measureLoop, type Loop } from "../bench/loop.ts";
import { benchPage } from "../bench/page.ts";
import { besideEnvpool, busyNote, effort, overview, peersOf, type Bench, type RateRange } from "../bench/report.ts";
import { machineFacts, machineName } from "../bench/machine.ts";
import {
  makeOutput,
  EXIT,
  UsageError,
  assertWritable,
  corralCommand,
  integerOption,
  parse,
  print,
  printJson,
  progress,
  secondsOption,
} from "./io.ts";
import { rate, table } from "./table.ts";
import { writeOutput } from "./write-output.ts";
import { taskFileOf } from "./task-file.ts";
import { DEVICE_HELP, deviceOf, MODEL_OPTIONS, overridesOf, taskOfTarget } from "./target.ts";

export const summary = "steps per second beside MuJoCo on the same cores";

export const help = `
Usage: corral bench [ENV_OR_MODEL] [--quick] [--html FILE] [--out FOLDER] [--json]
       corral bench --loop [ENV_OR_MODEL]
       corral bench --report FOLDER

Measures an environment or a model (path of an MJCF file; without an argument all environments) for
growing numbers of worlds: physics steps per second with controls and results on the device, env
steps per second with actions from the host and all results on it, bytes, and the time to the first
step with the driver's shader cache empty and filled. In the same run MuJoCo makes the same steps:
its WebAssembly, one world in one worker thread and in each of as many as there are cores; native
MuJoCo in a thread pool, where a Python has it; on an NVIDIA GPU MJX, Brax and MuJoCo Warp, where
they are. They use the same model, options, start states, controls and lengths of episodes, and
compute no observations or rewards. EnvPool, where a Python has it, makes env steps of its own
environments in as many threads as there are cores. Everything is measured by turns; medians are
reported, and ratios of the fastest batch.

  --envs LIST       worlds of each batch (16 to 65536, of large models on a CPU those whose steps
                    take 5 s at most); counts that do not fit are reported
  --seconds S       seconds of each measurement (0.5); half of it for env steps
  --repetitions N   measurements of everything (3)
  --quick           three counts, short measurements, no fresh processes, no stages
  --motion NAME     controls: random (drawn anew each control step), or swing (each actuator follows
                    a sine)
  --workers N       worker threads with MuJoCo (as many as cores)
  --python PATH     a Python with native MuJoCo, EnvPool, and on a GPU JAX (CORRAL_PYTHON, or
                    python3)
  --seed N          seed of starts and actions (0)
  --loop            the cost of a control step in microseconds for 1, 64, 1024 and 16384 worlds,
                    instead
  --set NAME=VALUE  overrides an option: integrator=Euler, frameSkip=1; may be repeated
${DEVICE_HELP}
  --rolled          kernels with runtime loops instead of straight-line code
  --out FOLDER      also writes FOLDER/<machine>/<name>.json, a table and report.html
  --report FOLDER   the table and the page again from the documents of FOLDER, measured in pieces;
                    nothing is measured
  --html FILE       writes the report, a page that needs no network
  --json            one JSON document on stdout; a list of them where all environments are measured

Exit codes: 0 done, 1 a measurement is worth nothing or cannot be written, 2 bad usage, 3 no device
or no memory.
`;

const COUNTS = "16,256,1024,4096,16384,65536";
/** Seconds of a control step beyond which counts that nobody asked for are not measured. */
const LONGEST_STEP = 5;
const LOOP_COUNTS = "1,64,1024,16384";
/** Small enough that a step is mostly what surrounds the physics. */
const LOOP_TARGET = "InvertedPendulum-v5";
const QUICK = { envs: "64,1024,4096", seconds: "0.2", repetitions: "1" };

export async function run(args: string[]): Promise<number> {
  const texts = [
    "envs",
    "seconds",
    "repetitions",
    "workers",
    "seed",
    "motion",
    "python",
    "out",
    "html",
    "report",
  ] as const;
  const { values, positionals } = parse(
    args,
    {
      ...MODEL_OPTIONS,
      ...(Object.fromEntries(texts.map((name) => [name, { type: "string" }])) as Record<
        (typeof texts)[number],
        { type: "string" }
      >),
      quick: { type: "boolean" },
      loop: { type: "boolean" },
      // the process of its own of a first step
      "first-step": { type: "boolean" },
    },
    1,
  );
  const { envs, seconds, repetitions } = { ...(values.quick ? QUICK : {}), ...values };
  const batch = {
    ...overridesOf(values.set),
    ...deviceOf(values),
    ...(values.rolled ? { unroll: false } : {}),
  };
  const numEnvs = countsOf(envs ?? (values.loop ? LOOP_COUNTS : COUNTS));
  const length = secondsOption("seconds", seconds, 0.5);

  if (values.report !== undefined) {
    const { benches, loop } = readResults(values.report);
    print(table(overview(benches)));
    saveOverview(values.report, benches, loop);
    return EXIT.done;
  }
  if (values["first-step"]) {
    printJson(await firstStepHere(await taskOfTarget(positionals[0]), { ...batch, numEnvs: numEnvs[0] }));
    return EXIT.done;
  }
  makeOutput("out", values.out);
  const loopOf = async (target: string, counts: readonly number[]) => {
    progress(`${target}: the loop`);
    const loop = await measureLoop(await taskOfTarget(target), counts, length, batch);
    if (values.out !== undefined) write(join(folderOf(values.out, loop.adapter), "loop.json"), document(loop));
    return loop;
  };
  if (values.loop) {
    const loop = await loopOf(positionals[0] ?? LOOP_TARGET, numEnvs);
    if (values.json) printJson(loop);
    else print(`${loop.name} on ${loop.adapter}\n${loop.note}\n\n${table(loopTable(loop))}`);
    return EXIT.done;
  }

  const device = await chooseDevice(batch);
  const fresh = !values.quick && (device === "gpu" || device === "wasm");
  const options = {
    numEnvs,
    ...(values.envs === undefined ? { longestStep: LONGEST_STEP } : {}),
    seconds: length,
    repetitions: integerOption("repetitions", repetitions, 3),
    seed: integerOption("seed", values.seed, 0, 0),
    motion: motionOf(values.motion),
    python: values.python ?? process.env.CORRAL_PYTHON ?? "python3",
    ...(values.workers === undefined ? {} : { workers: integerOption("workers", values.workers, 1) }),
    stages: fresh && device === "gpu",
    batch,
    onProgress: progress,
  };
  assertWritable("html", values.html, { leave: false });
  const results: Bench[] = [];
  for (const target of positionals.length > 0 ? positionals : list()) {
    const found = await bench(await taskOfTarget(target), options);
    const { numEnvs: warm } = found.rows.find((row) => row.compiled)!;
    const result = fresh ? { ...found, firstStep: await timeFirstSteps(target, warm, values) } : found;
    results.push(result);
    if (!values.json) print(`${describe(result)}\n`);
    if (values.out !== undefined) {
      const name = `${result.name.replace(/[^\w.-]+/g, "_")}.json`;
      write(join(folderOf(values.out, result.adapter), name), document(result));
    }
  }

  const all = positionals.length === 0;
  const loop = all && fresh ? await loopOf(LOOP_TARGET, countsOf(LOOP_COUNTS)) : undefined;
  if (values.json) printJson(all ? results : results[0]);
  else if (all) print(table(overview(results)));
  if (values.html !== undefined) write(values.html, benchPage(results, loop));
  if (values.out !== undefined && all) saveOverview(folderOf(values.out, results[0].adapter), results, loop);
  return EXIT.done;
}

function countsOf(text: string): number[] {
  const counts = text.split(",").map((part) => integerOption("envs", part.trim(), 1));
  if (new Set(counts).size < counts.length) throw new UsageError(`--envs is '${text}': pass each count once.`);
  return counts;
}

function motionOf(text: string | undefined): Motion {
  const motion = MOTIONS.find((name) => name === (text ?? "random"));
  if (motion === undefined) throw new UsageError(`--motion is '${text}': pass ${MOTIONS.join(" or ")}.`);
  return motion;
}

/** The same target and options in processes of their own. */
function timeFirstSteps(target: string, numEnvs: number, given: Given) {
  progress(`${target}: first steps in fresh processes`);
  const passed = [
    ...(given.adapter === undefined ? [] : ["--adapter", given.adapter]),
    ...(given.device === undefined ? [] : ["--device", given.device]),
    ...(given.threads === undefined ? [] : ["--threads", given.threads]),
    ...(given.set ?? []).flatMap((setting) => ["--set", setting]),
    ...(given.rolled ? ["--rolled"] : []),
  ];
  // the task of a file is registered in this process alone
  const command = [...corralCommand(), "bench", taskFileOf(target) ?? target, "--first-step"];
  return firstSteps([...command, "--envs", String(numEnvs), ...passed], numEnvs);
}

interface Given {
  readonly adapter?: string;
  readonly device?: string;
  readonly threads?: string;
  readonly set?: readonly string[];
  readonly rolled?: boolean;
}

const percent = (range: RateRange, median: number) =>
  `-${((100 * (median - range.min)) / median).toFixed(0)} +${((100 * (range.max - median)) / median).toFixed(0)} %`;

function describe(b: Bench): string {
  const { settings: s, machine: m, mujoco, native, ratio, growth, firstStep } = b;
  const rows = b.rows.map((r) => [
    `${formatCount(r.numEnvs)} worlds`,
    rate(r.physicsStepsPerSec),
    percent(r.physicsRange, r.physicsStepsPerSec),
    rate(r.envStepsPerSec),
    formatBytes(r.bytes),
    `${(r.firstStepMs / 1000).toFixed(2)} s`,
  ]);
  const peers = peersOf(b).map((p) => [
    p.what,
    rate(p.physicsStepsPerSec),
    percent(p.physicsRange, p.physicsStepsPerSec),
    rate(p.envStepsPerSec),
  ]);
  const header = ["", "physics steps/s", "spread", "env steps/s", "memory", "construct"];
  const contacts = peersOf(b).map((p) => `${p.what} ${p.meanContacts.toFixed(2)}`);
  const lines = [
    `${b.name} on ${b.adapter}`,
    `${m.cpu}, ${m.cores} cores, Node ${m.node}; ${s.frameSkip} x ${s.timestep} s a control step, episodes of ${s.episodeSteps}, ${s.motion} controls`,
    "",
    table([header, ...rows, ...peers]),
    "",
    `${formatCount(ratio.numEnvs)} worlds make ${ratio.workers1.toFixed(2)} x the physics steps of one worker (at least ${ratio.workers1Min.toFixed(2)} x), ` +
      `${ratio.workersN.toFixed(2)} x those of ${mujoco.workersN.workers} (at least ${ratio.workersNMin.toFixed(2)} x)`,
    `${(100 * growth.kept).toFixed(0)} % of the peak at the slowest larger batch; ${b.rows[0].bytesPerEnv} bytes a world`,
    `contacts a world: ${b.contacts.toFixed(2)}, ${contacts.join(", ")}`,
  ];
  if (b.refused)
    lines.push(
      `${formatCount(b.refused.numEnvs)} worlds do not fit (${b.refused.code}); ${formatCount(b.refused.largest)} do`,
    );
  if (b.left) lines.push(leftOutText(b.left));
  if (firstStep) {
    const { cold, warm } = firstStep;
    const time = (value: number) => `${(value / 1000).toFixed(2)} s`;
    lines.push(
      `first step of ${formatCount(firstStep.numEnvs)} worlds in a fresh process: ${time(cold.total)} with an empty shader cache ` +
        `(${time(cold.firstRun)} of it the driver's), ${time(warm.total)} with a filled one`,
    );
  }
  if (b.stages) {
    const { parts, evaluationNs } = b.stages;
    const shares = parts.map((p) => `${p.name} ${((100 * p.nanoseconds) / evaluationNs).toFixed(0)} %`);
    lines.push(`${evaluationNs.toFixed(0)} ns of device time an evaluation: ${shares.join(", ")}`);
  }
  lines.push(...envpoolLines(b));
  if ("absent" in native) lines.push(`native MuJoCo ${native.absent}`);
  if ("absent" in b.jax) lines.push(`MJX, Brax and MuJoCo Warp: ${b.jax.absent}`);
  const busy = busyNote(b);
  if (busy !== undefined) lines.push(busy);
  return lines.join("\n");
}

/** Env steps with results on the host, of the fastest of each. */
function envpoolLines(b: Bench): string[] {
  const { envpool } = b;
  if (envpool === undefined) return [];
  if ("absent" in envpool) return [`EnvPool ${envpool.absent}`];
  const { ours, theirs, ratio, perCpuSecond } = besideEnvpool(b)!;
  const same =
    perCpuSecond === undefined || b.ratio.perCpuSecond === null
      ? ""
      : `; for the same processor time ${perCpuSecond.toFixed(1)} x`;
  return [
    `EnvPool ${envpool.envpool} in ${countOf(theirs.threads, "thread")}: ${rate(theirs.envStepsPerSec)} env steps/s (${formatCount(theirs.numEnvs)} worlds, answers of ${formatCount(theirs.batch)}); ` +
      `${formatCount(ours.numEnvs)} worlds here make ${ratio.toFixed(2)} x that${same}`,
  ];
}

function folderOf(out: string, adapter: string): string {
  const folder = join(out, machineName(machineFacts(adapter)));
  makeOutputFolder(folder);
  return folder;
}

const document = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

function write(file: string, text: string): void {
  writeOutput(file, text);
  progress(`wrote ${file}`);
}

/** The documents of a folder that `--out` wrote. Throws `UsageError`. */
function readResults(folder: string): { benches: Bench[]; loop: Loop | undefined } {
  const none = (why: string) => new UsageError(`--report is '${folder}': ${why}. Pass a folder that --out wrote.`);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) throw none("it is no folder");
  const benches: Bench[] = [];
  let loop: Loop | undefined;
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".json"))) {
    let found: unknown;
    try {
      found = JSON.parse(readFileSync(join(folder, name), "utf8"));
    } catch {
      throw none(`${name} is no JSON document`);
    }
    if (name === "loop.json") loop = found as Loop;
    else if (typeof found === "object" && found !== null && "growth" in found) benches.push(found as Bench);
  }
  if (benches.length === 0) throw none("it holds no result");
  return { benches, loop };
}

/** A table of all environments, and the report. */
function saveOverview(folder: string, results: readonly Bench[], loop: Loop | undefined): void {
  const [{ machine }] = results;
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const [header, ...rows] = overview(results);
  const lines = [
    `# ${machine.cpu}, ${machine.cores} cores, ${machine.driver}`,
    "",
    `Node ${machine.node}, ${formatBytes(machine.memory)} memory; ${effort(results)} of the fastest batch.`,
    "Physics steps stay on the device, env steps bring all results to the host. WASM is MuJoCo's WebAssembly, one world a worker thread; native is mujoco.rollout of the version that its column names, the same as the WebAssembly's.",
    "",
    row(header),
    row(header.map((_, i) => (i === 0 ? "---" : "---:"))),
    ...rows.map(row),
  ];
  write(join(folder, "environments.md"), `${lines.join("\n")}\n`);
  write(join(folder, "report.html"), benchPage(results, loop));
}
