// worlds that run side by side in a vector: how many, which of them a lane is, and private numbers of the others
import type { LocalArray } from "./control.ts";
import { pure } from "./graph.ts";
import { add, lt, select, type Int } from "./scalar.ts";

/** Worlds side by side at most. */
export const MOST_LANES = 4;

/** How many worlds run side by side: 1 where each runs alone. */
export const lanes = (): Int => pure("lanes", "i32", [0]);

/** Which of them this one is. */
export const lane = (): Int => pure("lane", "i32", [0]);

/**
 * The index of an element of a private array of the world in another lane. Only to read and write arrays at, and not kept in
 * variables. Of lanes that take no part an array holds what was written last.
 */
export const ofLane = (index: Int, of: Int): Int => pure("of_lane", "i32", [index, of]);

/** An element of a private array of whole numbers of each lane, 0 of those that are not there. */
export const ofEachLane = (from: LocalArray, index = 0): Int[] =>
  Array.from({ length: MOST_LANES }, (_, k) => select(lt(k, lanes()), from.get(ofLane(index, k)), 0, "i32"));

export const total = (of: readonly Int[]): Int => of.reduce(add, 0);
