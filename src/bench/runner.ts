// an environment under random actions, with its rates
import { CorralError } from "../core/errors.ts";
import { makeVec, type StepResult, type Task, type VectorEnv, type VecOptions } from "../env/index.ts";
import { RandomStream, streams } from "../core/rng.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { PHASES, type ActionPool } from "./actions.ts";
import { DeviceActions } from "./device-actions.ts";
import { cpuSeconds, now } from "./machine.ts";

/** Batches of random actions that are used by turns. */
const ACTION_BATCHES = 8;
/** Control steps before anything is measured: from the start states into what random actions make of them. */
const WARM_STEPS = 200;
/** They end after this many times the length of a measurement. */
const WARM_SHARE = 5;
/** Device time between two looks at the clock. */
const BURST_SECONDS = 0.05;
/** The environment waits by itself after this many steps. */
const MAX_BURST = 32;
/** Worlds beyond this get fewer batches of actions: the host would spend its memory on them. */
const MANY_WORLDS = 65536;

/** Steps made in a time. */
export interface Measured {
  readonly controlSteps: number;
  readonly seconds: number;
  /** Processor time of all threads, drivers' included. */
  readonly cpuSeconds: number;
}

/** A batch that is stepped under random actions. */
export class Runner {
  readonly env: VectorEnv;
  /** Milliseconds from the call that makes it to the results of its first step, reset included. */
  readonly firstStepMs: number;
  readonly #actions: readonly (Float32Array | Int32Array)[];
  #onDevice: DeviceActions | undefined;
  #next = 0;
  #burst = 1;
  #worldSteps = 0;
  #episodes = 0;
  #slowest = 0;

  private constructor(env: VectorEnv, actions: readonly (Float32Array | Int32Array)[], firstStepMs: number) {
    this.env = env;
    this.#actions = actions;
    this.firstStepMs = firstStepMs;
  }

  /**
   * Without a pool actions are samples of the action space.
   * @throws what makeVec throws
   */
  static async create(task: Task<object>, options: VecOptions, seed: number, pool?: ActionPool): Promise<Runner> {
    const { numEnvs } = options;
    const batches = numEnvs > MANY_WORLDS ? 2 : pool ? PHASES : ACTION_BATCHES;
    const pooled = pool && Array.from({ length: batches }, (_, k) => pool.batch(numEnvs, k));
    const begin = now();
    const env = await makeVec(task as unknown as Task<never>, { ...options, seed } as never);
    try {
      await env.reset();
      const first = pooled?.[0] ?? env.actionSpace.sample(seed, { draw: 0 });
      await env.step(first);
      const firstStepMs = 1000 * (now() - begin);
      const others =
        pooled?.slice(1) ??
        Array.from({ length: batches - 1 }, (_, i) => env.actionSpace.sample(seed, { draw: i + 1 }));
      return new Runner(env, [first, ...others], firstStepMs);
    } catch (error) {
      await env.close();
      throw error;
    }
  }

  /** Lets a kernel take the actions from a pool from now on, where results stay on the device. */
  async actOnDevice(gpu: GpuDevice, pool: ActionPool): Promise<void> {
    this.#onDevice = await DeviceActions.create(gpu, this.env.gpu!.actions, pool);
  }

  /** The actions of the next step, [numEnvs, ...action]. */
  get nextActions(): Float32Array | Int32Array {
    return this.#actions[this.#next % this.#actions.length];
  }

  #action(): Float32Array | Int32Array {
    const actions = this.nextActions;
    this.#next++;
    return actions;
  }

  /** Mean length of episodes in control steps, of those that ended; `limit` if none has. */
  meanEpisodeSteps(limit: number): number {
    return this.#episodes > 0 ? Math.min(limit, this.#worldSteps / this.#episodes) : limit;
  }

  /** Part of the control steps that do physics: with next-step autoreset a reset takes a step of its own. */
  get physicsShare(): number {
    if (this.env.autoreset !== "next-step" || this.#worldSteps === 0) return 1;
    return 1 - this.#episodes / this.#worldSteps;
  }

  /**
   * Puts the worlds into states that random actions lead to, at different times of their episodes. Whether it made all
   * steps that this takes in a few times `seconds`.
   */
  async warmUp(maxEpisodeSteps: number, seconds: number): Promise<boolean> {
    if (Number.isFinite(maxEpisodeSteps)) {
      const random = new RandomStream(0, 0, 0, streams.user);
      const lengths = Float64Array.from({ length: this.env.numEnvs }, (_, w) => random.integer(w, maxEpisodeSteps));
      await this.env.setState({ episode_length: lengths });
    }
    const begin = now();
    let steps = 0;
    while (steps < WARM_STEPS && now() - begin < WARM_SHARE * seconds) {
      const before = now();
      await this.step();
      this.#slowest = Math.max(this.#slowest, now() - before);
      steps++;
    }
    this.#pace((now() - begin) / steps);
    return steps === WARM_STEPS;
  }

  /** Puts the worlds into states of another runner's, which is warm, over and over. */
  async continueFrom(other: Runner): Promise<void> {
    // the number of an episode stays: random draws are keyed by it
    const names = this.env.stateNames.filter((name) => name !== "episode");
    const from = await other.env.getState(names);
    const tiled = names.map((name) => {
      const values = from[name];
      const out = new Float64Array((values.length / other.env.numEnvs) * this.env.numEnvs);
      for (let at = 0; at < out.length; at += values.length) out.set(values.subarray(0, out.length - at), at);
      return [name, out] as const;
    });
    await this.env.setState(Object.fromEntries(tiled));

    await this.step();
    const begin = now();
    await this.step();
    this.#pace(now() - begin);
  }

  /** Looks at the clock as often as it pays for control steps of this many seconds. */
  #pace(secondsPerStep: number): void {
    this.#burst = Math.min(MAX_BURST, Math.max(1, Math.round(BURST_SECONDS / secondsPerStep)));
  }

  /** One control step whose results reach the host. */
  async step(): Promise<StepResult> {
    const result = await this.env.step(this.#action());
    const { terminated, truncated } = result;
    this.#worldSteps += this.env.numEnvs;
    for (let w = 0; w < terminated.length; w++) if (terminated[w] !== 0 || truncated[w] !== 0) this.#episodes++;
    return result;
  }

  /** Seconds of the slowest control step while it was warmed up. */
  get slowest(): number {
    return this.#slowest;
  }

  /** Control steps whose results all reach the host. */
  async withResults(seconds: number): Promise<Measured> {
    const begin = now();
    const cpu = cpuSeconds();
    let controlSteps = 0;
    do {
      await this.step();
      controlSteps++;
    } while (now() - begin < seconds);
    return { controlSteps, seconds: now() - begin, cpuSeconds: cpuSeconds() - cpu };
  }

  /** Control steps whose results stay on the device; it has finished all of them when this resolves. */
  async withoutResults(seconds: number): Promise<Measured> {
    const begin = now();
    const cpu = cpuSeconds();
    let controlSteps = 0;
    do {
      if (this.#onDevice) await this.stepsOnDevice(this.#burst);
      else for (let k = 0; k < this.#burst; k++) await this.env.step(this.#action(), { readback: false });
      await this.env.sync();
      controlSteps += this.#burst;
    } while (now() - begin < seconds);
    return { controlSteps, seconds: now() - begin, cpuSeconds: cpuSeconds() - cpu };
  }

  /** Control steps in one submission, with actions that a kernel makes; after `actOnDevice`. */
  stepsOnDevice(count: number): Promise<void> {
    return this.env.stepOnDevice((pass, step) => {
      for (let k = 0; k < count; k++) {
        this.#onDevice?.encode(pass);
        step();
      }
    });
  }

  /** Throws if a world went bad: its steps would not be worth their rate. */
  async assertHealthy(): Promise<void> {
    const { env } = this;
    await env.read();
    const bad = env.infos.worldsWithStatus();
    if (bad.length === 0) return;
    const names = env.infos.statusNames(bad[0]).join(", ");
    throw new CorralError(
      "bench-unhealthy",
      `${bad.length} of ${env.numEnvs} worlds of ${env.id} have ${names}; the rate would mean nothing.`,
    );
  }

  async close(): Promise<void> {
    await this.env.close();
    this.#onDevice?.close();
  }
}
