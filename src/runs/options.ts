// settings of a run by name, beside the hyperparameters: what flags and flat config files may say
import { CorralError } from "../core/errors.ts";
import { nearest } from "../core/names.ts";
import { PPO_OPTIONS } from "../rl/config.ts";
import { SAC_OPTIONS } from "../rl/sac-config.ts";
import type { TrainOptions } from "./settings.ts";

interface Row {
  readonly doc: string;
  /** The least integer; left out for any number. */
  readonly least?: number;
  readonly oneOf?: readonly string[];
}

export const RUN_OPTIONS = {
  numEnvs: { least: 1, doc: "worlds" },
  steps: { least: 1, doc: "env steps of the whole run" },
  seed: { least: 0, doc: "of start states, parameters, actions and the order of samples" },
  until: { doc: "end once an evaluation's mean return is at least this" },
  evalEvery: { least: 1, doc: "updates between two evaluations" },
  evalEnvs: { least: 1, doc: "worlds of an evaluation, one episode each, with the most likely actions" },
  checkpointEvery: { least: 0, doc: "updates between two checkpoints [20]; 0: only at the end" },
  snapshotEvery: {
    least: 0,
    doc: "updates between two copies on the host, from which the run goes on if the device is lost [10]; 0: none",
  },
  onNonFiniteUpdate: {
    oneOf: ["throw", "lower"],
    doc: "throw: the run ends [default]; lower: it goes on from the last copy with half the learning rate",
  },
  onOverBudget: {
    oneOf: ["shrink", "throw"],
    doc: "where environments, evaluation and learner do not fit together: train the most worlds that do, and say so [default], or refuse",
  },
  collect: {
    oneOf: ["device", "async"],
    doc: "device: step worlds there, in step with learning [default]; async: step them in threads of the CPU meanwhile, by the policy of one update before",
  },
  collectThreads: { least: 1, doc: "threads of --collect async [one for each processor but one]" },
  mostLowered: { least: 1, doc: "how often the learning rate is lowered at most; then the run ends [3]" },
} as const satisfies Record<string, Row>;

/** Options of the environments that have a name of their own; others are `set.NAME`. */
const ENV_OPTIONS = ["adapter", "budget"];
const SET = "set.";
/** Which run it is: what learns what, and the file of the task if it is the user's own. */
const IDENTITY = ["env", "algo", "task", "from"];

/** The hyperparameters of each algorithm. */
export const ALGORITHMS = { ppo: PPO_OPTIONS, sac: SAC_OPTIONS } as const;

export const SETTING_NAMES = [
  ...new Set([RUN_OPTIONS, PPO_OPTIONS, SAC_OPTIONS].flatMap((table) => Object.keys(table))),
];

/** What may change when a run goes on: none of it changes a bit of an update, `steps` aside, which a schedule may heed. */
const FREE = new Set(["steps", "until", "evalEvery", "evalEnvs", "checkpointEvery", "snapshotEvery", ...ENV_OPTIONS]);

export const isFree = (name: string): boolean => FREE.has(name);

export const flagOf = (name: string): string =>
  name === "numEnvs" ? "envs" : name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

export const show = (value: unknown): string => (Array.isArray(value) ? value.join(",") : String(value));

/**
 * Sorts values by name into those of the run, of the learner and of the environments.
 * @throws CorralError bad-config with the nearest names
 */
export function trainOptions(values: Readonly<Record<string, unknown>>): TrainOptions {
  const algo = algorithmOf(values);
  const table = ALGORITHMS[algo];
  const names = [...Object.keys(RUN_OPTIONS), ...Object.keys(table), ...ENV_OPTIONS, ...IDENTITY];
  const run: Record<string, unknown> = {};
  const config: Record<string, unknown> = {};
  const env: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    if (IDENTITY.includes(name)) continue;
    if (name.startsWith(SET)) env[name.slice(SET.length)] = value;
    else if (ENV_OPTIONS.includes(name)) env[name] = value;
    else if (Object.hasOwn(RUN_OPTIONS, name)) run[name] = checked(name, value);
    else if (Object.hasOwn(table, name)) config[name] = value;
    else {
      const near = nearest(name, names);
      const hint = near.length > 0 ? `nearest: ${near.join(", ")}` : "corral train --help lists them";
      throw new CorralError("bad-config", `"${name}" is no setting of ${algo}; ${hint}.`, { name });
    }
  }
  return { ...run, ...fromOf(values), algo, config, env };
}

function fromOf({ from }: Readonly<Record<string, unknown>>): { readonly from?: string } {
  if (from === undefined) return {};
  if (typeof from === "string") return { from };
  throw new CorralError("bad-config", `"from" is ${show(from)}: pass the folder of a run, or one of its checkpoints.`);
}

/** What learns. Throws `bad-config`. */
export function algorithmOf({ algo = "ppo" }: Readonly<Record<string, unknown>>): keyof typeof ALGORITHMS {
  if (typeof algo === "string" && Object.hasOwn(ALGORITHMS, algo)) return algo as keyof typeof ALGORITHMS;
  throw new CorralError("bad-config", `--algo is '${show(algo)}': pass ${Object.keys(ALGORITHMS).join(" or ")}.`, {
    algo,
  });
}

function checked(name: string, value: unknown): unknown {
  const { least, oneOf }: Row = RUN_OPTIONS[name as keyof typeof RUN_OPTIONS];
  const isGood = oneOf
    ? oneOf.includes(value as string)
    : least === undefined
      ? typeof value === "number"
      : Number.isSafeInteger(value) && (value as number) >= least;
  if (isGood) return value;
  const want = oneOf?.join(" or ") ?? (least === undefined ? "a number" : `an integer from ${least} to 2^53 - 1`);
  const text = !oneOf && typeof value === "string" ? ", not text" : "";
  throw new CorralError("bad-config", `--${flagOf(name)} is '${show(value)}': pass ${want}${text}.`, { name, value });
}

/** Options of environments as they are in a flat config. */
export const envConfig = (env: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => [ENV_OPTIONS.includes(name) ? name : SET + name, value as unknown]),
  );

/** Settings that two configs differ in and that a run cannot change on its way, as text. */
export function differences(
  before: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
): string[] {
  // a hyperparameter that an older version did not know had its default
  const table: Readonly<Record<string, { readonly default: unknown }>> = ALGORITHMS[algorithmOf(now)];
  const textOf = (value: unknown) => JSON.stringify(value);
  const isSame = (name: string) => textOf(before[name] ?? table[name]?.default) === textOf(now[name]);
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names]
    .filter((name) => !isFree(name) && !isSame(name))
    .map((name) => `${name} was ${show(before[name] ?? "not given")} and is ${show(now[name] ?? "not given")}`);
}
