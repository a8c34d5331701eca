// how public objects print: a name and the facts that a user asks for, in place of what they are made of

/** Node's `util.inspect`, as it hands itself over. */
export type Inspect = (value: unknown, options?: object) => string;

/** The method that `console.log` asks an object for; a browser ignores it. */
export const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** Longer arrays print their first numbers and how many more there are. */
const SHOWN_NUMBERS = 8;

/** What a method of the name `INSPECT` returns: `Name { fact: value, ... }`, without facts that are undefined. */
export function printFacts(name: string, facts: object, options: object, inspect: Inspect): string {
  const some = Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
  return `${name} ${inspect(some, { ...options, maxArrayLength: SHOWN_NUMBERS })}`;
}

/** Gives plain data a way to print that its copies do not have and comparisons do not see; `depth` is what is left of it. */
export function withPrint<T extends object>(data: T, print: (data: T, depth: number) => string): T {
  const value = (depth: number): string => print(data, depth);
  return Object.defineProperty(data, INSPECT, { value, configurable: true });
}
