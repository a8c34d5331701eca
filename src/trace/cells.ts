// fours of words that each world has in a buffer, worlds of a tile interleaved
import { loop, store4, world } from "./control.ts";
import { current, impure } from "./graph.ts";
import type { ArrayRef } from "./nodes.ts";
import { add, div, mul, sub, type Int } from "./scalar.ts";

/** How a buffer holds them: `stride` fours a world, in tiles of worlds. */
export interface CellLayout {
  readonly tile: number;
  readonly stride: number;
  /** Whether words of arrays lie side by side by world, rather than four of a world. */
  readonly byWorld?: boolean;
}

/** Where the first four of this world is; others follow it `tile` apart. */
export function firstFour({ tile, stride }: CellLayout): Int {
  const w = world();
  const at = div(w, tile);
  return add(mul(at, stride * tile), sub(w, mul(at, tile)));
}

/** Writes zeros to so many fours of this world from `first` on. */
export function clearFours(buffer: string, layout: CellLayout, first: number, fours: number): void {
  const { tile } = layout;
  if (layout.byWorld) return clearWords(buffer, layout, first, 4 * fours);
  loop(fours, (q) => store4(buffer, add(firstFour(layout), mul(add(q, first), tile)), [0, 0, 0, 0], "u32"), {
    label: "zeros",
  });
}

function clearWords(buffer: string, layout: CellLayout, first: number, length: number): void {
  const words = cellWords(buffer, layout, first, length);
  loop(length, (index) => words.set(index, 0), { label: "zeros" });
}

/** Words of this world in a buffer, where those of neighbouring worlds lie side by side. */
export function cellWords(buffer: string, { tile, stride }: CellLayout, first: number, length: number) {
  const t = current();
  const kept = { buffer: t.buffer(buffer, "read_write"), tile, stride, first, byWorld: true };
  const target: ArrayRef = { kind: "array", id: t.arrays.length, name: "words", type: "u32", length, kept };
  t.arrays.push(target);
  return {
    get: (index: Int) => impure("at", "u32", [index], target) as Int,
    set: (index: Int, value: Int) => void current().block.statements.push({ kind: "put", target, index, value }),
  };
}
