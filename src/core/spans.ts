// where the time of this process went: spans by name, added up in milliseconds. What overlaps counts in each.

const spent = new Map<string, number>();

/** Told when a span begins, and when it ends. */
export type SpanListener = (name: string, begins: boolean) => void;

let listener: SpanListener | undefined;

/** One listener to all spans; undefined: none. */
export function listenToSpans(told: SpanListener | undefined): void {
  listener = told;
}

function add(name: string, since: number): void {
  spent.set(name, (spent.get(name) ?? 0) + performance.now() - since);
  listener?.(name, false);
}

/** Runs `work` and adds its time, until its promise settles if it returns one. */
export function timed<T>(name: string, work: () => T): T {
  const begin = performance.now();
  listener?.(name, true);
  let result: T | undefined;
  try {
    result = work();
  } finally {
    if (!(result instanceof Promise)) add(name, begin);
  }
  if (!(result instanceof Promise)) return result;
  return result.finally(() => add(name, begin)) as T;
}

/** Milliseconds of each span so far. */
export const spans = (): Record<string, number> => Object.fromEntries(spent);
