// says what a command is busy with when that takes seconds: from a thread, since the work holds this one
import { Worker } from "node:worker_threads";
import { listenToSpans } from "../core/spans.ts";

/** Spans that hold a command, in words; and seconds after which they are told, on a terminal and elsewhere. */
const WAITS = {
  load: { what: "MuJoCo compiles the model", terminal: 1, elsewhere: 2 },
  trace: { what: "kernels are traced", terminal: 1, elsewhere: Infinity },
  emit: { what: "kernels become WebAssembly", terminal: 1, elsewhere: Infinity },
  compile: { what: "the driver compiles kernels", terminal: 1, elsewhere: Infinity },
} as const;

/** Seconds until a wait is told again. */
const AGAIN = 10;

// sleeps until a span begins, then until it ends or has lasted long enough to be told
const THREAD = `
const { writeSync } = require("node:fs");
const { workerData: { span, texts, again } } = require("node:worker_threads");
for (;;) {
  const at = Atomics.load(span, 0);
  const { what, after } = texts[at] ?? { after: Infinity };
  let seconds = after;
  while (Atomics.wait(span, 0, at, 1000 * (seconds === after ? after : again)) === "timed-out") {
    try { writeSync(2, what + ", " + seconds + " s so far\\n"); } catch {}
    seconds += again;
  }
}`;

/** From now on what takes longer than a moment is told on stderr. */
export function tellWaits(): void {
  const names = Object.keys(WAITS) as (keyof typeof WAITS)[];
  const where = process.stderr.isTTY ? "terminal" : "elsewhere";
  const texts = [undefined, ...names.map((name) => ({ what: WAITS[name].what, after: WAITS[name][where] }))];
  const span = new Int32Array(new SharedArrayBuffer(4));
  const open: number[] = [];
  let thread: Worker | undefined;

  listenToSpans((name, begins) => {
    const at = names.indexOf(name as keyof typeof WAITS) + 1;
    if (at === 0 || texts[at]!.after === Infinity) return;
    if (begins) open.push(at);
    else open.splice(open.lastIndexOf(at), 1);
    if (thread === undefined) {
      thread = new Worker(THREAD, { eval: true, execArgv: [], workerData: { span, texts, again: AGAIN } });
      thread.on("error", () => {});
      thread.unref();
    }
    Atomics.store(span, 0, open.at(-1) ?? 0);
    Atomics.notify(span, 0);
  });
}
