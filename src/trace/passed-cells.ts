// cells of a kernel in pieces that are moved in loops: where a place that touches a buffer compiles slowly (docs/decisions/0134)
import { array, loop, table, type Four } from "./control.ts";
import type { Uses } from "./cut.ts";
import type { ArrayRef } from "./nodes.ts";
import { add, mul, type Int } from "./scalar.ts";

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

/** Elements of an array for each access in the text beyond which a copy takes longer to run (docs/decisions/0136). */
const ELEMENTS_AN_ACCESS = 4;

/** An array of several pieces as one of them has it. */
export interface SharedArray {
  readonly ref: ArrayRef;
  /** Where its cells begin. */
  readonly first: number;
  readonly uses: Uses;
}

/**
 * Arrays of several pieces, of which this one has a copy in one private array: an access to a buffer takes longer, to run
 * and to compile. Those that it writes come first, since only these are copied back.
 */
export function copies(shared: readonly SharedArray[]) {
  const isWorth = ({ ref, uses }: SharedArray) => ELEMENTS_AN_ACCESS * (uses.reads + uses.writes) >= ref.length;
  const worth = shared.filter(isWorth).sort((a, b) => Number(b.uses.writes > 0) - Number(a.uses.writes > 0));
  const fours: number[] = [];
  const offsets = new Map<ArrayRef, number>();
  let written = 0;
  for (const { ref, first, uses } of worth) {
    offsets.set(ref, 4 * fours.length);
    for (let q = 0; q < Math.ceil(ref.length / 4); q++) fours.push(first + q);
    if (uses.writes > 0) written = fours.length;
  }
  const all = array("shared", Math.max(4 * fours.length, 4), "u32");
  const four = table("shared", fours, "i32");
  const each = (count: number, body: (at: Int, cell: Int) => void) =>
    loop(count, (q) => [0, 1, 2, 3].forEach((k) => body(add(mul(q, 4), k), add(mul(four(q), 4), k))), {
      label: "shared",
    });
  return {
    /** Where the elements of an array begin in the copy, if it has them. */
    offsets,
    get: (at: Int) => all.get(at),
    put: (at: Int, word: Int) => all.set(at, word),
    /** Copies all from the words of cells, and what may have changed back. */
    load: (cells: { get(at: Int): Int }) => each(fours.length, (at, cell) => all.set(at, cells.get(cell))),
    store: (cells: { set(at: Int, word: Int): void }) => each(written, (at, cell) => cells.set(cell, all.get(at))),
  };
}
