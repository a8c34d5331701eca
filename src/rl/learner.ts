/** A learner's buffers and kernels on the device: what the phases of an algorithm are put together from. */
import { CorralError } from "../core/errors.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { GuardedQueue } from "../gpu/guarded-queue.ts";
import { Readback } from "../gpu/readback.ts";
import { createBudget } from "../memory/device-budget.ts";
import type { Plan } from "../memory/plan.ts";
import { reserve, type Reservation } from "../memory/reserve.ts";
import type { GpuView, GpuViews } from "../env/gpu-views.ts";
import type { VectorEnv } from "../env/vector-env.ts";
import type { Space } from "../env/spaces.ts";
import { JOB_BYTES, planLearner, STATE, STATISTICS4, WORLD, type EnvShape, type LearnerShape } from "./arenas.ts";
import { Clock, type ClockField } from "./clock.ts";
import type { PpoConfig } from "./config.ts";
import { bindKernel, dispatch, type Job, type KernelName } from "./kernels.ts";
import { ACTIVATION, initialParameters, padTo, TILE, type Layer } from "./networks.ts";

/** Bounds of actions that have none. */
const UNBOUNDED = 3e38;
const MAX_CHOICES = 32;
/** What a run goes on from between two updates. */
const KEPT = ["params", "moments", "norm", "state", "worlds"] as const;

/** Kernels that touch an environment, for each of its shards. */
export interface Bound {
  readonly env: VectorEnv;
  readonly shards: readonly {
    readonly firstWorld: number;
    readonly worlds: number;
    readonly observe: Job;
    readonly act: Job;
    readonly store: Job;
  }[];
}

type Values = Partial<Record<ClockField, number | readonly number[]>>;

/** What the learner must know of an environment. Throws `gpu-required`, `unsupported-space`, `needs-next-step`. */
export function envShape(env: VectorEnv): EnvShape {
  const { id, numEnvs, singleActionSpace: space, singleObservationSpace } = env;
  viewsOf(env);
  if (env.autoreset !== "next-step") {
    throw new CorralError(
      "needs-next-step",
      `autoreset is "${env.autoreset}"; the learner bootstraps truncated episodes from their last observation, which it sees with "next-step". Make the environments with autoreset: "next-step".`,
      { autoreset: env.autoreset },
    );
  }
  const observations = singleObservationSpace.size;
  const alternatives = alternativesOf(space);
  const shape = { id, numEnvs, observations, actions: space.size, alternatives };
  if (space.kind === "box") return { ...shape, head: "gaussian", outputs: space.size };
  if (alternatives.length > MAX_CHOICES) {
    throw new CorralError(
      "unsupported-space",
      `${id} takes ${alternatives.length} choices at once; the learner has room for ${MAX_CHOICES}.`,
      { choices: alternatives.length },
    );
  }
  return { ...shape, head: "categorical", outputs: alternatives.reduce((sum, n) => sum + n, 0) };
}

/** Throws `unsupported-space` where actions are not continuous, or one has no bounds to be squashed into. */
export function assertBounded({ id, singleActionSpace: space }: VectorEnv): void {
  if (space.kind === "box" && [...space.low, ...space.high].every((x) => Math.abs(x) < UNBOUNDED)) return;
  throw new CorralError(
    "unsupported-space",
    `squash is true, but the actions of ${id} are ${space.kind === "box" ? "without bounds" : "discrete"}. Leave it out.`,
  );
}

/** The buffers of an environment on the GPU. Throws `gpu-required`. */
export function viewsOf(env: VectorEnv): GpuViews {
  if (env.gpu) return env.gpu;
  throw new CorralError(
    "gpu-required",
    `${env.id} runs on ${env.deviceName}; the learner reads its buffers on a device. Make it without device: "cpu".`,
  );
}

const alternativesOf = (space: Space): number[] =>
  space.kind === "discrete" ? [space.n] : space.kind === "multi-discrete" ? [...space.nvec] : [];

export class Learner implements AsyncDisposable {
  readonly gpu: GpuDevice;
  readonly shape: LearnerShape;
  readonly plan: Plan;
  readonly clock: Clock;
  readonly #queue: GuardedQueue;
  readonly #reservation: Reservation;
  readonly #readback: Readback;
  readonly #jobs = new Map<string, Job>();
  readonly #bound = new WeakMap<VectorEnv, Promise<Bound>>();
  readonly #state = new Float32Array(STATE);
  readonly #slots = new Map<string, number>();

  private constructor(gpu: GpuDevice, shape: LearnerShape, reservation: Reservation) {
    this.gpu = gpu;
    this.shape = shape;
    this.plan = reservation.plan;
    this.clock = new Clock();
    this.#queue = new GuardedQueue(gpu, reservation.holder);
    this.#reservation = reservation;
    this.#readback = new Readback(gpu, reservation.buffers("staging"));
  }

  /** Reserves the learner's memory in the device's budget and compiles its kernels; holds nothing where either fails. */
  static async create(gpu: GpuDevice, shape: LearnerShape, config: PpoConfig): Promise<Learner> {
    const plan = planLearner(shape, config, gpu.limits);
    const reservation = await reserve(gpu, plan, await createBudget(gpu));
    try {
      const learner = new Learner(gpu, shape, reservation);
      await learner.#bindNetworks();
      return learner;
    } catch (error) {
      await reservation.close();
      throw error;
    }
  }

  /** The numbers of a job; equal ones share a slot. */
  #slot(words: readonly number[]): GPUBufferBinding {
    const buffer = this.buffer("jobs");
    const key = words.join();
    let offset = this.#slots.get(key);
    if (offset === undefined) {
      offset = this.#slots.size * JOB_BYTES;
      this.#slots.set(key, offset);
      const data = new Uint32Array(JOB_BYTES / 4);
      data.set(words);
      this.write("jobs", data, offset);
    }
    return { buffer, offset, size: JOB_BYTES };
  }

  buffer(arena: string): GPUBuffer {
    return this.#reservation.buffer(arena);
  }

  /** Queues a write of the first numbers of an arena, or of those from a byte on. */
  write(arena: string, data: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>, offset = 0): void {
    const buffer = this.buffer(arena);
    this.#queue.run(`write ${arena}`, () => this.gpu.device.queue.writeBuffer(buffer, offset, data));
  }

  /** Reads the first numbers of an arena, after all work so far. */
  async read<T extends Float32Array | Uint32Array>(arena: string, into: T): Promise<T> {
    await this.#readback.read(this.buffer(arena), 0, into.byteLength, into);
    await this.#queue.accepted(`read ${arena}`);
    return into;
  }

  /** Reads the state that kernels keep; the array is the same each time. */
  readState(): Promise<Float32Array> {
    return this.read("state", this.#state);
  }

  async #bind(name: string, kernel: KernelName, words?: readonly number[]): Promise<void> {
    const slot = words ? this.#slot(words) : undefined;
    this.#jobs.set(name, await bindKernel(this.gpu, kernel, (arena) => this.buffer(arena), slot));
  }

  async #bindNetworks(): Promise<void> {
    const { shape } = this;
    const { nets, work, actions4, env } = shape;
    const binds: Promise<void>[] = [];
    const bind = (name: string, kernel: KernelName, words?: readonly number[]) =>
      binds.push(this.#bind(name, kernel, words));

    // policy and value network run side by side, layer by layer
    const place = (layers: readonly Layer[], i: number): number[] => {
      const { k, w, b, n } = layers[i];
      const x = i > 0 ? work.outputs.get(layers[i - 1])! : work.x;
      return [x, k / 4, w, b, work.outputs.get(layers[i])!, n / 4];
    };
    // sums of columns are the gradient of a bias
    const sum = (from: number, width4: number, to: number) => [work.x, 2, 0, to, from, width4, 0, 1];
    const { policy, value, logStd } = nets;
    policy.forEach((layer, i) => {
      const activation = ACTIVATION[layer.activation];
      const both = [place(policy, i), place(value, i)];
      bind(
        `forward ${i}`,
        "forward",
        both.flatMap((words) => [...words, activation, 0]),
      );
      const gradients = both.map((words) => [...words, 0, 0]);
      if (i === policy.length - 1) {
        gradients.push(sum(work.statistics, STATISTICS4, nets.params4));
        if (logStd.count > 0) gradients.push(sum(work.slopes, padTo(logStd.count, TILE) / 4, logStd.at));
      }
      bind(`gradient ${i}`, "gradient", gradients.flat());
      if (i === 0) return;
      const below = ACTIVATION[policy[i - 1].activation];
      bind(
        `backward ${i}`,
        "backward",
        both.flatMap((words) => [...words, below, 0]),
      );
    });
    bind("gather", "gather");
    const last = nets.policy.at(-1)!;
    const valueLast = nets.value.at(-1)!;
    const outputs = [work.outputs.get(last)!, last.n / 4, work.outputs.get(valueLast)!, valueLast.n / 4];
    if (env.head === "gaussian") {
      const slopes4 = padTo(nets.logStd.count, TILE) / 4;
      const words = [...outputs, env.actions, actions4, nets.logStd.at, work.slopes, slopes4, work.statistics];
      bind("loss", "loss_gaussian", words);
    } else {
      const floats = outputs.map((vec4s) => vec4s * 4);
      bind("loss", "loss_categorical", [
        ...floats,
        env.alternatives.length,
        actions4 * 4,
        work.statistics * 4,
        0,
        ...env.alternatives,
      ]);
    }
    for (const name of ["returns", "advantages", "sum_worlds", "scale_rewards", "scale_advantages"] as const) {
      bind(name, name);
    }
    for (const name of ["reduce", "squares", "judge", "adam", "sum_obs", "merge_obs"] as const) bind(name, name);
    const ends = await Promise.allSettled(binds);
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  /** The kernels that read and write an environment of the learner's shape, bound at the first call. */
  bindEnv(env: VectorEnv): Promise<Bound> {
    let bound = this.#bound.get(env);
    if (!bound) this.#bound.set(env, (bound = this.#bindEnv(env)));
    return bound;
  }

  async #bindEnv(env: VectorEnv): Promise<Bound> {
    const views = viewsOf(env);
    const { nets, work, k4, actions4, env: head } = this.shape;
    const word = (view: GpuView) => view.offset / 4;
    const { rewards, terminated, truncated, resets, status, episodeLengths, episodeReturns } = views;
    const result = [terminated, truncated, resets, status, episodeLengths, episodeReturns].map(word);
    const store = this.#slot([rewards.stride / 4, word(rewards), ...result]);
    const last = nets.policy.at(-1)!;
    const valueLast = nets.value.at(-1)!;
    const outputs = [work.outputs.get(last)!, last.n / 4, work.outputs.get(valueLast)!, valueLast.n / 4];
    const act = this.#slot(
      head.head === "gaussian"
        ? [...outputs, head.actions, actions4, nets.logStd.at, 4 * k4]
        : [...outputs.map((n) => 4 * n), head.alternatives.length, 4 * actions4, startOf(env), 0, ...head.alternatives],
    );
    const bind = (kernel: KernelName, shard: number, job?: GPUBufferBinding) => {
      const buffers: Record<string, GPUBuffer> = {
        "env.obs": views.observations.shards[shard].buffer,
        "env.action": views.actions.shards[shard].buffer,
        "env.result": rewards.shards[shard].buffer,
      };
      return bindKernel(this.gpu, kernel, (arena) => buffers[arena] ?? this.buffer(arena), job);
    };
    const shards = views.observations.shards.map(async ({ firstWorld, worlds }, shard) => ({
      firstWorld,
      worlds,
      observe: await bind("observe", shard),
      act: await bind(`act_${head.head}`, shard, act),
      store: await bind("store", shard, store),
    }));
    return { env, shards: await Promise.all(shards) };
  }

  /** Submits one pass of jobs, with the clock set before. */
  submit(what: string, values: Values, encode: (pass: GPUComputePassEncoder) => void): void {
    this.clock.set(values);
    const { device } = this.gpu;
    this.#queue.run(what, () => {
      device.queue.writeBuffer(this.buffer("clock"), 0, this.clock.words);
      const encoder = device.createCommandEncoder({ label: what });
      const pass = encoder.beginComputePass({ label: what });
      encode(pass);
      pass.end();
      device.queue.submit([encoder.finish()]);
    });
  }

  /** Adds a job to a pass, for `count` invocations of each of its parts. */
  run(pass: GPUComputePassEncoder, name: string, count: number, parts = 1): void {
    dispatch(pass, this.#jobs.get(name)!, count, parts);
  }

  /** Runs both networks forward over the first rows of the input. */
  forward(pass: GPUComputePassEncoder, rows: number): void {
    const { policy, value } = this.shape.nets;
    const tiles = Math.ceil(rows / TILE);
    policy.forEach((layer, i) => this.run(pass, `forward ${i}`, (tiles * Math.max(layer.n, value[i].n)) / TILE, 2));
  }

  /**
   * Runs both networks backward from the derivatives that lie in their outputs. Gradients go to the partial sums, with
   * the statistics of the rows and what the log standard deviations add.
   */
  backward(pass: GPUComputePassEncoder, rows: number, chunks: number): void {
    const { policy, value, logStd } = this.shape.nets;
    const tiles = Math.ceil(rows / TILE);
    for (let i = policy.length - 1; i >= 0; i--) {
      const { k, n } = policy[i];
      const isLast = i === policy.length - 1;
      const columns = Math.max(n, value[i].n, isLast ? padTo(logStd.count, TILE) : 0) / TILE;
      const parts = isLast ? (logStd.count > 0 ? 4 : 3) : 2;
      this.run(pass, `gradient ${i}`, chunks * (k / TILE) * columns, parts);
      if (i > 0) this.run(pass, `backward ${i}`, (tiles * k) / TILE, 2);
    }
  }

  /** Parameters, optimizer and statistics as at the start of a run. */
  initialize(env: VectorEnv, seed: number | bigint, initialLogStd: number): void {
    const { nets, env: head, k4, actions4 } = this.shape;
    this.write("params", initialParameters(nets, seed, initialLogStd));
    this.write("moments", new Float32Array(8 * nets.params4));

    // mean 0, deviation 1; columns that only fill up are multiplied by 0
    const norm = new Float32Array(16 * k4 + 8 * actions4);
    norm.fill(1, 4 * k4, 4 * k4 + head.observations);
    const space = env.singleActionSpace;
    if (space.kind === "box") {
      for (let i = 0; i < space.size; i++) {
        const at = 16 * k4 + 8 * (i >> 2) + (i & 3);
        norm[at] = Math.max(-UNBOUNDED, space.low[i]);
        norm[at + 4] = Math.min(UNBOUNDED, space.high[i]);
      }
    }
    this.write("norm", norm);

    // reward scale 1, powers of Adam's decays 1
    const state = new Float32Array(STATE);
    state[0] = state[1] = state[11] = state[13] = 1;
    this.write("state", state);

    const worlds = new Uint32Array(env.numEnvs * WORLD);
    env.worldIds.forEach((id, i) => (worlds[i * WORLD] = id));
    this.write("worlds", worlds);
  }

  /** Copies what a run goes on from, as words by arena. */
  async copy(): Promise<Record<string, Uint32Array<ArrayBuffer>>> {
    const copies: Record<string, Uint32Array<ArrayBuffer>> = {};
    for (const arena of KEPT) copies[arena] = await this.read(arena, new Uint32Array(this.buffer(arena).size / 4));
    return copies;
  }

  /** Puts such a copy back. Throws `bad-snapshot` where its sizes are others; then nothing has changed. */
  put(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>): void {
    for (const arena of KEPT) {
      const [want, found] = [this.buffer(arena).size / 4, copies[arena]?.length];
      if (found === want) continue;
      throw new CorralError(
        "bad-snapshot",
        `the snapshot has ${found ?? "no"} words of ${arena}, this learner ${want}. Restore into a learner of the same environment, numEnvs and networks.`,
        { arena, found, want },
      );
    }
    for (const arena of KEPT) this.write(arena, copies[arena]);
  }

  /** Resolves once all work so far is done. Throws where the device refused any. */
  done(): Promise<void> {
    return this.#queue.done("wait for the learner");
  }

  close(): Promise<void> {
    return this.#reservation.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const startOf = (env: VectorEnv): number =>
  env.singleActionSpace.kind === "discrete" ? env.singleActionSpace.start : 0;
