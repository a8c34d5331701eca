// which pair a row and a column of a grid make, by a rule of their bodies: a table of every two geoms of thousands is megabytes
import { table } from "../../trace/control.ts";
import { add, band, mul, shl, shr, sub, toI32, toU32, uadd, umul, type Int } from "../../trace/scalar.ts";
import { WORD, type Grid } from "./pair-grids.ts";

/** Geoms of a list in their bodies: how many a geom's body has in the list, and which of them it is. */
interface InBodies {
  readonly count: Int32Array;
  readonly order: Int32Array;
}

/**
 * Pairs of two bodies lie side by side, by the first geom and then by the other, and those of a body by the other body. So the
 * pair of a row and a column is base + count * before + order * count' + (1 - count) * order', where `before` are the pairs of the
 * row with columns before this one, and count' and order' those of the column.
 */
export interface PairRule {
  readonly words: number;
  readonly row: InBodies;
  readonly column: InBodies;
  /** By row. */
  readonly base: Int32Array;
  /** By word of the masks: the row's bits in words before it. */
  readonly before: Int32Array;
}

function inBodies(geoms: readonly number[], bodyOf: ArrayLike<number>): InBodies {
  const members = new Map<number, number>();
  const order = new Int32Array(geoms.length);
  const ascending = [...geoms.keys()].sort((a, b) => geoms[a] - geoms[b]);
  for (const i of ascending) {
    const body = bodyOf[geoms[i]];
    order[i] = members.get(body) ?? 0;
    members.set(body, order[i] + 1);
  }
  return { count: Int32Array.from(geoms, (g) => members.get(bodyOf[g])!), order };
}

/** How many bits of a word are set. */
function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The rule of a grid, undefined if its pairs do not follow it: where some geoms of two bodies cannot touch and others can. */
export function ruleOf({ rows, columns, masks, each }: Grid, bodyOf: ArrayLike<number>): PairRule | undefined {
  const words = Math.ceil(columns.length / WORD);
  const [row, column] = [rows, columns].map((geoms) => inBodies(geoms, bodyOf));
  const before = new Int32Array(masks.length);
  for (let at = 0; at < masks.length; at++) if (at % words > 0) before[at] = before[at - 1] + bitCount(masks[at - 1]);
  const [base, isKnown] = [new Int32Array(rows.length), new Uint8Array(rows.length)];
  let holds = true;
  each((cell, pair) => {
    const r = Math.floor(cell / (words * WORD));
    const c = cell - r * words * WORD;
    const word = masks[cell >> 5] & ((1 << (cell & (WORD - 1))) - 1);
    const rest =
      row.count[r] * (before[cell >> 5] + bitCount(word)) +
      row.order[r] * column.count[c] +
      (1 - row.count[r]) * column.order[c];
    if (isKnown[r] === 0) {
      base[r] = pair - rest;
      isKnown[r] = 1;
    } else if (base[r] + rest !== pair) holds = false;
  });
  return holds ? { words, row, column, base, before } : undefined;
}

/** The same of a word that the kernel has (u32). */
function countBits(word: Int): Int {
  const pairs = sub(word, band(shr(word, 1), 0x55555555));
  const fours = uadd(band(pairs, 0x33333333), band(shr(pairs, 2), 0x33333333));
  return shr(umul(band(uadd(fours, shr(fours, 4)), 0x0f0f0f0f), 0x01010101), 24);
}

/** Reads the pair of a row and a column that make one; `mask` reads the grid's masks. */
export function readRule(rule: PairRule, mask: (at: Int) => Int): (row: Int, column: Int) => Int {
  const ints = (name: string, values: Int32Array) => table(`near_${name}`, values, "i32");
  const [base, before] = [ints("base", rule.base), ints("before", rule.before)];
  const [rowCount, rowOrder] = [ints("row_count", rule.row.count), ints("row_order", rule.row.order)];
  const [count, order] = [ints("column_count", rule.column.count), ints("column_order", rule.column.order)];
  return (r, c) => {
    const bit = band(toU32(c), WORD - 1);
    const at = add(mul(r, rule.words), toI32(shr(toU32(c), 5)));
    const bits = toI32(countBits(band(toU32(mask(at)), sub(shl(1, bit), 1))));
    const ofRow = rowCount(r);
    const inRow = mul(ofRow, add(before(at), bits));
    const inBody = add(mul(rowOrder(r), count(c)), mul(sub(1, ofRow), order(c)));
    return add(add(base(r), inRow), inBody);
  };
}
