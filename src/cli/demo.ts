// `corral demo`: thousands of HalfCheetahs and Ants, live, beside MuJoCo; then agents that learn
import "../../envs/index.ts";
import { fixed, formatBytes, formatCount } from "../core/units.ts";
import { chooseDevice, isHostDevice, type DeviceOptions } from "../batch/devices.ts";
import { taskOf } from "../env/registry.ts";
import { memoryInfo, shareDevice } from "../gpu/index.ts";
import { hostBudget } from "../memory/host-budget.ts";
import { busyNote, type Bench } from "../bench/report.ts";
import { DemoRun, type DemoProgress } from "../bench/demo.ts";
import { machineFacts } from "../bench/machine.ts";
import { bench } from "../bench/bench.ts";
import { TrainingRun } from "../runs/train.ts";
import { EXIT, integerOption, parse, print, printJson, progress, secondsOption } from "./io.ts";
import { LiveLine } from "./live.ts";
import { rate, table } from "./table.ts";
import { DEVICE_HELP, deviceOf, MODEL_OPTIONS } from "./target.ts";
import { watch } from "./train-watch.ts";

export const summary = "thousands of HalfCheetahs and Ants, live, beside MuJoCo; then agents that learn";

/** In this order. */
const ENVIRONMENTS = ["HalfCheetah-v5", "Ant-v5"];
const EPISODE_STEPS = 200;
/** What is learned at the end, and the mean return that counts as solved. */
const LESSONS = [
  { id: "CartPole", until: 475 },
  { id: "InvertedPendulum-v5", until: 950 },
];

export const help = `
Usage: corral demo [--envs N] [--seconds S] [--json]

Compiles HalfCheetah-v5 and Ant-v5 from their MJCF and steps thousands of worlds of each under
random actions: contacts, observations, rewards, early termination and automatic resets. A live line
shows what happens; as it runs, one world after the other is checked against MuJoCo, which makes the
same control step from the same state in float64. Then come the memory of both, and the throughput
beside MuJoCo's WebAssembly on the same cores. At the end an agent learns CartPole, and another
InvertedPendulum, from nothing until they hold the pole for 475 of 500 and 950 of 1,000 steps. Takes
a minute or two.

  --envs N         worlds of each environment (2048)
  --seconds S      seconds of each environment (12)
  --seed N         seed of starts and actions (0)
${DEVICE_HELP}
  --json           one JSON document on stdout

Exit codes: 0 done, 1 a world is further from MuJoCo than float32 explains or an agent did not
learn, 2 bad usage, 3 no device.
`;

interface Shown {
  readonly run: DemoRun;
  readonly last: DemoProgress;
}

export async function run(args: string[]): Promise<number> {
  const { adapter, device, threads } = MODEL_OPTIONS;
  const texts = { envs: { type: "string" }, seconds: { type: "string" }, seed: { type: "string" } } as const;
  const { values } = parse(args, { adapter, device, threads, ...texts });
  const seconds = secondsOption("seconds", values.seconds, 12);
  const where = deviceOf(values);
  const seed = integerOption("seed", values.seed, 0, 0);
  const options = { numEnvs: integerOption("envs", values.envs, 2048), seed, maxEpisodeSteps: EPISODE_STEPS, ...where };
  const say = values.json ? progress : print;

  const runs: DemoRun[] = [];
  try {
    for (const id of ENVIRONMENTS) {
      const made = await DemoRun.create(taskOf(id), options);
      runs.push(made);
      if (runs.length === 1) {
        const machine = machineFacts(made.deviceName);
        say(`corral on ${machine.driver}\n${machine.cpu}, ${machine.cores} cores, Node ${machine.node}\n`);
      }
      const time = (made.firstStepMs / 1000).toFixed(1);
      say(`${id}: MJCF to the first step of ${formatCount(options.numEnvs)} worlds in ${time} s`);
    }
    say(`\nMemory, all of it reserved before the first step\n\n${memoryTable(runs)}${await budgetText(where)}\n`);

    const shown: Shown[] = [];
    for (const made of runs) shown.push({ run: made, last: await showRun(made, seconds, values.json ?? false) });
    say(
      `\nOne world at a time beside MuJoCo in float64, from the same state under the same action\n\n${checkTable(shown)}\n`,
    );

    say("Measuring beside MuJoCo's WebAssembly, which steps one world in each worker thread ...\n");
    const benches: Bench[] = [];
    for (const id of ENVIRONMENTS) {
      const { numEnvs } = options;
      benches.push(
        await bench(taskOf(id), {
          numEnvs: [numEnvs],
          seconds: Math.min(1, seconds),
          repetitions: 3,
          seed,
          batch: where,
        }),
      );
    }
    say(`${throughputTable(benches)}\n`);
    const good = shown.every(({ last }) => last.checks.failed === 0 && last.trouble === 0);
    say(`${closing(shown, benches, good)}\n`);

    // their memory is back before the agents' is reserved
    while (runs.length > 0) await runs.pop()!.close();
    const isJavaScript = where.device === "cpu" || where.device === "cpu-f64";
    const lessons = isJavaScript ? [] : await learn(where, seed, say, values.json ?? false);
    say("Next: corral train CartPole, corral list, corral bench ENV, corral compare MODEL.xml, corral doctor");
    if (values.json) printJson({ ...document(shown, benches), lessons });
    return good && lessons.every(({ reached }) => reached) ? EXIT.done : EXIT.failed;
  } finally {
    for (const made of runs) await made.close();
  }
}

/** Agents learn from nothing, each until it has solved its environment or has had its steps. */
async function learn(env: object, seed: number, say: (line: string) => void, json: boolean) {
  const learned: { id: string; reached: boolean; seconds: number; envSteps: number; meanReturn: number }[] = [];
  for (const { id, until } of LESSONS) {
    await using run = await TrainingRun.create(id, { seed, until, env });
    const { numEnvs } = run.settings;
    say(`An agent learns ${id} in ${numEnvs} worlds, with PPO on the same device (${formatBytes(run.bytes)} in all)\n`);
    const { reached = false, seconds, envSteps, evaluation } = await watch(run, say, new LiveLine(say, json));
    say("");
    learned.push({ id, reached, seconds, envSteps, meanReturn: evaluation.meanReturn });
  }
  return learned;
}

/** Steps an environment with a line that is rewritten on a terminal, and printed now and then elsewhere. */
async function showRun(run: DemoRun, seconds: number, json: boolean): Promise<DemoProgress> {
  const say = json ? progress : print;
  const live = new LiveLine(say, json);
  const last = await run.run(seconds, (p) => live.show(line(p), p.seconds));
  live.clear();
  say(line(last));
  return last;
}

function line(p: DemoProgress): string {
  const parts = [
    `${p.id} ${p.seconds.toFixed(0).padStart(3)} s`,
    `${rate(p.envStepsPerSec).padStart(9)} env steps/s`,
    p.episodes > 0 ? `return ${fixed(p.meanReturn, 1)}` : "no return yet",
    `${formatCount(p.terminated)} terminated, ${formatCount(p.truncated)} truncated`,
  ];
  if (p.check) parts.push(`MuJoCo within ${p.check.qpos.toExponential(0)}`);
  return parts.join("  ");
}

/** Bytes by arena, both batches and all. */
function memoryTable(runs: readonly DemoRun[]): string {
  const rows: string[][] = [["batch", "arena", "fields", "bytes/world", "bytes"]];
  let total = 0;
  for (const { plan } of runs) {
    for (const [arena, list] of byArena(plan.fields)) {
      const names = list.map((f) => f.name);
      const shown = names.length > 4 ? `${names.slice(0, 4).join(", ")}, ...` : names.join(", ");
      const perWorld = list.reduce((sum, f) => sum + f.bytesPerWorld, 0);
      rows.push([
        plan.name,
        arena,
        shown,
        formatCount(perWorld),
        formatBytes(list.reduce((sum, f) => sum + f.bytes, 0)),
      ]);
    }
    rows.push([plan.name, "all", "", formatCount(plan.bytesPerWorld), formatBytes(plan.totalBytes)]);
    total += plan.totalBytes;
  }
  return `${table(rows, 3)}\n\n  together ${formatBytes(total)}`;
}

/** What they may use by default. */
async function budgetText(where: DeviceOptions): Promise<string> {
  if (isHostDevice(await chooseDevice(where))) {
    const { limit, source } = hostBudget();
    return ` of a budget of ${formatBytes(limit)}, ${source}`;
  }
  const lease = await shareDevice(where.adapter);
  try {
    const { bytes, source } = await memoryInfo(lease.gpu.info);
    return ` of a budget of ${formatBytes(bytes)}, ${source}`;
  } finally {
    lease.release();
  }
}

function byArena<T extends { readonly arena: string }>(fields: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const field of fields) groups.set(field.arena, [...(groups.get(field.arena) ?? []), field]);
  return groups;
}

function checkTable(shown: readonly Shown[]): string {
  const rows = shown.map(({ run, last }) => [
    last.id,
    String(last.checks.count),
    String(run.frameSkip),
    last.checks.qpos.toExponential(1),
    last.checks.qvel.toExponential(1),
    last.checks.failed === 0 ? "none" : String(last.checks.failed),
  ]);
  return table([
    ["environment", "control steps", "physics steps each", "worst qpos", "worst qvel", "out of bounds"],
    ...rows,
  ]);
}

function throughputTable(benches: readonly Bench[]): string {
  const rows = benches.map(({ name, rows: [row], mujoco, ratio }) => [
    name,
    rate(row.physicsStepsPerSec),
    rate(mujoco.workers1.physicsStepsPerSec),
    rate(mujoco.workersN.physicsStepsPerSec),
    `${ratio.workers1.toFixed(1)} x`,
    `${ratio.workersN.toFixed(1)} x`,
  ]);
  const { workers } = benches[0].mujoco.workersN;
  const header = ["physics steps/s", "corral", "MuJoCo, 1 worker", `${workers} workers`, "ratio", "ratio"];
  const notes = benches.map((b) => [b.name, busyNote(b)]).filter(([, note]) => note !== undefined);
  return [table([header, ...rows]), ...notes.map(([name, note]) => `  ${name}: ${note}`)].join("\n");
}

function closing(shown: readonly Shown[], benches: readonly Bench[], good: boolean): string {
  const steps = shown.reduce((sum, { last }) => sum + last.controlSteps * last.numEnvs, 0);
  const physics = shown.reduce((sum, { run, last }) => sum + last.controlSteps * last.numEnvs * run.frameSkip, 0);
  const episodes = shown.reduce((sum, { last }) => sum + last.episodes, 0);
  // where others use the cores, wall-clock ratios flatter whoever waits less
  const busy = benches.some((b) => busyNote(b) !== undefined && b.ratio.perCpuSecond !== null);
  const ratios = benches.map(({ name, ratio }) => {
    const x = busy ? (ratio.perCpuSecond ?? ratio.workersN) : ratio.workersN;
    return `${x.toFixed(1)} x on ${name}`;
  });
  return [
    `${formatCount(steps)} env steps (${formatCount(physics)} physics steps) and ${formatCount(episodes)} episodes; ` +
      (good ? "every checked world agreed with MuJoCo." : "NOT every checked world agreed with MuJoCo."),
    `Against MuJoCo's WebAssembly on all cores${busy ? ", for the same processor time" : ""}: ${ratios.join(", ")}.`,
  ].join("\n");
}

function document(shown: readonly Shown[], benches: readonly Bench[]) {
  return {
    adapter: benches[0].adapter,
    machine: benches[0].machine,
    environments: shown.map(({ run, last }, i) => ({
      ...last,
      firstStepMs: run.firstStepMs,
      bytesPerEnv: run.plan.bytesPerWorld,
      totalBytes: run.plan.totalBytes,
      bench: benches[i],
    })),
  };
}
