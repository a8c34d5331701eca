// puts pairs of geoms into columns as they are found
import { GeomPairs, type PairNumbers } from "./pair-list.ts";

/** Pairs that there is room for at first. */
const FIRST_ROOM = 1 << 10;
/** Kinds of geoms up to which each two have a place in a table. */
const MOST_TABLED = 1 << 10;
/** Pairs up to which one after the other is put in its place. */
const FEW = 32;

/** Pairs as they are found; geoms of the same kinds share the pair's numbers. */
export class PairMaker {
  readonly #types: ArrayLike<number>;
  readonly #kindOf: Int32Array;
  readonly #numbersOf: (geom1: number, geom2: number, ipair: number) => PairNumbers;
  /** Places in `kinds` by the kinds of two geoms; -1 of those not met yet. */
  readonly #tabled: Int32Array;
  readonly #width: number;
  readonly #mapped = new Map<number, number>();
  readonly #kinds: PairNumbers[] = [];
  #columns = [0, 1, 2].map(() => new Int32Array(FIRST_ROOM));
  #length = 0;

  /** `types`: mjtGeom of each geom; `kindOf`: what geoms have in common whose pairs do not differ. */
  constructor(
    types: ArrayLike<number>,
    kindOf: readonly number[],
    numbersOf: (geom1: number, geom2: number, ipair: number) => PairNumbers,
  ) {
    this.#types = types;
    this.#kindOf = new Int32Array(kindOf);
    this.#numbersOf = numbersOf;
    this.#width = this.#kindOf.reduce((most, kind) => Math.max(most, kind + 1), 0);
    this.#tabled = new Int32Array(this.#width <= MOST_TABLED ? this.#width ** 2 : 0).fill(-1);
  }

  put(a: number, b: number, ipair = -1): void {
    const isSwapped = this.#types[a] > this.#types[b];
    const [geom1, geom2] = isSwapped ? [b, a] : [a, b];
    const at = this.#length;
    if (at === this.#columns[0].length) this.#grow();
    const [column1, column2, kinds] = this.#columns;
    column1[at] = geom1;
    column2[at] = geom2;
    kinds[at] = ipair < 0 ? this.#found(geom1, geom2) : this.#add(geom1, geom2, ipair);
    this.#length = at + 1;
  }

  #grow(): void {
    this.#columns = this.#columns.map((before) => {
      const column = new Int32Array(2 * before.length);
      column.set(before);
      return column;
    });
  }

  #found(geom1: number, geom2: number): number {
    const key = this.#kindOf[geom1] * this.#width + this.#kindOf[geom2];
    const isTabled = this.#tabled.length > 0;
    const known = isTabled ? this.#tabled[key] : (this.#mapped.get(key) ?? -1);
    if (known >= 0) return known;
    const kind = this.#add(geom1, geom2, -1);
    if (isTabled) this.#tabled[key] = kind;
    else this.#mapped.set(key, kind);
    return kind;
  }

  #add(geom1: number, geom2: number, ipair: number): number {
    return this.#kinds.push(this.#numbersOf(geom1, geom2, ipair)) - 1;
  }

  get length(): number {
    return this.#length;
  }

  get pairs(): GeomPairs {
    const [geom1, geom2, kind] = this.#columns.map((column) => column.slice(0, this.#length));
    return new GeomPairs(geom1, geom2, kind, this.#kinds, this.#kindOf.length);
  }
}

/** Pairs of two bodies, in the order of their geoms. */
export class SortedPairs {
  readonly #ngeom: number;
  #keys = new Float64Array(FIRST_ROOM);
  #count = 0;

  constructor(ngeom: number) {
    this.#ngeom = ngeom;
  }

  add(geom1: number, geom2: number): void {
    if (this.#count === this.#keys.length) {
      const keys = new Float64Array(2 * this.#count);
      keys.set(this.#keys);
      this.#keys = keys;
    }
    this.#keys[this.#count++] = geom1 * this.#ngeom + geom2;
  }

  /** Puts those that were added into a maker, and forgets them. */
  moveTo(maker: PairMaker): void {
    const [keys, count] = [this.#keys, this.#count];
    if (count > FEW) keys.subarray(0, count).sort();
    else sortFew(keys, count);
    for (let i = 0; i < count; i++) {
      const first = Math.floor(keys[i] / this.#ngeom);
      maker.put(first, keys[i] - first * this.#ngeom);
    }
    this.#count = 0;
  }
}

function sortFew(keys: Float64Array, count: number): void {
  for (let i = 1; i < count; i++) {
    const one = keys[i];
    let at = i;
    for (; at > 0 && keys[at - 1] > one; at--) keys[at] = keys[at - 1];
    keys[at] = one;
  }
}
