// a page on a run while it trains: a thread of its own serves it, and the run tells it what it reads anyway. Worlds are
// read while a page looks, and only then; nothing of the run is written
import type { Worker } from "node:worker_threads";
import { CorralError } from "../core/errors.ts";
import { startWorker } from "../core/worker.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import type { Policy } from "../rl/networks/policy.ts";
import type { TrainProgress } from "../runs/progress.ts";
import { scalarsOf } from "../runs/scalars.ts";
import type { FromRunPage, RunFacts, RunPageSetup, RunPoint, ToRunPage } from "./run-messages.ts";

/** Worlds that are shown. */
const WORLDS = 4;
/** Milliseconds between two readings of worlds and policy. */
const EVERY_MS = 2000;
/** Milliseconds of updates that the page is told of in one message. */
const TOGETHER_MS = 250;
/** What a state has that is counted, not set. */
const COUNTED = "episode";

export interface RunWatchOptions extends Pick<RunPageSetup, "env" | "seed" | "worlds"> {
  /** Of the address; 0 is a free one. */
  readonly port?: number;
  /** Modules that register tasks of the user's own, as URLs. */
  readonly modules?: readonly string[];
  /** Told where the thread ends by itself: the run goes on without a page. */
  readonly onFault?: (text: string) => void;
}

export class RunWatch implements AsyncDisposable {
  /** Of the page, with its secret. */
  readonly url: string;
  readonly #worker: Worker;
  readonly #looks: Int32Array;
  /** Of updates that the page was not told of yet. */
  #points: RunPoint[] = [];
  #seen = 0;
  #read = -Infinity;

  private constructor(worker: Worker, url: string, looks: Int32Array) {
    this.#worker = worker;
    this.url = url;
    this.#looks = looks;
  }

  /** Starts the thread. Throws `port-not-open`, `viewer-not-built`, `view-failed`. */
  static async open(facts: RunFacts, options: RunWatchOptions): Promise<RunWatch> {
    const { port = 0, env, seed, modules = [], onFault } = options;
    const looks = new SharedArrayBuffer(4);
    const setup: RunPageSetup = { facts, port, env, seed, worlds: Math.min(WORLDS, options.worlds), looks };
    const worker = startWorker(new URL("../view-worker.ts", import.meta.url), { workerData: { ...setup, modules } });
    let isOpen = false;
    const url = await new Promise<string>((resolve, reject) => {
      worker.once("message", (answer: FromRunPage) => {
        if ("url" in answer) resolve(answer.url);
        else reject(new CorralError(answer.error.code, answer.error.message.replace(/^\[[\w-]+\] /, "")));
      });
      worker.on("error", (error) => {
        if (isOpen) onFault?.(`the page has ended (${error.message}); the run goes on.`);
        else reject(new CorralError("view-failed", `the page of the run cannot be served: ${error.message}.`));
      });
    }).catch(async (error: unknown) => {
      await worker.terminate();
      throw error;
    });
    isOpen = true;
    // a run that has ended does not wait for its page
    worker.unref();
    return new RunWatch(worker, url, new Int32Array(looks));
  }

  #tell(message: ToRunPage): void {
    this.#tellPoints();
    this.#worker.postMessage(message);
  }

  #tellPoints(): void {
    if (this.#points.length > 0) this.#worker.postMessage({ points: this.#points } satisfies ToRunPage);
    this.#points = [];
  }

  /** Tells what an update reported. */
  progress(progress: TrainProgress): void {
    const { iteration, envSteps, secondsLeft, metrics } = progress;
    const numbers = { ...scalarsOf(progress), "rollout/episodes": metrics.episodes };
    // a message for each update would cost a small run more than a page that is closed may
    if (this.#points.length === 0) setTimeout(() => this.#tellPoints(), TOGETHER_MS).unref();
    this.#points.push({ iteration, envSteps, secondsLeft, numbers });
  }

  event(text: string): void {
    this.#tell({ event: text });
  }

  /** Whether a page has asked for something since the worlds were read, and some time is over. */
  get isDue(): boolean {
    const looks = Atomics.load(this.#looks, 0);
    if (looks === this.#seen || performance.now() - this.#read < EVERY_MS) return false;
    this.#seen = looks;
    this.#read = performance.now();
    return true;
  }

  /** Reads some worlds and the policy between two updates, if a page looks. */
  async look(env: VectorEnv, policy: () => Promise<Policy>): Promise<void> {
    if (!this.isDue) return;
    const names = env.stateNames.filter((name) => name !== COUNTED);
    const worlds = Array.from({ length: Math.min(WORLDS, env.numEnvs) }, (_, i) => i);
    const states = await env.getState(names, worlds);
    this.#tell({ worlds: { states, policy: await policy() } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
