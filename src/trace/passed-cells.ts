// cells of a kernel in pieces that are moved in loops: where a place that touches a buffer compiles slowly (docs/decisions/0134)
import { array, loop, table, type Four } from "./control.ts";
import type { Int } from "./scalar.ts";

/** Fours that a piece reads of others, and leaves to them. */
export type Passed = Readonly<Record<"reads" | "writes", ReadonlySet<number>>>;

/** Private arrays of words that fours of cells pass through between registers and a loop, one for each component. */
export function passage(name: string, fours: ReadonlySet<number>) {
  const all = [...fours];
  const parts = [0, 1, 2, 3].map((k) => array(`${name}_${k}`, all.length, "u32"));
  const four = table(name, all, "i32");
  return {
    /** Where a four is, if it passes here. */
    places: new Map(all.map((at, q) => [at, q])),
    get: (q: Int) => parts.map((part) => part.get(q)) as unknown as Four,
    put: (q: Int, words: Four) => parts.forEach((part, k) => part.set(q, words[k])),
    /** Runs `body` in a loop over the places, each with the number of its four. */
    each: (body: (q: Int, four: Int) => void) => loop(all.length, (q) => body(q, four(q)), { label: "cells" }),
  };
}
