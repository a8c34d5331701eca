// settings of a run by name, beside the hyperparameters: what flags and flat config files may say
import { CorralError } from "../core/errors.ts";
import { checked, kindOf, optionsOf, unknownOption, type Given, type OptionTable } from "../core/options.ts";
import { real, text } from "../core/schema.ts";
import { listed, show as written } from "../core/show.ts";
import { assertNoMemory } from "../rl/device/shared-options.ts";
import { PPO_OPTIONS, type PpoConfig } from "../rl/ppo/config.ts";
import { DQN_OPTIONS, type DqnConfig } from "../rl/dqn/config.ts";
import { SAC_OPTIONS, type SacConfig } from "../rl/sac/config.ts";
import { SAC_DISCRETE_OPTIONS, type SacDiscreteConfig } from "../rl/sac-discrete/config.ts";
import type { Algo } from "../rl/algorithm.ts";

/** Those without a default have one of the environment, or none. */
export const RUN_OPTIONS = {
  numEnvs: { min: 1, integer: true, doc: "worlds" },
  steps: { min: 1, integer: true, doc: "env steps of the whole run" },
  seed: { default: 0, min: 0, integer: true, doc: "of start states, parameters, actions and the order of samples" },
  wide: {
    default: false,
    doc: "defaults for a GPU: PPO of 4,096 worlds in short rollouts and large batches, and twenty times the env steps",
  },
  until: { kind: real(), doc: "end once an evaluation's mean return is at least this" },
  evalEvery: { min: 1, integer: true, doc: "updates between two evaluations" },
  evalEnvs: {
    default: 32,
    min: 1,
    integer: true,
    doc: "worlds of an evaluation, one episode each, with the most likely actions; as many as train where those are fewer",
  },
  checkpointEvery: { min: 0, integer: true, doc: "updates between two checkpoints; 0: only at the end" },
  snapshotEvery: {
    min: 0,
    integer: true,
    doc: "updates between two copies on the host, from which the run goes on if the device is lost; 0: none",
  },
  onNonFiniteUpdate: {
    default: "throw",
    oneOf: ["throw", "lower"],
    doc: "an update that is not finite ends the run (throw), or it goes on from the last copy with half the learning rate (lower)",
  },
  mostLowered: { default: 3, min: 1, integer: true, doc: "how often the learning rate is lowered; then the run ends" },
  onOverBudget: {
    oneOf: ["shrink", "throw"],
    doc: "where environments, evaluation and learner do not fit together: train the most worlds that do, and say so (shrink, the default of corral train), or refuse (throw)",
  },
  teacher: {
    kind: text(),
    doc: "a policy (safetensors), or a module of code whose default export is a function from observations to actions: PPO's own policy acts, and learns what that one would have done in its place (DAgger)",
  },
  demonstrations: {
    kind: text(),
    doc: "episodes of corral play --record FILE.jsonl: PPO's policy learns their actions (behaviour cloning), and steps are those of demonstrations",
  },
  collect: {
    default: "device",
    oneOf: ["device", "async"],
    doc: "device: step worlds there, in turns with learning; async: step them in threads of the CPU meanwhile, by the policy of one update before",
  },
  collectThreads: {
    min: 1,
    integer: true,
    doc: "threads of --collect async; by default one for each processor but one, at most one a world",
  },
} as const satisfies OptionTable;

/** Options of a training run; `RUN_OPTIONS` says what those of the table mean. */
export interface TrainOptions extends Given<typeof RUN_OPTIONS> {
  /** Hyperparameters; by default the environment's, then the algorithm's. */
  readonly config?: Partial<PpoConfig> | Partial<SacConfig> | Partial<SacDiscreteConfig> | Partial<DqnConfig>;
  /** What learns. Default: "ppo". */
  readonly algo?: Algo;
  /** The file of a replay with `storage: "file"`, and whether to reuse an existing one. */
  readonly replayFile?: string;
  readonly reuseReplay?: boolean;
  /** Modules that register the user's own tasks in collector threads, as URLs. */
  readonly modules?: readonly string[];
  /** The folder of another run, or one of its checkpoints: policy, value function and normalisers are taken from there. */
  readonly from?: string;
  /** The run is resumed afterwards: nothing is taken from `from` again. */
  readonly resumes?: boolean;
  /** Called with a message when fewer worlds train than were asked for. Default: a warning of the process. */
  readonly onShrink?: (message: string) => void;
  /** Other options of the environments. */
  readonly env?: object;
}

const RUN_NAMES = [
  ...Object.keys(RUN_OPTIONS),
  "config",
  "algo",
  "replayFile",
  "reuseReplay",
  "modules",
  "from",
  "resumes",
  "onShrink",
  "env",
];

/**
 * Options of a run as they were given.
 * @throws CorralError bad-option, unknown-option with the nearest names
 */
export function runOptionsOf(given: TrainOptions): TrainOptions {
  const other = Object.keys(optionsOf(given)).find((name) => !RUN_NAMES.includes(name));
  if (other === undefined) return given;
  const isHyperparameter = SETTING_NAMES.includes(other);
  if (isHyperparameter)
    throw new CorralError("unknown-option", `${other} is of the algorithm: pass config: { ${other}: ... }.`, {
      name: other,
    });
  throw unknownOption("a run", other, RUN_NAMES);
}

/** Options of the environments that have a name of their own; others are `set.NAME`. */
const ENV_OPTIONS = ["device", "threads", "adapter", "budget"];
const SET = "set.";
/** Which run it is: what learns what, and the file of the task if it is the user's own. */
const IDENTITY = ["env", "algo", "task", "from"];

/** The hyperparameters of each algorithm. */
export const ALGORITHMS = {
  ppo: PPO_OPTIONS,
  sac: SAC_OPTIONS,
  "sac-discrete": SAC_DISCRETE_OPTIONS,
  dqn: DQN_OPTIONS,
} as const;

export const SETTING_NAMES = [
  ...new Set([RUN_OPTIONS, ...Object.values(ALGORITHMS)].flatMap((table) => Object.keys(table))),
];

/** Settings that may change when a run is resumed: none affects an update, except that a schedule may depend on `steps`. */
const FREE = new Set([
  "steps",
  "until",
  "evalEvery",
  "evalEnvs",
  "checkpointEvery",
  "snapshotEvery",
  "adapter",
  "threads",
  "budget",
]);

export const isFree = (name: string): boolean => FREE.has(name);

export const flagOf = (name: string): string =>
  name === "numEnvs" ? "envs" : name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

export const show = (value: unknown): string => {
  if (typeof value === "object" && value !== null && !(Array.isArray(value) && value.every(Number.isFinite)))
    return written(value);
  return Array.isArray(value) ? value.join(",") : String(value);
};

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
    else if (Object.hasOwn(RUN_OPTIONS, name))
      run[name] = checked(
        `--${flagOf(name)}`,
        kindOf(RUN_OPTIONS[name as keyof typeof RUN_OPTIONS]),
        value,
        "bad-config",
      );
    else if (Object.hasOwn(table, name)) config[name] = value;
    else {
      assertNoMemory({ [name]: value }, algo);
      assertOwn(name, algo);
      throw unknownOption(algo, name, names, "bad-config");
    }
  }
  return { ...run, ...fromOf(values), algo, config, env };
}

/** Throws `bad-config` for a hyperparameter that another algorithm has. */
function assertOwn(name: string, algo: Algo): void {
  const others = Object.keys(ALGORITHMS).filter((other) => Object.hasOwn(ALGORITHMS[other as Algo], name));
  if (others.length === 0) return;
  const text = `${algo} has no option "${name}", which is of ${listed(others)}. Pass --algo ${others[0]}, or leave it out.`;
  throw new CorralError("bad-config", text, { name, algo, others });
}

function fromOf({ from }: Readonly<Record<string, unknown>>): { readonly from?: string } {
  if (from === undefined) return {};
  if (typeof from === "string") return { from };
  throw new CorralError("bad-config", `"from" is ${show(from)}: pass the folder of a run, or one of its checkpoints.`);
}

const inWords = (names: readonly string[]): string => `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;

/** What learns. Throws `bad-config`. */
export function algorithmOf({ algo = "ppo" }: { readonly algo?: unknown }): keyof typeof ALGORITHMS {
  if (typeof algo === "string" && Object.hasOwn(ALGORITHMS, algo)) return algo as keyof typeof ALGORITHMS;
  throw new CorralError("bad-config", `--algo is '${show(algo)}': pass ${inWords(Object.keys(ALGORITHMS))}.`, {
    algo,
  });
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
