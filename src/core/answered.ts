// promises of a user's code: a line where one keeps a run waiting, an error where nothing is left that could resolve it
import { waitLoosely, warn, whenIdle } from "./host.ts";

/** Milliseconds after which it is said what a run waits for. */
const SLOW = 60_000;

/**
 * What a user's code returned, waited for if it is a promise. One that keeps the run waiting for a minute is told of, once
 * (`corral-slow-answer`).
 * @param what whose it is, such as "Game, step"
 * @param never the error for a promise that the process would end without
 */
export async function answered<T>(value: T | PromiseLike<T>, what: string, never: (text: string) => Error): Promise<T> {
  if (typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then !== "function") return value;
  let stop = () => {};
  const idle = new Promise<never>((_, reject) => {
    const text = "it returned a promise that nothing in this process is left to resolve. Resolve or reject it";
    stop = whenIdle(() => reject(never(text)));
  });
  const slow = waitLoosely(
    () =>
      warn(`${what}: the promise that it returned is not resolved after 60 s. It is waited for.`, "corral-slow-answer"),
    SLOW,
  );
  try {
    return await Promise.race([value, idle]);
  } finally {
    stop();
    clearTimeout(slow);
  }
}
