// which form of a model's kernels is fastest on an adapter, by a short measurement
import type { Task, VecOptions } from "../env/index.ts";
import { shareDevice } from "../gpu/shared-device.ts";
import { unrollByDefault } from "../sim/policy.ts";
import { writeTuning } from "../sim/tuning.ts";
import { ActionPool } from "./bench/actions.ts";
import { defineTarget } from "./describe.ts";
import { Runner } from "./runner.ts";

export interface TuneOptions {
  readonly numEnvs: number;
  /** Seconds of each measurement. */
  readonly seconds: number;
  readonly repetitions: number;
  readonly batch?: Omit<VecOptions, "numEnvs" | "unroll">;
  readonly onProgress?: (text: string) => void;
}

export interface TuneRow {
  readonly unroll: boolean;
  /** The fastest of the repetitions: what else runs only slows them. */
  readonly physicsStepsPerSec: number;
  /** From the call that makes it to its first results. */
  readonly firstStepMs: number;
}

export interface Tuned {
  readonly name: string;
  readonly adapter: string;
  readonly rows: readonly TuneRow[];
  readonly byDefault: boolean;
  readonly chosen: boolean;
  /** Where the choice is kept; null where the cache folder cannot be written. */
  readonly file: string | null;
}

/** The default stays unless another form is faster by this: measurements are noisy. */
const WORTH = 1.1;

/**
 * Measures straight-line and rolled kernels by turns and keeps the choice, which `tuned: true` takes.
 * @throws what makeVec throws
 */
export async function tune(task: Task<object>, options: TuneOptions): Promise<Tuned> {
  const { numEnvs, seconds, repetitions, batch = {}, onProgress = () => {} } = options;
  const { settings, definition } = await defineTarget(task, { ...batch, numEnvs: 1 });
  const { model } = settings;
  const pool = new ActionPool(definition.spec.action, 0);
  const lease = await shareDevice(batch.adapter);
  const runners: Runner[] = [];
  try {
    const forms = [true, false];
    for (const unroll of forms) {
      onProgress(`${task.id}: making ${numEnvs} worlds of ${unroll ? "straight-line" : "rolled"} kernels`);
      const runner = await Runner.create(task, { ...batch, numEnvs, unroll }, 0, pool);
      runners.push(runner);
      if (runners.length === 1) await runner.warmUp(settings.vec.maxEpisodeSteps, seconds);
      else await runner.continueFrom(runners[0]);
      await runner.actOnDevice(lease.gpu, pool);
    }
    const rates = forms.map(() => 0);
    for (let r = 0; r < repetitions; r++) {
      for (const [i, runner] of runners.entries()) {
        const { controlSteps, seconds: took } = await runner.withoutResults(seconds);
        rates[i] = Math.max(rates[i], (controlSteps * numEnvs * settings.vec.frameSkip) / took);
        await runner.assertHealthy();
      }
    }

    const byDefault = unrollByDefault(model);
    const [other, own] = [rates[forms.indexOf(!byDefault)], rates[forms.indexOf(byDefault)]];
    const chosen = other > WORTH * own ? !byDefault : byDefault;
    return {
      name: task.id,
      adapter: lease.gpu.info.driver,
      rows: forms.map((unroll, i) => ({
        unroll,
        physicsStepsPerSec: rates[i],
        firstStepMs: runners[i].firstStepMs,
      })),
      byDefault,
      chosen,
      file: writeTuning(model, lease.gpu.info.driver, { unroll: chosen }) ?? null,
    };
  } finally {
    for (const runner of runners) await runner.close();
    lease.release();
  }
}
