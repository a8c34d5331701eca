// environments under random actions for a while, with one world checked against MuJoCo as they run
import type { DeviceName } from "../batch/devices.ts";
import type { Task } from "../env/index.ts";
import type { Plan } from "../memory/index.ts";
import { defineTarget } from "../env/describe.ts";
import { now } from "./machine.ts";
import { Runner } from "./runner.ts";
import type { ShadowCheck } from "../monitor/shadow.ts";
import { EnvShadow } from "../compare/shadow.ts";

export interface DemoOptions {
  readonly numEnvs: number;
  readonly seed: number;
  /** Control steps after which episodes are truncated: short, so that there are resets to see. */
  readonly maxEpisodeSteps: number;
  readonly adapter?: string | number;
  readonly device?: DeviceName;
  readonly threads?: number;
}

/** What has happened so far. */
export interface DemoProgress {
  readonly id: string;
  readonly numEnvs: number;
  readonly seconds: number;
  readonly controlSteps: number;
  /** Over the time since the last report. */
  readonly envStepsPerSec: number;
  readonly episodes: number;
  readonly terminated: number;
  readonly truncated: number;
  /** Of the episodes that have ended; 0 before the first. */
  readonly meanReturn: number;
  readonly meanLength: number;
  /** The last comparison with MuJoCo, and the worst of all. */
  readonly check: ShadowCheck | undefined;
  readonly checks: { readonly count: number; readonly failed: number; readonly qpos: number; readonly qvel: number };
  /** Steps of worlds that went bad (status bits); none is expected. */
  readonly trouble: number;
}

/** Seconds between two reports, and between two comparisons. */
const REPORT_SECONDS = 0.25;
const CHECK_SECONDS = 0.5;

/** One environment of the demo: memory reserved, kernels compiled. `close()` it. */
export class DemoRun {
  readonly firstStepMs: number;
  readonly frameSkip: number;
  readonly #runner: Runner;
  readonly #shadow: EnvShadow;

  private constructor(runner: Runner, shadow: EnvShadow, frameSkip: number) {
    this.#runner = runner;
    this.#shadow = shadow;
    this.frameSkip = frameSkip;
    this.firstStepMs = runner.firstStepMs;
  }

  /** @throws what makeVec throws */
  static async create(task: Task<object>, options: DemoOptions): Promise<DemoRun> {
    const { seed, ...batch } = options;
    const { settings } = await defineTarget(task, { ...batch });
    const runner = await Runner.create(task, batch, seed);
    try {
      const { frameSkip } = settings.vec;
      return new DemoRun(runner, await EnvShadow.create(settings.model, frameSkip), frameSkip);
    } catch (error) {
      await runner.close();
      throw error;
    }
  }

  get plan(): Plan {
    return this.#runner.env.plan;
  }

  get deviceName(): string {
    return this.#runner.env.deviceName;
  }

  /** Steps for a time and reports on the way. Returns the last report, with the rate of the whole time. */
  async run(seconds: number, onProgress: (progress: DemoProgress) => void): Promise<DemoProgress> {
    const runner = this.#runner;
    const { env } = runner;
    const begin = now();
    const counts = { controlSteps: 0, terminated: 0, truncated: 0, returns: 0, lengths: 0, episodes: 0, trouble: 0 };
    const checks = { count: 0, failed: 0, qpos: 0, qvel: 0 };
    let check: ShadowCheck | undefined;
    let reported = { at: begin, steps: 0 };
    let checkedAt = -Infinity;

    const report = (rate: number): DemoProgress => ({
      id: env.id,
      numEnvs: env.numEnvs,
      seconds: now() - begin,
      controlSteps: counts.controlSteps,
      envStepsPerSec: rate,
      episodes: counts.episodes,
      terminated: counts.terminated,
      truncated: counts.truncated,
      meanReturn: counts.episodes > 0 ? counts.returns / counts.episodes : 0,
      meanLength: counts.episodes > 0 ? counts.lengths / counts.episodes : 0,
      check,
      checks: { ...checks },
      trouble: counts.trouble,
    });

    for (let world = 0; now() - begin < seconds;) {
      const due = now() - checkedAt >= CHECK_SECONDS;
      const before = due ? await this.#shadow.before(env, world) : undefined;
      const { size } = env.singleActionSpace;
      const action = runner.nextActions.slice(world * size, (world + 1) * size);
      const { terminated, truncated, infos } = await runner.step();
      counts.controlSteps++;
      const { episode } = infos;
      if (episode) {
        for (let w = 0; w < env.numEnvs; w++) {
          if (episode.mask[w] === 0) continue;
          counts.episodes++;
          counts.terminated += terminated[w];
          counts.truncated += truncated[w] > terminated[w] ? 1 : 0;
          counts.returns += episode.r[w];
          counts.lengths += episode.l[w];
        }
      }
      counts.trouble += infos.worldsWithStatus().length;

      if (before) {
        const found = await this.#shadow.check(env, world, before, action);
        if (found) {
          check = found;
          checks.count++;
          if (!found.ok) checks.failed++;
          checks.qpos = Math.max(checks.qpos, found.qpos);
          checks.qvel = Math.max(checks.qvel, found.qvel);
        }
        checkedAt = now();
        // another one next time, far away in the batch
        world = (world + 617) % env.numEnvs;
      }

      const time = now();
      if (time - reported.at < REPORT_SECONDS) continue;
      onProgress(report((env.numEnvs * (counts.controlSteps - reported.steps)) / (time - reported.at)));
      reported = { at: time, steps: counts.controlSteps };
    }
    return report((env.numEnvs * counts.controlSteps) / (now() - begin));
  }

  async close(): Promise<void> {
    this.#shadow.delete();
    await this.#runner.close();
  }
}
