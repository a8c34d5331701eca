// `corral stress`: more and more worlds until an allocation is refused, in a child process, next to a batch whose results must not change
import { spawn } from "node:child_process";
import { described, integer, real } from "../core/schema.ts";
import { formatBytes, formatCount } from "../core/units.ts";
import { MOST_WORLDS, type StressEvent, stressHere, type StressOptions } from "../sizing/stress.ts";
import { type StressReport, stressPage, stressReport, stressVerdict } from "../sizing/stress-report.ts";
import {
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
  numberOption,
} from "./io.ts";
import { rate, table } from "./table.ts";
import { writeOutput } from "./write-output.ts";
import { taskFileOf } from "./task-file.ts";
import { batchOptionsOf, DEVICE_HELP, deviceOf, MODEL_OPTIONS, onlyArgument, taskOfTarget } from "./target.ts";

export const summary = "more and more worlds until something refuses, and proof that nothing else noticed";

export const help = `
Usage: corral stress ENV_OR_MODEL [--budget BYTES] [--factor 2] [--until refuse|OOM] [--html FILE]
                     [--json]

Makes batches of an environment or a model (path of an MJCF file), each larger than the one before,
by real allocation, until one is refused; then the largest that the plan says fits. Beside them
lives a batch of 64 worlds: after each refusal its bits, at rest and ten steps later, and the bytes
that are held must be what they were. All of it runs in a process of its own, so that this one
outlives whatever a driver does.

  --budget BYTES    what may be held: 2GiB, 512MB, or a part of what is free: 0.5, 50% (the device's
                    default)
  --from N          worlds of the first batch (64)
  --factor F        each batch has F times the worlds of the one before (2)
  --most N          worlds of the last batch, refused or not
  --until WHAT      refuse: the budget or a limit ends it (default); OOM: the driver does. Lavapipe
                    never refuses but dies, and so does memory without an adapter: there the budget
                    stays
  --memory BYTES    bounds the process to so much more address space than it starts with, 16MiB or
                    more, to meet OOM early (Linux, prlimit)
  --seconds S       seconds of each measurement (0.5)
  --seed N          seed of starts and actions (0)
  --set NAME=VALUE  overrides an option: integrator=Euler, nconmax=8; may be repeated
  --rolled          kernels with runtime loops instead of straight-line code
${DEVICE_HELP}
  --html FILE       also writes a page with charts
  --json            one JSON document on stdout

Exit codes: 0 refusals did no harm, 1 they did, the process died or FILE cannot be written, 2 bad
usage or no readable model, 3 not even the smallest batch fits.
`;

const OPTIONS = {
  ...MODEL_OPTIONS,
  budget: { type: "string" },
  child: { type: "boolean" },
  factor: { type: "string" },
  from: { type: "string" },
  html: { type: "string" },
  memory: { type: "string" },
  most: { type: "string" },
  seconds: { type: "string" },
  seed: { type: "string" },
  until: { type: "string" },
} as const;

const FACTOR = described(`a number above 1 and at most ${MOST_WORLDS}, as in 2`, real(1 + Number.EPSILON, MOST_WORLDS));
const WORLDS = integer(1, MOST_WORLDS);

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OPTIONS, 1);
  const target = onlyArgument(positionals, "ENV_OR_MODEL");
  const { budget, until = "refuse", memory } = values;
  const { threads, ...where } = deviceOf(values);
  if (until !== "refuse" && until !== "OOM") throw new UsageError(`--until is '${until}': pass refuse or OOM.`);

  const from = numberOption("from", values.from, WORLDS, 64);
  const most = values.most === undefined ? undefined : numberOption("most", values.most, WORLDS, 1);
  if (most !== undefined && from > most)
    throw new UsageError(`--from is '${from}', above --most, which is '${most}': no batch would be made.`);

  const options: StressOptions = {
    ...where,
    ...(budget === undefined ? {} : { budget }),
    ...(memory === undefined ? {} : { memory }),
    ...(most === undefined ? {} : { most }),
    factor: numberOption("factor", values.factor, FACTOR, 2),
    from,
    until,
    seconds: secondsOption("seconds", values.seconds, 0.5),
    seed: integerOption("seed", values.seed, 0, 0),
    batch: { ...batchOptionsOf(values), ...(threads === undefined ? {} : { threads }) },
  };
  const task = await taskOfTarget(target);

  // this is the process of its own
  if (values.child) {
    // whoever asked was killed: nobody is left to tell, and memory is held for nobody
    const end = () => process.exit(EXIT.failed);
    process.once("disconnect", end);
    process.channel?.unref();
    const told = (error: Error | null) => void (error && end());
    await stressHere(task, options, (event) => void process.send!(event, undefined, undefined, told));
    return EXIT.done;
  }

  assertWritable("html", values.html, { leave: false });
  // the task of a file is registered in this process alone
  const { report, code, signal } = await inChild(args.map((arg) => (arg === target ? (taskFileOf(arg) ?? arg) : arg)));
  if (report === undefined) {
    // a process that ended by itself said why
    if (code === null) progress(`the process died (signal ${signal}) before its first batch was made`);
    return code ?? EXIT.failed;
  }
  if (values.html !== undefined) {
    writeOutput(values.html, stressPage(report));
    progress(`wrote ${values.html}`);
  }
  if (values.json) printJson(report);
  else print(describe(report));
  return report.failures.length === 0 ? EXIT.done : EXIT.failed;
}

/** Runs the same command with `--child` and collects its events. */
async function inChild(
  args: readonly string[],
): Promise<{ report: StressReport | undefined; code: number | null; signal: NodeJS.Signals | null }> {
  const others = args.filter((arg) => arg !== "--json");
  const [program, entry] = corralCommand();
  const child = spawn(program, [entry, "stress", "--child", ...others], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const events: StressEvent[] = [];
  child.on("message", (event: StressEvent) => {
    events.push(event);
    tellProgress(event);
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (...ended) => resolve(ended));
  });
  const finished = events.at(-1)?.kind === "end";
  return { report: stressReport(events, finished ? null : { code, signal }), code, signal };
}

function tellProgress(event: StressEvent): void {
  if (event.kind === "row") {
    const { numEnvs, bytes, envStepsPerSec } = event.row;
    progress(`${formatCount(numEnvs)} worlds: ${formatBytes(bytes)}, ${rate(envStepsPerSec)} env steps/s`);
  }
  if (event.kind === "refusal") progress(`${formatCount(event.refusal.numEnvs)} worlds: ${event.refusal.message}`);
}

function describe(report: StressReport): string {
  const { budget } = report;
  const bounded = budget.limit < 2 ** 50 ? `${formatBytes(budget.limit)} from ` : "";
  const rows = report.rows.map((r) => [
    formatCount(r.numEnvs),
    formatBytes(r.bytes),
    r.bytesPerEnv.toFixed(0),
    String(r.shards),
    `${(r.constructMs / 1000).toFixed(2)} s`,
    rate(r.envStepsPerSec),
    formatBytes(r.residentBytes),
  ]);
  const refusals = report.refusals.map((r) => [
    formatCount(r.numEnvs),
    r.code,
    r.limit,
    `${r.milliseconds.toFixed(1)} ms`,
    r.liveAfter === r.liveBefore
      ? `${formatBytes(r.liveAfter)}, as before`
      : `${formatBytes(r.liveAfter)}, not ${formatBytes(r.liveBefore)}`,
    r.referenceUnchanged ? "unchanged" : "CHANGED",
  ]);
  return [
    `${report.name} on ${report.adapter}`,
    `budget ${bounded}${budget.source}; ${report.reference.numEnvs} worlds beside it hold ${formatBytes(report.reference.bytes)}`,
    "",
    table([["worlds", "held", "B/world", "shards", "first step", "env steps/s", "process"], ...rows], 0),
    "",
    ...(refusals.length > 0
      ? [table([["refused", "code", "limit", "took", "held after", "other batch"], ...refusals], 0), ""]
      : []),
    stressVerdict(report),
  ].join("\n");
}
