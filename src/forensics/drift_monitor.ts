/** Chosen worlds of a batch beside MuJoCo in float64, a step now and then: the error before it becomes a NaN. */
import { CorralError } from "../core/errors.ts";
import type { StepResult, VectorEnv } from "../env/index.ts";
import type { HostValues } from "../env/host-values.ts";
import { Shadow } from "./shadow.ts";

export interface MonitorOptions {
  /** Places of the worlds in the batch. */
  readonly worlds: readonly number[];
  /** Control steps from one check to the next. Default 100. */
  readonly everySteps?: number;
  /** Error of one control step, |x - ref| / (1 + max |ref|), beyond which a bundle is written. Default: none is. */
  readonly threshold?: number;
}

/** The error of one control step of a world, from the same state. */
export interface DriftSample {
  readonly step: number;
  readonly world: number;
  readonly qpos: number;
  readonly qvel: number;
  /** Within the bounds that single steps are held to, or no larger than MuJoCo's own change under 1e-7. */
  readonly ok: boolean;
  /** Path of the bundle that was written since the error is beyond the threshold. */
  readonly bundle?: string;
}

/** Checks that are kept; the largest errors are kept of all. */
const KEPT = 1024;

/** Steps an environment and checks it. Controls come from the task; events and delays of actions are not followed. */
export class DriftMonitor implements Disposable {
  readonly #env: VectorEnv;
  readonly #shadow: Shadow;
  readonly #options: MonitorOptions & { readonly everySteps: number };
  readonly #samples: DriftSample[] = [];
  #worst: DriftSample | undefined;

  private constructor(env: VectorEnv, shadow: Shadow, options: MonitorOptions & { readonly everySteps: number }) {
    this.#env = env;
    this.#shadow = shadow;
    this.#options = options;
  }

  /** @throws CorralError bad-option, bad-world */
  static async create(env: VectorEnv, options: MonitorOptions): Promise<DriftMonitor> {
    const { worlds, everySteps = 100, threshold = Infinity } = options;
    if (!Number.isInteger(everySteps) || everySteps < 1)
      throw new CorralError("bad-option", `everySteps is ${String(everySteps)}; it is a whole number of at least 1.`);
    if (!(threshold > 0)) throw new CorralError("bad-option", `threshold is ${threshold}; it is a positive number.`);
    const wrong = worlds.find((w) => !Number.isInteger(w) || w < 0 || w >= env.numEnvs);
    if (worlds.length === 0 || wrong !== undefined) {
      throw new CorralError(
        "bad-world",
        `worlds of the monitor are ${JSON.stringify(worlds)}; pass at least one from 0 to ${env.numEnvs - 1}.`,
      );
    }
    const shadow = await Shadow.create(env.model, env.frameSkip);
    return new DriftMonitor(env, shadow, { ...options, everySteps });
  }

  /** `env.step`, and where it is due a check of the chosen worlds. Throws what `env.step` throws. */
  async step(actions: HostValues): Promise<StepResult> {
    const { worlds, everySteps, threshold = Infinity } = this.#options;
    if (this.#env.steps % everySteps !== 0) return this.#env.step(actions);
    const before: Awaited<ReturnType<Shadow["before"]>>[] = [];
    for (const world of worlds) before.push(await this.#shadow.before(this.#env, world));
    const result = await this.#env.step(actions);
    const size = this.#env.singleActionSpace.size;
    for (const [i, world] of worlds.entries()) {
      const action = (actions as ArrayLike<number>[])[world];
      const own =
        typeof action === "object"
          ? action
          : Array.from({ length: size }, (_, k) => (actions as ArrayLike<number>)[world * size + k]);
      const check = await this.#shadow.check(this.#env, world, before[i], own);
      if (!check) continue;
      const isBeyond = Math.max(check.qpos, check.qvel) > threshold;
      const bundle = isBeyond ? await this.#env.record([world], "drift") : undefined;
      const sample = { step: this.#env.steps, ...check, ...(bundle === undefined ? {} : { bundle }) };
      if (this.#samples.push(sample) > KEPT) this.#samples.shift();
      const worst = this.#worst;
      if (!worst || Math.max(sample.qpos, sample.qvel) > Math.max(worst.qpos, worst.qvel)) this.#worst = sample;
    }
    return result;
  }

  /** The last checks, and the worst of all. */
  report(): { readonly samples: readonly DriftSample[]; readonly worst: DriftSample | undefined } {
    return { samples: [...this.#samples], worst: this.#worst };
  }

  /** Frees MuJoCo's side. */
  close(): void {
    this.#shadow.delete();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
