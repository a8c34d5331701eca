// fours of words that each world has in a buffer, worlds of a tile interleaved
import { loop, store4, world } from "./control.ts";
import { add, div, mul, sub, type Int } from "./scalar.ts";

/** How a buffer holds them: `stride` fours a world, in tiles of worlds. */
export interface CellLayout {
  readonly tile: number;
  readonly stride: number;
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
  loop(fours, (q) => store4(buffer, add(firstFour(layout), mul(add(q, first), tile)), [0, 0, 0, 0], "u32"), {
    label: "zeros",
  });
}
