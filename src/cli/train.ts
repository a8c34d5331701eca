/** `corral train`: an agent learns an environment on the device. */

import { join } from "node:path";
import { nearest } from "../core/names.ts";
import { formatBytes, formatCount } from "../core/units.ts";
import { taskOf } from "../env/registry.ts";
import { PPO_OPTIONS } from "../rl/config.ts";
import { assertNewFolder, configOf, readConfig, RunFolder } from "../runs/folder.ts";
import { TrainingRun, type TrainOptions, type TrainProgress, type TrainResult } from "../runs/train.ts";
import { EXIT, parse, print, printJson, progress, UsageError } from "./io.ts";
import { LiveLine } from "./live.ts";
import { rate, sparkline } from "./table.ts";
import { onlyArgument, overridesOf } from "./target.ts";

export const summary = "an agent learns an environment on the device";

/** Settings of the run, beside the hyperparameters; each is a flag and a name in config files. */
const RUN_OPTIONS = {
  numEnvs: "worlds",
  steps: "env steps of the whole run",
  seed: "of start states, parameters, actions and the order of samples",
  until: "end once an evaluation's mean return is at least this",
  evalEvery: "updates between two evaluations",
  evalEnvs: "worlds of an evaluation, one episode each, with the most likely actions",
} as const;

const flagOf = (name: string): string =>
  name === "numEnvs" ? "envs" : name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const show = (value: unknown): string => (Array.isArray(value) ? value.join(",") : String(value));

const hyperparameters = Object.entries(PPO_OPTIONS)
  .map(([name, row]) => {
    const words = "oneOf" in row ? ` (${row.oneOf.join(", ")})` : "";
    return `  --${flagOf(name).padEnd(23)} ${row.doc}${words} [${show(row.default)}]`;
  })
  .join("\n");

const settings = Object.entries(RUN_OPTIONS)
  .map(([name, doc]) => `  --${flagOf(name).padEnd(23)} ${doc}`)
  .join("\n");

export const help = `
Usage: corral train ENV [--envs N] [--steps M] [--seed S] [--algo ppo] [--out DIR] [--json]

Trains an agent with PPO: environments, policy and learner all on the device. A line tells how it goes; DIR gets
config.json (flat, for --config) and log.jsonl (a line for every update). Ends with an evaluation: one episode in each of
32 other worlds, with the policy's most likely actions.

${settings}
  --algo NAME               ppo
  --out DIR                 folder of the run [runs/ENV-ppo-seedS]
  --config FILE             values by name from a flat JSON file; flags come before them
  --set NAME=VALUE          an option of the environment, as in reset_noise_scale=0.1; may be repeated
  --adapter NAME            auto (default), gpu, system or embedded
  --budget BYTES            what environments and learner may hold together: 2GiB, or 0.5 of what is there
  --json                    one JSON document on stdout

PPO [default; environments have their own, which config.json tells]
${hyperparameters}

Exit codes: 0 done, 1 --until was not reached or the update was stopped, 2 bad usage, 3 no device or no memory.
`;

const NAMES = [...Object.keys(RUN_OPTIONS), ...Object.keys(PPO_OPTIONS)];

export async function run(args: string[]): Promise<number> {
  const strings = [...NAMES.map(flagOf), "algo", "out", "config", "adapter", "budget"];
  const options = Object.fromEntries(strings.map((name) => [name, { type: "string" }])) as Record<
    string,
    { type: "string" }
  >;
  const { values, positionals } = parse(args, { ...options, set: { type: "string", multiple: true } }, 1);
  const given = values as Readonly<Record<string, string | undefined>>;
  const fromFile = given.config === undefined ? {} : readConfig(given.config);
  const id = taskOf(
    positionals.length === 0 && typeof fromFile.env === "string" ? fromFile.env : onlyArgument(positionals, "ENV"),
  ).id;
  const algo = given.algo ?? fromFile.algo ?? "ppo";
  if (algo !== "ppo") throw new UsageError(`--algo is '${show(algo)}': pass ppo.`);

  const fromFlags = NAMES.flatMap((name) => {
    const text = given[flagOf(name)];
    return text === undefined ? [] : [[name, valueOf(name, text)] as const];
  });
  const train = trainOptions({ ...fromFile, ...Object.fromEntries(fromFlags) });
  const env = {
    ...overridesOf(values.set),
    ...(given.adapter === undefined ? {} : { adapter: given.adapter }),
    ...(given.budget === undefined ? {} : { budget: given.budget }),
  };
  const folder = given.out ?? join("runs", `${id}-ppo-seed${train.seed ?? 0}`);
  assertNewFolder(folder);

  const say = values.json ? progress : print;
  await using made = await TrainingRun.create(id, { ...train, env });
  const log = new RunFolder(folder, made);
  try {
    const { numEnvs, steps } = made.settings;
    say(`${id} on ${made.env.deviceName}: ${formatCount(numEnvs)} worlds, ${formatCount(steps)} env steps of PPO`);
    say(`memory ${formatBytes(made.bytes)}, all of it reserved; ${folder}`);
    const result = await watch(made, say, values.json ?? false, (p) => log.progress(p));
    log.result(result);
    if (values.json) {
      const { returns, ...evaluation } = result.evaluation;
      const document = { ...result, evaluation: { ...evaluation, returns: [...returns] } };
      printJson({ id, folder, bytes: made.bytes, config: configOf(made), ...document });
    }
    return result.reached === false ? EXIT.failed : EXIT.done;
  } catch (error) {
    log.failure(error);
    throw error;
  } finally {
    log.close();
  }
}

/** The value that a flag's text says. Throws `UsageError`. */
function valueOf(name: string, text: string): unknown {
  const usual = (PPO_OPTIONS as Record<string, { default: unknown }>)[name]?.default;
  if (typeof usual === "string") return text;
  if (typeof usual === "boolean") {
    if (text !== "true" && text !== "false")
      throw new UsageError(`--${flagOf(name)} is '${text}': pass true or false.`);
    return text === "true";
  }
  const numbers =
    text === "" && Array.isArray(usual)
      ? []
      : text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  if (numbers.some(Number.isNaN) || (!Array.isArray(usual) && numbers.length !== 1)) {
    throw new UsageError(
      `--${flagOf(name)} is '${text}': pass ${Array.isArray(usual) ? "numbers such as 64,64" : "a number"}.`,
    );
  }
  return Array.isArray(usual) ? numbers : numbers[0];
}

/** Sorts values by name into those of the run and those of the learner. Throws `UsageError`. */
function trainOptions(values: Record<string, unknown>): TrainOptions {
  const run: Record<string, unknown> = {};
  const config: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    // these say which run it is
    if (name === "env" || name === "algo") continue;
    if (!NAMES.includes(name)) {
      const near = nearest(name, NAMES);
      throw new UsageError(
        `"${name}" of the config file is no setting${near.length ? `; nearest: ${near.join(", ")}` : ""}.`,
      );
    }
    if (Object.hasOwn(RUN_OPTIONS, name)) {
      const least = name === "seed" ? 0 : 1;
      const isGood =
        name === "until" ? typeof value === "number" : Number.isSafeInteger(value) && (value as number) >= least;
      if (!isGood) {
        throw new UsageError(
          `--${flagOf(name)} is '${show(value)}': pass ${name === "until" ? "a number" : `an integer of at least ${least}`}.`,
        );
      }
      run[name] = value;
    } else config[name] = value;
  }
  return { ...run, config };
}

/** Trains with a live line, and says at the end what came of it. */
export async function watch(
  run: TrainingRun,
  say: (line: string) => void,
  json: boolean,
  onProgress: (progress: TrainProgress) => void = () => {},
): Promise<TrainResult> {
  const live = new LiveLine(say, json);
  const returns: number[] = [];
  const result = await run.train((p) => {
    onProgress(p);
    if (p.metrics.episodes > 0) returns.push(p.metrics.episodeReturn);
    live.show(trainLine(p), p.seconds);
  });
  live.end();
  if (returns.length > 0) say(`returns while it learned: ${sparkline(returns)}`);
  say(outcome(result, run.settings.until));
  return result;
}

/** One update in a line. */
function trainLine(p: TrainProgress): string {
  const { metrics: m } = p;
  const parts = [
    `${formatCount(p.envSteps).padStart(11)} steps`,
    `${rate(p.envStepsPerSec).padStart(8)} env steps/s`,
    m.episodes > 0 ? `return ${m.episodeReturn.toFixed(1)} length ${m.episodeLength.toFixed(0)}` : "no episode ended",
    ...(p.evaluation ? [`evaluation ${p.evaluation.meanReturn.toFixed(1)}`] : []),
    `loss ${(m.policyLoss + m.valueLoss).toFixed(3)}`,
    `kl ${m.kl.toFixed(4)}`,
    `${Math.ceil(p.secondsLeft)} s left`,
    ...warnings(p),
  ];
  return parts.join("  ");
}

/** Extreme values that were clipped: visible, as they say that something is off. */
function warnings({ metrics: m }: TrainProgress): string[] {
  return [
    ...(m.rewardsClipped > 0 ? [`${formatCount(m.rewardsClipped)} rewards clipped`] : []),
    ...(m.ratiosClipped > 0 ? [`${formatCount(m.ratiosClipped)} ratios clipped`] : []),
    ...(m.stdAtBound > 0 ? [`${m.stdAtBound} deviations at a bound`] : []),
    ...(m.badSteps > 0 ? [`${formatCount(m.badSteps)} bad steps`] : []),
  ];
}

function outcome({ envSteps, seconds, evaluation, reached }: TrainResult, until: number | undefined): string {
  const { meanReturn, meanLength, episodes } = evaluation;
  const end = `return ${meanReturn.toFixed(1)}, length ${meanLength.toFixed(0)} (mean of ${episodes} episodes)`;
  const took = `after ${formatCount(envSteps)} env steps in ${seconds.toFixed(1)} s`;
  const goal = reached === undefined ? "" : reached ? `: ${until} reached` : `: ${until} NOT reached`;
  return `${end} ${took}${goal}`;
}
