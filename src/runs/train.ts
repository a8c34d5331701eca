/** A training run: environments, a learner, evaluations on worlds of their own, and a log. */
import { CorralError } from "../core/errors.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import type { VectorEnv } from "../env/vector-env.ts";
import type { PpoConfig } from "../rl/config.ts";
import type { Evaluation } from "../rl/evaluate.ts";
import type { Metrics } from "../rl/metrics.ts";
import { Ppo } from "../rl/ppo.ts";
import { runDefaults } from "./defaults.ts";

export interface TrainOptions {
  /** Worlds, env steps and hyperparameters; by default those of `runDefaults`. */
  readonly numEnvs?: number;
  readonly steps?: number;
  readonly seed?: number;
  readonly config?: Partial<PpoConfig>;
  /** End once an evaluation's mean return is at least this. */
  readonly until?: number;
  /** Updates between two evaluations, and the worlds of one. */
  readonly evalEvery?: number;
  readonly evalEnvs?: number;
  /** Other options of the environments. */
  readonly env?: object;
}

/** Where a run is. */
export interface TrainProgress {
  readonly envSteps: number;
  readonly steps: number;
  readonly iteration: number;
  /** Since training began; compiling is not counted. */
  readonly seconds: number;
  /** Over the last update. */
  readonly envStepsPerSec: number;
  readonly secondsLeft: number;
  readonly metrics: Metrics;
  /** The last evaluation. */
  readonly evaluation: Evaluation | undefined;
  /** Whether it is of this update. */
  readonly evaluated: boolean;
}

export interface TrainResult {
  readonly envSteps: number;
  readonly seconds: number;
  readonly iterations: number;
  readonly evaluation: Evaluation;
  /** Whether `until` was reached; undefined where it was not given. */
  readonly reached: boolean | undefined;
}

const EVAL_ENVS = 32;
const EVAL_EVERY = 8;
/** Start states of evaluations: none of a training seed's. */
const EVAL_SEED = 2 ** 40;

/** Everything of a run, ready: memory reserved, kernels compiled. Close it. */
export class TrainingRun implements AsyncDisposable {
  readonly id: string;
  readonly ppo: Ppo;
  readonly env: VectorEnv;
  readonly settings: Required<Omit<TrainOptions, "until" | "config" | "env">> & Pick<TrainOptions, "until">;
  readonly #evalEnv: VectorEnv;

  private constructor(ppo: Ppo, evalEnv: VectorEnv, settings: TrainingRun["settings"]) {
    this.id = ppo.env.id;
    this.ppo = ppo;
    this.env = ppo.env;
    this.#evalEnv = evalEnv;
    this.settings = settings;
  }

  /** @throws what makeVec and Ppo.create throw; then nothing is held */
  static async create(id: string, options: TrainOptions = {}): Promise<TrainingRun> {
    const defaults = runDefaults(id);
    const { numEnvs = defaults.numEnvs, steps = defaults.steps, seed = 0, until } = options;
    const { evalEvery = EVAL_EVERY, evalEnvs = Math.min(EVAL_ENVS, numEnvs) } = options;
    if (!(steps >= 1))
      throw new CorralError("bad-option", `steps is ${String(steps)}; pass env steps, at least 1.`, { steps });
    const settings = { numEnvs, steps, seed, evalEvery, evalEnvs, ...(until === undefined ? {} : { until }) };
    const held: AsyncDisposable[] = [];
    const hold = async <T extends AsyncDisposable>(making: Promise<T>): Promise<T> => {
      const made = await making;
      held.unshift(made);
      return made;
    };
    try {
      const envOptions = { ...options.env, autoreset: "next-step" };
      const env = await hold(makeVec(id, { ...envOptions, numEnvs, seed } as NamedOptions));
      const evalEnv = await hold(makeVec(id, { ...envOptions, numEnvs: evalEnvs, seed } as NamedOptions));
      const ppo = await hold(Ppo.create(env, { ...defaults.config, ...options.config, seed, totalSteps: steps }));
      return new TrainingRun(ppo, evalEnv, settings);
    } catch (error) {
      for (const one of held) await one[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Bytes that the run holds on the device. */
  get bytes(): number {
    return this.env.plan.totalBytes + this.#evalEnv.plan.totalBytes + this.ppo.plan.totalBytes;
  }

  /** Trains to the end, telling of every update. */
  async train(onProgress: (progress: TrainProgress) => void): Promise<TrainResult> {
    const { ppo } = this;
    const { steps, evalEvery, until } = this.settings;
    const begin = performance.now();
    const seconds = () => (performance.now() - begin) / 1000;
    let evaluation: Evaluation | undefined;

    for (;;) {
      const [before, envSteps] = [seconds(), ppo.envSteps];
      const metrics = await ppo.iterate();
      const envStepsPerSec = (ppo.envSteps - envSteps) / (seconds() - before);
      const isLast = ppo.envSteps >= steps;
      const evaluated = isLast || ppo.iteration % evalEvery === 0;
      if (evaluated) evaluation = await this.evaluate();
      const left = Math.max(0, steps - ppo.envSteps);
      const secondsLeft = (left / Math.max(1, ppo.envSteps)) * seconds();
      const { iteration } = ppo;
      onProgress({
        envSteps: ppo.envSteps,
        steps,
        iteration,
        seconds: seconds(),
        envStepsPerSec,
        secondsLeft,
        metrics,
        evaluation,
        evaluated,
      });
      const reached = until === undefined ? undefined : (evaluation?.meanReturn ?? -Infinity) >= until;
      if (evaluation && (isLast || reached)) {
        return { envSteps: ppo.envSteps, seconds: seconds(), iterations: iteration, evaluation, reached };
      }
    }
  }

  /** One episode of each evaluation world, with the most likely actions. */
  evaluate(): Promise<Evaluation> {
    return this.ppo.evaluate(this.#evalEnv, { seed: EVAL_SEED + this.settings.seed });
  }

  async close(): Promise<void> {
    await this.ppo.close();
    await this.#evalEnv.close();
    await this.env.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
