// MuJoCo's WebAssembly in worker threads, one world each: what a batch is measured against
import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { CorralError } from "../core/errors.ts";
import { startWorker } from "../core/worker.ts";
import type { Model } from "../model/model.ts";
import { cpuSeconds } from "./machine.ts";
import type { Measured } from "./runner.ts";

/** What a worker starts with. */
export interface PeerSetup {
  readonly model: Model;
  /** Physics steps for which controls are held. */
  readonly frameSkip: number;
  /** Start states, rows of qpos and qvel. */
  readonly starts: Float64Array;
  /** States in the midst of episodes, which worlds begin with, rows of qpos and qvel. */
  readonly midst: Float64Array;
  /** Controls to draw from, rows of ctrl. */
  readonly controls: Float64Array;
  /** So many rows belong together and follow each other; 1: every row is drawn. */
  readonly phases: number;
  readonly seed: number;
}

export interface PeerRequest {
  readonly seconds: number;
  /** Control steps after which a world starts over. */
  readonly episodeSteps: number;
}

export interface PeerResult {
  readonly controlSteps: number;
  readonly seconds: number;
  readonly meanContacts: number;
}

/** Control steps of several workers. */
export interface PeerRun extends Measured {
  readonly meanContacts: number;
}

/** Worker threads, each with its own instance of MuJoCo and one world. `close()` them. */
export class MuJoCoPeers {
  readonly #workers: Worker[];

  private constructor(workers: Worker[]) {
    this.#workers = workers;
  }

  /** @throws CorralError mujoco-worker */
  static async start(count: number, setup: Omit<PeerSetup, "seed">): Promise<MuJoCoPeers> {
    const workers = Array.from({ length: count }, (_, i) =>
      startWorker(new URL("./mujoco-worker.ts", import.meta.url), { workerData: { ...setup, seed: 1 + i } }),
    );
    const peers = new MuJoCoPeers(workers);
    try {
      await Promise.all(workers.map((worker) => answerOf(worker)));
      return peers;
    } catch (error) {
      await peers.close();
      throw error;
    }
  }

  get count(): number {
    return this.#workers.length;
  }

  /** Steps the worlds of the first `count` workers at once; their control steps together. */
  async run(count: number, request: PeerRequest): Promise<PeerRun> {
    const used = this.#workers.slice(0, count);
    const answers = used.map((worker) => answerOf(worker));
    const cpu = cpuSeconds();
    for (const worker of used) worker.postMessage(request);
    const results = (await Promise.all(answers)) as PeerResult[];
    const sum = (of: (result: PeerResult) => number) => results.reduce((total, result) => total + of(result), 0);
    // workers do not end at the same moment: each counts for its own time
    const seconds = Math.max(...results.map((result) => result.seconds));
    return {
      controlSteps: seconds * sum((result) => result.controlSteps / result.seconds),
      seconds,
      cpuSeconds: cpuSeconds() - cpu,
      meanContacts: sum((result) => result.meanContacts) / count,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

async function answerOf(worker: Worker): Promise<unknown> {
  try {
    // rejects when the worker throws
    const [answer] = (await once(worker, "message")) as unknown[];
    return answer;
  } catch (cause) {
    throw new CorralError(
      "mujoco-worker",
      `a worker thread with MuJoCo failed: ${(cause as Error).message}`,
      {},
      { cause },
    );
  }
}
