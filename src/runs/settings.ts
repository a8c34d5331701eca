// options of a training run, and what is settled of them before anything is made
import { availableParallelism } from "node:os";
import { CorralError } from "../core/errors.ts";
import { badOption, fillIn, sortOut } from "../core/options.ts";
import type { TrainingDefaults } from "../env/task/task.ts";
import { runDefaults } from "./defaults.ts";
import { algorithmOf, RUN_OPTIONS, type TrainOptions } from "./options.ts";

/** What the learner is made with. */
export type Learning = Pick<TrainOptions, "config" | "algo" | "replayFile" | "reuseReplay" | "modules">;

/** Settings that runs may be without. */
type Optional = "until" | "collect" | "collectThreads" | "from" | "teacher" | "demonstrations";
/** Settings that a run has no more once it fits. */
type Fitting = "onOverBudget" | "onShrink" | "resumes";
export type Settings = Required<Omit<TrainOptions, Optional | Fitting | "env" | keyof Learning>> &
  Pick<TrainOptions, Optional>;

/** One processor is left to what learns. */
const defaultThreads = (numEnvs: number): number => Math.max(1, Math.min(availableParallelism() - 1, numEnvs));

/** Options of environments that a collector's have too: they run on the CPU, in the host's budget. */
export function collectorEnv(env: object = {}): object {
  const {
    adapter: _a,
    device: _d,
    threads: _t,
    budget: _b,
    onOverBudget: _o,
    ...others
  } = env as Record<string, unknown>;
  return others;
}

/** Options of the environments that train: those given, and beside them what the task has for training alone. */
export const trainingEnv = (id: string, { algo, env }: TrainOptions): object => ({
  ...runDefaults(id, algo).options,
  ...env,
});

/** Worlds of an evaluation where so many train. */
export const evalEnvsOf = ({ evalEnvs = RUN_OPTIONS.evalEnvs.default }: TrainOptions, numEnvs: number): number =>
  Math.min(evalEnvs, numEnvs);

/** @throws CorralError bad-option for `wide` of another algorithm than PPO, unknown-env */
function defaultsOf(id: string, options: Pick<TrainOptions, "algo" | "wide">): TrainingDefaults {
  const algo = algorithmOf(options);
  const { wide = false } = options;
  if (wide && algo !== "ppo")
    throw badOption("wide", wide, `it has defaults of PPO alone; give ${algo} its numEnvs and batchSize yourself`);
  return runDefaults(id, algo, wide);
}

/** What the learner is made with: the environment's hyperparameters, and over them those given. */
export function hyperparameters(id: string, options: TrainOptions): Exclude<TrainOptions["config"], undefined> {
  const usual: Record<string, unknown> = { ...defaultsOf(id, options).config };
  const given: Record<string, unknown> = { ...options.config };
  // the environment's number of steps is of a SAC that remembers nothing
  if (algorithmOf(options) === "sac" && (given.recurrent ?? "none") !== "none") delete usual.nSteps;
  return { ...usual, ...given };
}

/** Updates between evaluations, checkpoints and copies, unless the environment has its own. */
const EVERY = { evalEvery: 8, checkpointEvery: 20, snapshotEvery: 10 };

/** @throws CorralError bad-option, unknown-env, unsupported-collector */
export function settle(id: string, options: TrainOptions): Settings {
  const { config: _config, options: _env, shortDispatches: _short, ...usual } = defaultsOf(id, options);
  const given = fillIn(RUN_OPTIONS, sortOut(RUN_OPTIONS, options).own, { of: "a run" });
  const { onOverBudget: _fitting, collect, collectThreads: _threads, ...all } = { ...EVERY, ...usual, ...given };
  const { numEnvs } = all;
  const { evalEnvs = evalEnvsOf(options, numEnvs), collectThreads = defaultThreads(numEnvs), from } = options;
  if (evalEnvs > numEnvs)
    throw badOption("evalEnvs", evalEnvs, `the learner has room for ${numEnvs} worlds, numEnvs: pass at most as many`);
  if (collect === "device" && options.collectThreads !== undefined)
    throw badOption("collectThreads", collectThreads, 'threads collect with collect: "async" alone; leave it out');
  if (collect === "async" && (options.algo === "dqn" || options.algo === "sac-discrete")) {
    const text = `threads of the CPU collect for PPO and SAC; ${options.algo} collects on the device. Leave collect out.`;
    throw new CorralError("unsupported-collector", text);
  }
  return {
    ...all,
    evalEnvs,
    ...(from === undefined ? {} : { from }),
    // copies hold the worlds of each thread
    ...(collect === "device" ? {} : { collect, collectThreads }),
  };
}
