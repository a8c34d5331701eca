// rows of bits: which blocks of a matrix a world has, visited at indices that all worlds share
import { array, loop, table, when, type LocalArray } from "../../trace/control.ts";
import { add, band, bor, min, mul, ne, shl, shr, toI32, toU32, type Bool, type Int } from "../../trace/scalar.ts";

/** Bits of a word. */
const WORD = 32;

/** For each of `rows` rows, a set of whole numbers below `count`. */
export class BitRows {
  readonly #words: number;
  readonly #bits: LocalArray;

  constructor(name: string, count: number, rows = count) {
    this.#words = Math.ceil(count / WORD);
    this.#bits = array(name, rows * this.#words, "u32");
  }

  clear(): void {
    loop(this.#bits.length, (at) => this.#bits.set(at, toU32(0)));
  }

  has(row: Int, k: Int): Bool {
    return hasBit(this.#bits.get(this.#at(row, wordOf(k))), k);
  }

  add(row: Int, k: Int): void {
    const at = this.#at(row, wordOf(k));
    this.#bits.set(at, bor(this.#bits.get(at), bitOf(k)));
  }

  /** Adds to a row what another has beyond the row's own number. */
  addAbove(row: Int, other: Int): void {
    const above = table("bits_above", this.#above(), "i32");
    this.#eachWord(row, (w) => {
      const at = this.#at(row, w);
      const more = band(this.#bits.get(this.#at(other, w)), toU32(above(at)));
      this.#bits.set(at, bor(this.#bits.get(at), more));
    });
  }

  /** Visits those of a row, ascending. */
  each(row: Int, visit: (k: Int) => void): void {
    this.#each((w) => this.#bits.get(this.#at(row, w)), visit);
  }

  /** The same beyond the row's own number, for rows that have none below it. */
  eachAbove(row: Int, visit: (k: Int) => void): void {
    this.#each((w) => this.#bits.get(this.#at(row, w)), visit, row);
  }

  /** The same of what two rows share; `below`: a number that no row has, nor any larger one. */
  eachShared(a: Int, b: Int, visit: (k: Int) => void, below?: Int): void {
    this.#each((w) => band(this.#bits.get(this.#at(a, w)), this.#bits.get(this.#at(b, w))), visit, 0, below);
  }

  #each(of: (w: Int) => Int, visit: (k: Int) => void, from: Int = 0, below?: Int): void {
    const inWord = (w: Int) => {
      const word = of(w);
      const start = mul(WORD, w);
      const end = add(start, WORD);
      const bits = (k: Int) => when(hasBit(word, k), () => visit(k));
      when(ne(word, toU32(0)), () => loop(below === undefined ? end : min(end, below), bits, { start, label: "bits" }));
    };
    this.#eachWord(from, inWord, below);
  }

  /** Visits words, from that of a number on. */
  #eachWord(from: Int, visit: (w: Int) => void, below?: Int): void {
    const words = below === undefined ? this.#words : wordOf(add(below, WORD - 1));
    if (this.#words === 1) visit(0);
    else loop(words, visit, { start: wordOf(from), label: "words" });
  }

  #at(row: Int, w: Int): Int {
    return this.#words === 1 ? row : add(mul(this.#words, row), w);
  }

  #above(): number[] {
    return Array.from({ length: this.#bits.length }, (_, at) => {
      const [row, w] = [Math.floor(at / this.#words), at % this.#words];
      const bits = Array.from({ length: WORD }, (__, k) => (WORD * w + k > row ? 1 << k : 0));
      return bits.reduce((all, bit) => all | bit, 0);
    });
  }
}

const wordOf = (k: Int): Int => (k === 0 ? 0 : toI32(shr(toU32(k), toU32(5))));
const bitOf = (k: Int): Int => shl(toU32(1), band(toU32(k), toU32(WORD - 1)));
const hasBit = (word: Int, k: Int): Bool => ne(band(word, bitOf(k)), toU32(0));
