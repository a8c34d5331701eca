// options of a training run, and what is settled of them before anything is made
import { availableParallelism } from "node:os";
import { CorralError } from "../core/errors.ts";
import type { PpoConfig } from "../rl/config.ts";
import { badOption } from "../core/options.ts";
import type { SacConfig } from "../rl/sac-config.ts";
import { runDefaults } from "./defaults.ts";

export interface TrainOptions {
  /** Worlds, env steps and hyperparameters; by default those of `runDefaults`. */
  readonly numEnvs?: number;
  readonly steps?: number;
  readonly seed?: number;
  readonly config?: Partial<PpoConfig> | Partial<SacConfig>;
  /** What learns. Default: "ppo". */
  readonly algo?: "ppo" | "sac";
  /** The file of a replay with `storage: "file"`, and whether to go on with one that is there. */
  readonly replayFile?: string;
  readonly reuseReplay?: boolean;
  /** End once an evaluation's mean return is at least this. */
  readonly until?: number;
  /** Updates between two evaluations, and the worlds of one. */
  readonly evalEvery?: number;
  readonly evalEnvs?: number;
  /** Updates between two checkpoints; 0: only at the end. */
  readonly checkpointEvery?: number;
  /** Updates between two copies on the host, from which the run goes on if the device is lost; 0: none. */
  readonly snapshotEvery?: number;
  /** What is done if an update is not finite: end the run, or go on from the last copy with half the learning rate. */
  readonly onNonFiniteUpdate?: "throw" | "lower";
  /** How often it is lowered at most. */
  readonly mostLowered?: number;
  /** Where worlds are stepped: on the device (default), or in threads of the CPU, one update behind. */
  readonly collect?: "device" | "async";
  /** How many threads then. Default: as many as the machine has processors but one, at most one a world. */
  readonly collectThreads?: number;
  /** Modules that register tasks of the user's own there, as URLs. */
  readonly modules?: readonly string[];
  /** The folder of another run, or one of its checkpoints: policy, value function and normalisers are taken from there. */
  readonly from?: string;
  /** `resume` follows: nothing is taken from `from` again. */
  readonly resumes?: boolean;
  /** Where environments, evaluation and learner together do not fit: refuse (default), or train fewer worlds. */
  readonly onOverBudget?: "throw" | "shrink";
  /** Is told of fewer worlds. Default: a warning of the process. */
  readonly onShrink?: (message: string) => void;
  /** Other options of the environments. */
  readonly env?: object;
}

const EVAL_ENVS = 32;
const EVAL_EVERY = 8;
const CHECKPOINT_EVERY = 20;
const SNAPSHOT_EVERY = 10;
const MOST_LOWERED = 3;

/** What the learner is made with. */
export type Learning = Pick<TrainOptions, "config" | "algo" | "replayFile" | "reuseReplay" | "modules">;

/** Settings that runs may be without. */
type Optional = "until" | "collect" | "collectThreads" | "from";
/** Settings that a run has no more once it fits. */
type Fitting = "onOverBudget" | "onShrink" | "resumes";
export type Settings = Required<Omit<TrainOptions, Optional | Fitting | "env" | keyof Learning>> &
  Pick<TrainOptions, Optional>;

/** One processor is left to what learns. */
const defaultThreads = (numEnvs: number): number => Math.max(1, Math.min(availableParallelism() - 1, numEnvs));

/** Options of environments that a collector's have too: they run on the CPU, in the host's budget. */
export function collectorEnv(env: object = {}): object {
  const { adapter: _a, device: _d, budget: _b, onOverBudget: _o, ...others } = env as Record<string, unknown>;
  return others;
}

/** Worlds of an evaluation where so many train. */
export const evalEnvsOf = ({ evalEnvs = EVAL_ENVS }: TrainOptions, numEnvs: number): number =>
  Math.min(evalEnvs, numEnvs);

/** @throws CorralError bad-option */
export function settle(id: string, options: TrainOptions): Settings {
  const defaults = runDefaults(id, options.algo);
  const { numEnvs = defaults.numEnvs, steps = defaults.steps, seed = 0, until } = options;
  const { evalEvery = defaults.evalEvery ?? EVAL_EVERY, evalEnvs = evalEnvsOf(options, numEnvs) } = options;
  if (evalEnvs > numEnvs)
    throw badOption("evalEnvs", evalEnvs, `the learner has room for ${numEnvs} worlds, numEnvs: pass at most as many`);
  const { checkpointEvery = defaults.checkpointEvery ?? CHECKPOINT_EVERY } = options;
  const { snapshotEvery = defaults.snapshotEvery ?? SNAPSHOT_EVERY } = options;
  if (!(steps >= 1))
    throw new CorralError("bad-option", `steps is ${String(steps)}; pass env steps, at least 1.`, { steps });
  const { onNonFiniteUpdate = "throw", mostLowered = MOST_LOWERED } = options;
  const every = { evalEvery, evalEnvs, checkpointEvery, snapshotEvery };
  const { collect = "device", collectThreads = defaultThreads(numEnvs) } = options;
  if (collect === "device" && options.collectThreads !== undefined)
    throw badOption("collectThreads", collectThreads, 'threads collect with collect: "async" alone; leave it out');
  return {
    numEnvs,
    steps,
    seed,
    ...every,
    onNonFiniteUpdate,
    mostLowered,
    ...(until === undefined ? {} : { until }),
    ...(options.from === undefined ? {} : { from: options.from }),
    // copies hold the worlds of each thread
    ...(collect === "device" ? {} : { collect, collectThreads }),
  };
}
