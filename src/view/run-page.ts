// the page of a run that trains, in a thread beside it: curves from what the run tells, and worlds that go on by
// themselves from where worlds of the batch were, under the policy of the last update that was read
import type { MessagePort } from "node:worker_threads";
import { CorralError } from "../core/errors.ts";
import { jsonOf } from "./messages.ts";
import { pageFiles } from "./page.ts";
import { routesOf } from "./routes.ts";
import type { RunNumbers, RunPageSetup, RunPoint, RunWorlds, ToRunPage, FromRunPage } from "./run-messages.ts";
import { ViewServer, type Routes } from "./server.ts";
import { Session } from "./session.ts";

/** Points of a curve; of more every second is dropped. */
const MOST_POINTS = 512;
const MOST_EVENTS = 50;
/** Milliseconds between two answers on the numbers, and after which a page that waits asks again. */
const PACE_MS = 500;
const PATIENCE_MS = 15_000;

/** Numbers of a run as it goes on. */
class RunLog {
  #points: RunPoint[] = [];
  readonly #events: string[] = [];
  readonly #waiting = new Set<() => void>();
  #serial = 1;

  add(message: { readonly points: readonly RunPoint[] } | { readonly event: string }): void {
    if ("points" in message) this.#points.push(...message.points);
    else this.#events.push(message.event);
    if (this.#points.length > MOST_POINTS)
      this.#points = this.#points.filter((_, i, { length }) => (length - i) % 2 === 1);
    if (this.#events.length > MOST_EVENTS) this.#events.shift();
    this.#serial++;
    for (const wake of this.#waiting) wake();
  }

  /** Everything, once there is more than a page knows. */
  async after(serial: number, gone: AbortSignal): Promise<RunNumbers | undefined> {
    const wait = (ms: number) =>
      new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          this.#waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        gone.addEventListener("abort", done);
        if (ms === PATIENCE_MS) this.#waiting.add(done);
      });
    if (serial === this.#serial) await wait(PATIENCE_MS);
    else if (serial > 0) await wait(PACE_MS);
    if (serial === this.#serial || gone.aborted) return undefined;
    return { serial: this.#serial, points: this.#points, events: this.#events };
  }
}

/** Serves the page until the thread is ended; worlds are made when a page first asks for them. */
export async function serveRun(port: MessagePort, setup: RunPageSetup, know: () => Promise<void>): Promise<void> {
  const log = new RunLog();
  let last: RunWorlds | undefined;
  let opening: Promise<{ session: Session; routes: Routes; adopt: (worlds: RunWorlds) => void }> | undefined;
  const open = () =>
    (opening ??= (async () => {
      await know();
      const { runSubject } = await import("./run-subject.ts");
      const subject = await runSubject(setup);
      const session = new Session(subject);
      if (last) subject.adopt(last);
      return { session, routes: routesOf(session, files), adopt: (worlds) => subject.adopt(worlds) };
    })());
  const files = await pageFiles();
  const looks = new Int32Array(setup.looks);
  const looked = <T>(value: T): T => {
    Atomics.add(looks, 0, 1);
    return value;
  };
  // of the page's own files no worlds are needed
  const still = routesOf(undefined, files).get;
  const routes: Routes = {
    get: {
      ...still,
      scene: async (query, gone) => (await open()).routes.get.scene(query, gone),
      frame: async (query, gone) => looked(await open()).routes.get.frame(query, gone),
      run: async (query, gone) => {
        const found = await looked(log).after(Number(query.get("after")), gone);
        return found && { type: "application/json", body: jsonOf(found) };
      },
    },
    post: { act: async (body) => (await open()).session.command(body) },
  };
  port.on("message", (message: ToRunPage) => {
    if ("points" in message || "event" in message) log.add(message);
    else if ("end" in message) log.add({ event: message.end });
    else {
      last = message.worlds;
      opening?.then(
        ({ adopt }) => adopt(message.worlds),
        () => {},
      );
    }
  });
  const answer = (message: FromRunPage) => port.postMessage(message);
  try {
    const server = await ViewServer.listen(routes, setup.port);
    answer({ url: server.url });
  } catch (error) {
    const code = error instanceof CorralError ? error.code : "view-failed";
    const message = (error as Error).message;
    answer({ error: { code, message } });
  }
}
