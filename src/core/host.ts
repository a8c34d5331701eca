// what the library asks of the machine that it runs on: here Node. Every file NAME.ts with a NAME.browser.ts beside it is
// replaced by that one in the bundle for browsers (tools/browser-bundle.mjs); nothing else of the library knows of Node
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

/** Variables of the environment. */
export const env: Readonly<Record<string, string | undefined>> = process.env;

/** Where this copy of corral lies. */
export const PACKAGE_FOLDER = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/](dist[\\/])?$/, "");

/** A warning to who runs the program, which goes on. */
export const warn = (text: string, code: string, type?: string): void => process.emitWarning(text, { type, code });

/** A line that belongs to no result. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Threads that a batch takes where none are asked for. */
export const defaultThreads = (): number => (isMainThread ? availableParallelism() : 1);

/** Why threads cannot share memory here; undefined where they can. */
export const noThreads = (): string | undefined => undefined;

/** Whether something lies at a path. */
export const isThere = (path: string): boolean => existsSync(path);

/** Calls back after milliseconds, if the program still runs then. */
export const waitLoosely = (call: () => void, ms: number): ReturnType<typeof setTimeout> =>
  setTimeout(call, ms).unref();

const whenDone = new Set<() => void>();
const allDone = (): void => {
  for (const call of whenDone) call();
};

/** Calls back when nothing is left that would keep the program running; returns what calls that off. */
export const whenIdle = (call: () => void): (() => void) => {
  // one listener for all: Node warns of more than ten
  if (whenDone.size === 0) process.on("beforeExit", allDone);
  whenDone.add(call);
  return () => {
    whenDone.delete(call);
    if (whenDone.size === 0) process.off("beforeExit", allDone);
  };
};

/** Calls back when what waits has had its turn. */
export const later = (call: () => void): void => void setImmediate(call);
