// `corral plan`: every byte of a batch, without a device
import { CorralError } from "../core/errors.ts";
import { formatBytes, formatCount } from "../core/units.ts";
import { readText } from "../core/read-bytes.ts";
import { type Capacity, type CountSpread, measureCapacity } from "../sizing/contact-counts.ts";
import { isModelPath, plannerOf, planWithSavings } from "../sizing/plan.ts";
import type { Saving } from "../sizing/savings.ts";
import { openDevice } from "../gpu/device.ts";
import { defaultLimits, type Plan, type PlanLimits, plannedBudget, planTable, boundText } from "../memory/index.ts";
import type { PlanContext } from "../batch/batch.ts";
import { EXIT, integerOption, parse, print, printJson, progress, UsageError } from "./io.ts";
import { taskOf } from "../env/registry.ts";
import { trainOptions } from "../runs/options.ts";
import { planRun, type RunPlan } from "../runs/plan.ts";
import { table } from "./table.ts";
import { batchOptionsOf, DEVICE_HELP, deviceOf, MODEL_OPTIONS, modelOf, onlyArgument, taskOfTarget } from "./target.ts";
import { answered, settingsOf, TRAIN_FLAGS } from "./train-flags.ts";

export const summary = "every byte of a batch before anything is allocated";

export const help = `
Usage: corral plan MODEL_OR_ENV --envs N [--budget BYTES] [--adapter-limits auto|FILE]
                   [--measure STEPS] [--json]
       corral plan ENV --train [--algo ppo|sac|sac-discrete|dqn] [--envs N] [--budget BYTES]
                   [flags of corral train] [--json]

Prints what a batch of N worlds of a model (path of an MJCF file) or an environment holds: bytes by
field, by world and by shard, what ends its growth, the most worlds that fit, and what other options
would save. Needs no device: the limits are those that every WebGPU device has, and most have more.
With --device wasm what lies in memory without an adapter: pages of WebAssembly, private arrays, and
stacks of threads.

With --train a whole training run: environments, the worlds of evaluations and the learner together,
what lies on the host beside them, and how many worlds can train. It takes the flags of corral
train, of which it heeds what has to do with memory (--envs, --eval-envs, --hidden, --rollout-steps,
--buffer-size, --config FILE, ...).

  --envs N          worlds
  --train           plan a training run
  --budget BYTES    what may be used: 2GiB, 512MB, or a part of this machine's free memory: 0.5, 50%
  --adapter-limits WHAT
                    limits to plan with: auto, those of this machine's adapter; or a file with them,
                    as corral doctor --json prints on another machine
  --measure STEPS   also steps worlds with random actions, counts their contacts and constraint
                    rows, and says what nconmax covers them with a margin; runs on a device
  --worlds N        worlds to measure (64)
${DEVICE_HELP}
  --rolled          kernels with runtime loops instead of straight-line code
  --set NAME=VALUE  overrides an option: integrator=RK4, snapshotEvery=100; may be repeated
  --json            one JSON document on stdout

Exit codes: 0 it fits, 2 bad usage or no readable model, 3 it does not fit.
`;

const OPTIONS = {
  ...MODEL_OPTIONS,
  "adapter-limits": { type: "string" },
  budget: { type: "string" },
  envs: { type: "string" },
  measure: { type: "string" },
  worlds: { type: "string" },
  ...TRAIN_FLAGS,
  train: { type: "boolean" },
} as const;

/** Flags of training runs that batches have too, and those that only batches have. */
const OF_BOTH = ["envs", "set", "adapter", "budget", "device", "threads"];
const OF_BATCHES = ["measure", "worlds", "rolled"];

/** The model of a path, with a line of progress if it is large; the id of an environment as it is. */
const planned = async (target: string) => (isModelPath(target) ? modelOf(target) : target);

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(answered(args), OPTIONS, 1);
  const target = onlyArgument(positionals, "MODEL_OR_ENV");
  const wrong = values.train ? OF_BATCHES : Object.keys(TRAIN_FLAGS).filter((flag) => !OF_BOTH.includes(flag));
  const extra = wrong.find((flag) => flag in values);
  if (extra !== undefined)
    throw new UsageError(`--${extra} is given ${values.train ? "with" : "without"} --train. Leave it out.`);
  const { device, threads, adapter } = deviceOf(values);
  if (values.train) return planTraining(target, values);
  if (values.envs === undefined)
    throw new UsageError("--envs is missing: pass the number of worlds, as in --envs 4096.");
  const numEnvs = integerOption("envs", values.envs, 1);
  const steps = values.measure === undefined ? undefined : integerOption("measure", values.measure, 1000);
  const worlds = integerOption("worlds", values.worlds, 64);
  const context: PlanContext = {
    ...(values.budget === undefined ? {} : { budget: plannedBudget(values.budget) }),
    ...(values["adapter-limits"] === undefined
      ? {}
      : { limits: await limitsOf(values["adapter-limits"], values.adapter) }),
  };

  const options = {
    ...batchOptionsOf(values),
    numEnvs,
    ...(device === undefined ? {} : { device }),
    ...(threads === undefined ? {} : { threads }),
    ...(adapter === undefined ? {} : { adapter }),
  };
  const { savings, ...plan } = await planWithSavings(await plannerOf(await planned(target), options), options, context);
  const measured = steps === undefined ? undefined : await measure(target, steps, worlds, values);

  if (values.json) printJson({ ...plan, savings, ...(measured ? { measured } : {}) });
  else print(describe(plan, savings, measured));
  return plan.problems.length === 0 ? EXIT.done : EXIT.refused;
}

/** Plans a training run. */
async function planTraining(
  target: string,
  values: { readonly json?: boolean; readonly set?: string[]; readonly [flag: string]: unknown },
): Promise<number> {
  const given = values as unknown as Readonly<Record<string, string | undefined>>;
  const { config } = settingsOf(given, values.set, given.config, [target]);
  const limits = given["adapter-limits"];
  const context = limits === undefined ? {} : { limits: await limitsOf(limits, given.adapter) };
  const plan = await planRun(taskOf(target).id, trainOptions(config), context);
  if (values.json)
    printJson({
      ...plan,
      parts: plan.parts.map(({ name, plan: { numEnvs, totalBytes } }) => ({ name, numEnvs, totalBytes })),
    });
  else print(describeRun(plan));
  return plan.problems.length === 0 ? EXIT.done : EXIT.refused;
}

function describeRun(plan: RunPlan): string {
  const rows = plan.parts.map(({ name, plan: { numEnvs, totalBytes } }) => [
    name,
    formatCount(numEnvs),
    formatBytes(totalBytes),
  ]);
  const parts = table([["", "worlds", "bytes"], ...rows, ["together", "", formatBytes(plan.totalBytes)]]);
  const { largestNumEnvs: most, bound, instead } = plan;
  const told = instead.map(({ what, bytes }) => `\nNot held: ${what} (${formatBytes(bytes)}).`);
  const end = `At most ${formatCount(most)} worlds train (${boundText(bound)}).${told.join("")}`;
  return [planTable(plan), parts, end].join("\n\n");
}

async function measure(
  target: string,
  steps: number,
  worlds: number,
  values: { adapter?: string; device?: string; rolled?: boolean; set?: string[] },
): Promise<Capacity> {
  const batch = {
    ...batchOptionsOf(values),
    ...deviceOf(values),
  };
  progress(`measuring ${steps} steps of ${worlds} worlds`);
  return measureCapacity(await taskOfTarget(target), { steps, worlds, batch });
}

/** Limits of an adapter here, or out of a file. Throws `bad-limits`. */
async function limitsOf(text: string, adapter: string | undefined): Promise<PlanLimits> {
  if (text === "auto") {
    using gpu = await openDevice(adapter === undefined ? {} : { adapter });
    return gpu.limits;
  }

  const names = Object.keys(defaultLimits) as (keyof PlanLimits)[];
  const refuse = (why: string) =>
    new CorralError(
      "bad-limits",
      `--adapter-limits is '${text}': ${why}. Pass auto, or a file that holds ${names.join(", ")}, as corral doctor --json prints.`,
    );
  let found: Partial<Record<string, unknown>>;
  try {
    const document = JSON.parse(readText(text)) as { limits?: object } | null;
    found = { ...(document?.limits ?? document) };
  } catch (error) {
    throw refuse((error as Error).message.split("\n")[0]);
  }
  const limits = Object.fromEntries(names.map((name) => [name, found[name]]));
  const missing = names.find((name) => !Number.isSafeInteger(limits[name]) || (limits[name] as number) < 0);
  if (missing !== undefined) throw refuse(`${missing} is ${JSON.stringify(limits[missing]) ?? "missing"}`);
  return limits as unknown as PlanLimits;
}

function describe(plan: Plan, savings: readonly Saving[], measured: Capacity | undefined): string {
  const parts = [planTable(plan)];
  if (savings.length > 0) {
    const rows = savings.map((s) => [
      s.change,
      `${s.bytesPerWorld} B`,
      formatBytes(s.bytes),
      formatCount(s.largestNumEnvs),
    ]);
    parts.push(["What would save bytes", table([["", "a world", "in all", "largest numEnvs"], ...rows])].join("\n"));
  }
  if (measured) parts.push(describeCapacity(measured));
  return parts.join("\n\n");
}

function describeCapacity({ device, worlds, steps, contacts, rows, bound, covering }: Capacity): string {
  const row = (name: string, s: CountSpread, most: number, covers: number) => [
    name,
    s.mean.toFixed(2),
    ...[s.p50, s.p90, s.p99, s.p999, s.max, most, covers].map(String),
  ];
  const header = ["", "mean", "median", "90 %", "99 %", "99.9 %", "most", "possible", "covering"];
  return [
    `Measured: ${formatCount(steps)} control steps of ${formatCount(worlds)} worlds with random actions, on ${device}`,
    table([
      header,
      row("contacts", contacts, bound.nconmax, covering.nconmax),
      row("rows", rows, bound.njmax, covering.njmax),
    ]),
    bound.nconmax === 0
      ? "No two geoms can touch: there is nothing to choose."
      : covering.nconmax < bound.nconmax
        ? `--set nconmax=${covering.nconmax} covers what occurred and a quarter more. Contacts take no memory of the batch; fewer places make a smaller kernel.`
        : "The default, places for all contacts that can be, is needed.",
  ].join("\n");
}
