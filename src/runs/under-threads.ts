// episodes on MuJoCo's physics in threads: each plays one part after the other, and what they come to does not depend on it
import { CorralError } from "../core/errors.ts";
import { errorOf } from "../core/posted.ts";
import { startWorker } from "../core/worker.ts";
import type { Part, PlayAnswer, PlaySetup } from "./under-job.ts";
import type { PlayedSoFar } from "./under-worlds.ts";

/** Ids of the worlds of each of so many parts, in order. */
export function partsOf(episodes: number, count: number): number[][] {
  const start = (i: number) => Math.floor((i * episodes) / count);
  return Array.from({ length: count }, (_, i) =>
    Array.from({ length: start(i + 1) - start(i) }, (__, w) => start(i) + w),
  );
}

/** How many episodes are over, and how far the part is that is farthest from its end. */
export class Progress {
  readonly #tell: (over: number, playing?: PlayedSoFar) => void;
  readonly #playing = new Map<number, PlayedSoFar>();
  #ended = 0;

  constructor(tell: (over: number, playing?: PlayedSoFar) => void) {
    this.#tell = tell;
  }

  get #over(): number {
    return [...this.#playing.values()].reduce((sum, { over }) => sum + over, this.#ended);
  }

  step(part: number, so: PlayedSoFar): void {
    this.#playing.set(part, so);
    const slowest = [...this.#playing.values()].reduce((a, b) => (b.steps < a.steps ? b : a));
    this.#tell(this.#over, slowest);
  }

  end(part: number, episodes: number): void {
    this.#playing.delete(part);
    this.#ended += episodes;
    this.#tell(this.#over);
  }
}

/** Plays all parts in this thread. */
export async function playInTurns(
  parts: readonly (readonly number[])[],
  play: (worldIds: readonly number[], told: (so: PlayedSoFar) => void) => Promise<Part>,
  progress: Progress,
): Promise<Part[]> {
  const played: Part[] = [];
  for (const [at, worldIds] of parts.entries()) {
    played.push(await play(worldIds, (so) => progress.step(at, so)));
    progress.end(at, worldIds.length);
  }
  return played;
}

/**
 * Plays all parts in so many threads, which begin on the next one as they are through.
 * @returns what came of each part, in their order
 * @throws CorralError what making the environments and reading the policy throw, in any thread; then all are ended
 */
export async function playInThreads(
  setup: PlaySetup & { readonly modules: readonly string[] },
  parts: readonly (readonly number[])[],
  threads: number,
  progress: Progress,
): Promise<Part[]> {
  const played: Part[] = Array.from({ length: parts.length });
  let next = 0;
  const workers = Array.from({ length: Math.min(threads, parts.length) }, () =>
    startWorker(new URL("../play-worker.ts", import.meta.url), { workerData: setup }),
  );
  const work = (worker: (typeof workers)[number]) =>
    new Promise<void>((resolve, reject) => {
      let at = -1;
      const begin = () => {
        at = next++;
        if (at < parts.length) worker.postMessage(parts[at]);
        else resolve();
      };
      worker.on("error", reject);
      worker.on("exit", (code) => reject(new CorralError("internal", `a thread that plays ended with code ${code}.`)));
      worker.on("message", (answer: PlayAnswer) => {
        if ("error" in answer) reject(errorOf(answer.error));
        else if ("so" in answer) progress.step(at, answer.so);
        else {
          played[at] = answer.part;
          progress.end(at, parts[at].length);
          begin();
        }
      });
      begin();
    });
  try {
    await Promise.all(workers.map(work));
    return played;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}
