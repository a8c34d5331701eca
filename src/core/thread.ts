// threads that run a program given as text, beside worker.ts, which starts modules
import { Worker } from "node:worker_threads";

/** What a thread tells, and how it ends. */
export interface ThreadEvents {
  message(value: number): void;
  /** It has ended by itself. */
  ended(why: string): void;
}

export interface Thread {
  /** Whether the program waits for the thread. */
  hold(isHeld: boolean): void;
  terminate(): Promise<unknown>;
}

/** Starts `(program)(port, data)`: `program` is the text of a function that uses nothing from outside of itself. */
export function startThread(program: string, data: object, name: string, events: ThreadEvents): Thread {
  const text = `const { parentPort, workerData } = require("node:worker_threads"); (${program})(parentPort, workerData);`;
  const worker = new Worker(text, { eval: true, workerData: data, execArgv: [], name });
  worker.on("message", (value: number) => events.message(value));
  worker.on("error", (error) => events.ended(error.message));
  worker.on("exit", (code) => events.ended(`it ended with code ${code}`));
  return {
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    terminate: () => worker.terminate(),
  };
}
