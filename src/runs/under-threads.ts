// episodes on MuJoCo's physics in threads: each plays one part after the other, and what they come to does not depend on it
import { CorralError } from "../core/errors.ts";
import { startWorker } from "../core/worker.ts";
import type { Part, PlayAnswer, PlaySetup } from "./under-job.ts";
import type { PlayedSoFar } from "./under-worlds.ts";

/** Ids of the worlds of each part, in order. */
export function partsOf(episodes: number, most: number): number[][] {
  const count = Math.ceil(episodes / most);
  const start = (i: number) => Math.floor((i * episodes) / count);
  return Array.from({ length: count }, (_, i) =>
    Array.from({ length: start(i + 1) - start(i) }, (__, w) => start(i) + w),
  );
}

/** Is told how many episodes of a part are over, and while it plays how far it is. */
type Tell = (part: number, over: number, playing?: PlayedSoFar) => void;

/** Plays all parts in this thread. */
export async function playInTurns(
  parts: readonly (readonly number[])[],
  play: (worldIds: readonly number[], told: (so: PlayedSoFar) => void) => Promise<Part>,
  tell: Tell,
): Promise<Part[]> {
  const played: Part[] = [];
  for (const [at, worldIds] of parts.entries()) {
    played.push(await play(worldIds, (so) => tell(at, so.over, so)));
    tell(at, worldIds.length);
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
  tell: Tell,
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
        if ("error" in answer) reject(errorIn(answer.error));
        else if ("so" in answer) tell(at, answer.so.over, answer.so);
        else {
          played[at] = answer.part;
          tell(at, parts[at].length);
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

/** An error that has crossed threads, whose text begins with its code. */
const errorIn = ({ code, message }: { readonly code: string; readonly message: string }): CorralError =>
  new CorralError(code, message.replace(`[${code}] `, ""));
