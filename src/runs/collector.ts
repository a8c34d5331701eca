// collecting on the CPU: worlds in worker threads, stepped as WebAssembly, or as JavaScript, under a copy of the policy. No
// thread makes or touches a GPU device. Two buffers: while one is learnt from, the threads fill the other.
import { INSPECT, type Inspect, printFacts } from "../core/inspect.ts";
import { formatBytes } from "../core/units.ts";
import type { Worker } from "node:worker_threads";
import { availableParallelism } from "node:os";
import { CorralError } from "../core/errors.ts";
import { badOption, checked, optionsOf, unknownOption } from "../core/options.ts";
import { integer } from "../core/schema.ts";
import { seedKey } from "../core/rng.ts";
import { startWorker } from "../core/worker.ts";
import { jsEnvOf } from "../env/js-env.ts";
import { IN_THREADS, taskOf } from "../env/registry.ts";
import type { Hold } from "../memory/budget.ts";
import { HOST_DEVICES, isHostDevice } from "../batch/devices.ts";
import { hostBudget } from "../memory/host-budget.ts";
import { actorFloats, type ActorSpec } from "../rl/ppo/host-actor.ts";
import {
  COLLECTING,
  type CollectAnswer,
  type CollectRequest,
  type CollectSetup,
  type Episodes,
  type StateRequest,
  type ThreadState,
} from "./collect-job.ts";
import { BUFFERS, partsOf, planCollector, shapeOf, type CollectorOptions, type Part } from "./collector-plan.ts";
import { collectedBytes, collectedRows, type CollectedRows, type CollectedShape } from "./collected.ts";

export type { CollectorOptions } from "./collector-plan.ts";

/** A collector's state as plain data: the batch that was not taken yet, and the worlds of each thread after it. */
export interface CollectorSnapshot {
  readonly version: number;
  readonly batch: { readonly words: Uint32Array<ArrayBuffer>; readonly episodes: Episodes } | null;
  readonly threads: readonly ThreadState[];
}

/** Control steps of all worlds, complete. Its arrays are valid until the batch after the next one is started. */
export interface CollectedBatch extends CollectedRows {
  readonly steps: number;
  readonly numEnvs: number;
  /** Counts the batches: the parameters of the `version`-th `start` acted. */
  readonly version: number;
  readonly episodes: Episodes;
}

export class Collector implements AsyncDisposable {
  readonly id: string;
  readonly shape: CollectedShape;
  /** Bytes of worlds and buffers, in the host's budget. */
  readonly bytes: number;
  readonly #workers: Worker[] = [];
  readonly #hold: Hold;
  readonly #params: Float32Array;
  readonly #buffers: readonly SharedArrayBuffer[];
  readonly #rows: readonly CollectedRows[];
  readonly #waiting = new Map<
    Worker,
    { resolve: (answer: CollectAnswer) => void; reject: (why: CorralError) => void }
  >();
  #version = 0;
  #flying: Promise<CollectedBatch> | undefined;
  #failure: CorralError | undefined;
  #closing: Promise<void> | undefined;

  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return printFacts(
      "Collector",
      { id: this.id, shape: this.shape, memory: formatBytes(this.bytes) },
      options,
      inspect,
    );
  }

  private constructor(id: string, options: CollectorOptions, hold: Hold) {
    this.id = id;
    this.shape = shapeOf(options);
    this.bytes = hold.bytes;
    this.#hold = hold;
    this.#buffers = Array.from({ length: BUFFERS }, () => new SharedArrayBuffer(collectedBytes(this.shape)));
    this.#params = new Float32Array(new SharedArrayBuffer(4 * actorFloats(options.actor)));
    this.#rows = this.#buffers.map((buffer) => collectedRows(buffer, this.shape));
  }

  /** Starts the threads, as many at once as there are processors: each compiles MuJoCo and its kernels. */
  async #startThreads(options: CollectorOptions): Promise<void> {
    const parts = partsOf(options);
    const atOnce = availableParallelism();
    for (let at = 0; at < parts.length; at += atOnce) {
      const started = parts.slice(at, at + atOnce).map((part) => this.#startThread(options, part));
      await Promise.all(started.map((worker) => this.#answer(worker)));
    }
  }

  #startThread({ actor, seed = 0, env = {}, modules = [] }: CollectorOptions, { first, worlds }: Part): Worker {
    const { id, shape } = this;
    const params = this.#params.buffer as SharedArrayBuffer;
    const setup: CollectSetup = { id, env, seed, first, worlds, shape, actor, params, buffers: this.#buffers };
    const workerData = { ...setup, modules };
    const worker = startWorker(new URL("../collect-worker.ts", import.meta.url), { workerData });
    const name = `the thread of ${worlds === 1 ? `world ${first}` : `worlds ${first} to ${first + worlds - 1}`}`;
    worker.on("message", (answer: CollectAnswer) => this.#answered(worker, name, answer));
    worker.on("error", (error) => this.#fail(`${name} failed: ${error.message}`, error));
    worker.on("exit", (code) => this.#fail(`${name} ended with code ${code}`));
    this.#workers.push(worker);
    return worker;
  }

  /**
   * Starts the threads and makes their worlds, in the host's budget.
   * @throws CorralError unknown-env before all else, bad-option, bad-seed and what makeVec throws; BudgetExceededError
   *   before any thread is started; collector-failed. Then nothing is held.
   */
  static async create(id: string, options: CollectorOptions): Promise<Collector> {
    check(id, options);
    const plan = await planCollector(id, options);
    const hold = await hostBudget().reserve(plan, plan.name);
    let collector: Collector;
    try {
      collector = new Collector(id, options, hold);
    } catch (error) {
      hold.release();
      throw error;
    }
    try {
      await collector.#startThreads(options);
      return collector;
    } catch (error) {
      await collector.close();
      throw error;
    }
  }

  /**
   * Begins the next batch with these parameters, which are copied, or with uniform actions.
   * @throws CorralError closed, collector-failed, collect-in-flight, bad-policy
   */
  start(params: Float32Array, options: { readonly random?: boolean } = {}): void {
    this.#assertGood("collect");
    const other = Object.keys(optionsOf(options)).find((name) => name !== "random");
    if (other !== undefined) throw unknownOption("start", other, ["random"]);
    const { random = false } = options;
    if (this.#flying) {
      throw new CorralError("collect-in-flight", `${this.id} is collecting already. Call take() first.`);
    }
    if (!((params as unknown) instanceof Float32Array) || params.length < this.#params.length) {
      throw new CorralError(
        "bad-policy",
        `the policy has ${(params as Float32Array | undefined)?.length ?? 0} numbers; the collector's has ${this.#params.length}. Pass what ppo.actingParameters() or sac.parameters() gives, of the learner that it was made for.`,
      );
    }
    // no thread reads them: all have answered
    this.#params.set(params.subarray(0, this.#params.length));
    const version = ++this.#version;
    const buffer = version % BUFFERS;
    const request: CollectRequest = { buffer, stamp: version, random };
    this.#flying = this.#ask(() => request).then((all) => {
      const episodes = all.map((answer) => (answer as { readonly episodes: Episodes }).episodes);
      const sum = (of: keyof Episodes) => episodes.reduce((total, each) => total + each[of], 0);
      return this.#batchOf(version, {
        count: sum("count"),
        returns: sum("returns"),
        lengths: sum("lengths"),
        badSteps: sum("badSteps"),
      });
    });
    // an error that is never awaited is thrown by the next call
    this.#flying.catch(() => {});
  }

  #batchOf(version: number, episodes: Episodes): CollectedBatch {
    const { steps, numEnvs } = this.shape;
    return { ...this.#rows[version % BUFFERS], steps, numEnvs, version, episodes };
  }

  /** Asks every thread, and waits for all answers. */
  #ask(request: (thread: number) => CollectRequest | StateRequest): Promise<CollectAnswer[]> {
    const answers = this.#workers.map((worker) => this.#answer(worker));
    this.#workers.forEach((worker, i) => worker.postMessage(request(i)));
    return Promise.all(answers);
  }

  /** Returns the collector's state after the batch in progress, which can still be taken. Throws `closed`, `collector-failed`. */
  async snapshot(): Promise<CollectorSnapshot> {
    this.#assertGood("take a snapshot");
    const batch = await this.#flying;
    const states = await this.#ask(() => ({ snapshot: true }));
    const rows = new Uint32Array(this.#buffers[this.#version % BUFFERS]).slice();
    return {
      version: this.#version,
      batch: batch ? { words: rows, episodes: batch.episodes } : null,
      threads: states.map((answer) => (answer as { readonly state: ThreadState }).state),
    };
  }

  /**
   * Puts a snapshot back, of a collector with the same options and as many threads: the next batch is the same to the
   * bit. One that was under way is dropped.
   * @throws CorralError bad-snapshot, closed, collector-failed
   */
  async restore({ version, batch, threads }: CollectorSnapshot): Promise<void> {
    this.#assertGood("restore");
    const words = this.#buffers[0].byteLength / 4;
    if (threads.length !== this.#workers.length || (batch && batch.words.length !== words)) {
      throw new CorralError(
        "bad-snapshot",
        `the snapshot is of a collector with ${threads.length} threads and ${batch?.words.length ?? 0} words of a batch; this one has ${this.#workers.length} and ${words}. Make it with the same options.`,
      );
    }
    await this.#flying;
    await this.#ask((thread) => ({ restore: threads[thread] }));
    this.#version = version;
    this.#flying = undefined;
    if (!batch) return;
    new Uint32Array(this.#buffers[version % BUFFERS]).set(batch.words);
    this.#flying = Promise.resolve(this.#batchOf(version, batch.episodes));
  }

  /** Waits for the batch that was begun. Throws `closed`, `collector-failed`, `nothing-started`. */
  async take(): Promise<CollectedBatch> {
    this.#assertGood("take a batch");
    if (!this.#flying) throw new CorralError("nothing-started", `${this.id} is not collecting. Call start() first.`);
    const batch = await this.#flying;
    this.#flying = undefined;
    return batch;
  }

  /** One batch, begun and waited for: nothing is under way when it is returned. */
  collect(params: Float32Array, options: { readonly random?: boolean } = {}): Promise<CollectedBatch> {
    this.start(params, options);
    return this.take();
  }

  #assertGood(what: string): void {
    if (this.#closing) throw new CorralError("closed", `cannot ${what}: the collector of ${this.id} was closed.`);
    if (this.#failure) throw this.#failure;
  }

  #answer(worker: Worker): Promise<CollectAnswer> {
    return new Promise((resolve, reject) => this.#waiting.set(worker, { resolve, reject }));
  }

  #answered(worker: Worker, name: string, answer: CollectAnswer): void {
    if ("error" in answer) {
      const unknown = answer.error.message.startsWith("[unknown-env]");
      const remedy = " Pass modules: the URLs of files that define it, which threads import.";
      this.#fail(`${name} failed: ${answer.error.message}${unknown ? remedy : ""}`, answer.error);
    } else this.#waiting.get(worker)?.resolve(answer);
    this.#waiting.delete(worker);
  }

  #fail(why: string, cause?: unknown): void {
    if (this.#closing) return;
    this.#failure ??= new CorralError(
      "collector-failed",
      `collecting ${this.id} stopped: ${why.replace(/\.$/, "")}. Close the collector and make another one.`,
      { cause: (cause as { code?: string } | undefined)?.code },
      { cause },
    );
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }

  /** Ends the threads, also in the middle of a batch, and gives their memory back. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      const closed = new CorralError("closed", `the collector of ${this.id} was closed. Make another one.`);
      for (const { reject } of this.#waiting.values()) reject(closed);
      this.#waiting.clear();
      await Promise.all(this.#workers.map((worker) => worker.terminate()));
      this.#hold.release();
    })();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const REMEDY = "pass what a learner has, { ...ppo.collecting, steps: 32, threads: 2 }, or sac.collecting";
const MODULES = 'pass a list of URLs, such as [new URL("./my-task.mjs", import.meta.url).href]';

const NAMES = [
  "numEnvs",
  "steps",
  "actor",
  "observations",
  "threads",
  "seed",
  "env",
  "sendBytes",
  "modules",
] as const satisfies (keyof CollectorOptions)[];

function check(id: string, options: CollectorOptions): void {
  // throws unknown-env
  if (jsEnvOf(id) === undefined) taskOf(id, IN_THREADS);
  if (typeof options !== "object" || (options as CollectorOptions | null) === null)
    throw badOption("options", options, REMEDY);
  const other = Object.keys(options).find((name) => !(NAMES as readonly string[]).includes(name));
  if (other !== undefined) throw unknownOption("a collector", other, NAMES);
  const { env = {}, seed = 0, threads = 1, actor, modules = [] } = options;
  seedKey(seed);
  if (!Array.isArray(modules) || !modules.every((name) => typeof name === "string" && /^[^.]/.test(name)))
    throw badOption("modules", modules, MODULES);
  const counts = { numEnvs: options.numEnvs, steps: options.steps, threads, observations: options.observations };
  for (const [name, value] of Object.entries(counts)) {
    if (value === undefined) throw badOption(name, value, REMEDY);
    checked(name, integer(1), value);
  }
  if (typeof actor !== "object" || (actor as ActorSpec | null) === null) throw badOption("actor", actor, REMEDY);
  const { device = COLLECTING } = env as { device?: unknown };
  if (isHostDevice(device)) return;
  throw new CorralError("bad-option", `a collector's worlds run on the CPU; pass device: ${HOST_DEVICES.join(", ")}.`, {
    device: typeof device === "string" ? device : typeof device,
  });
}
