// keys of memories that have one owner in a task: where two things take one key, the second would be the first without a word
import { current, type Trace } from "../../trace/graph.ts";

/** Owners of keys in the programs that are traced. */
const OWNERS = new WeakMap<Trace, Map<string, readonly unknown[]>>();

/** Whether a key is, in the program that is being traced, that of these alone; the first that ask for it own it. */
export function isOwnKey(key: string, owner: readonly unknown[]): boolean {
  const owners = OWNERS.get(current()) ?? new Map<string, readonly unknown[]>();
  OWNERS.set(current(), owners);
  const known = owners.get(key) ?? owner;
  owners.set(key, known);
  return known.length === owner.length && known.every((x, i) => x === owner[i]);
}
