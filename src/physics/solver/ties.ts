// which tiles or blocks of a lower triangle each world has, kept in rows of bits where there are more than a word of them
import type { Bool, Int } from "../../trace/scalar.ts";
import { BitRows } from "./bit-rows.ts";

/** Tiles below the diagonal of a Cholesky factor, at indices that all worlds share. */
export interface Ties {
  /** Visits those of a row, ascending. */
  eachBefore(row: Int, visit: (column: Int) => void): void;
  /** Adds what elimination of a column before makes of one. */
  fill(column: Int, before: Int): void;
  /** Visits those of a column, fill among them: their rows, whether they were there before fill, and the columns before that both rows have. */
  eachBelow(column: Int, visit: (row: Int, isTied: Bool, eachShared: Visits) => void): void;
  /** Visits those of a column once the factor is made. */
  eachAfter(column: Int, visit: (row: Int) => void): void;
}
export type Visits = (visit: (column: Int) => void) => void;

export class BitTies implements Ties {
  /** By row, the columns before its diagonal; by column, the rows below. */
  readonly #left: BitRows;
  readonly #below: BitRows;

  constructor(name: string, count: number) {
    this.#left = new BitRows(`${name}_left`, count);
    this.#below = new BitRows(`${name}_below`, count);
  }

  clear(): void {
    this.#left.clear();
    this.#below.clear();
  }

  has(row: Int, column: Int): Bool {
    return this.#left.has(row, column);
  }

  tie(row: Int, column: Int): void {
    this.#left.add(row, column);
    this.#below.add(column, row);
  }

  eachBefore(row: Int, visit: (column: Int) => void): void {
    this.#left.each(row, visit);
  }

  fill(column: Int, before: Int): void {
    this.#below.addAbove(column, before);
  }

  eachBelow(column: Int, visit: (row: Int, isTied: Bool, eachShared: Visits) => void): void {
    this.#below.eachAbove(column, (row) => {
      const isTied = this.#left.has(row, column);
      this.#left.add(row, column);
      visit(row, isTied, (shared) => this.#left.eachShared(row, column, shared));
    });
  }

  eachAfter(column: Int, visit: (row: Int) => void): void {
    this.#below.eachAbove(column, visit);
  }
}
