// pairs of geoms in columns: of millions of them each is two geoms, and the place of what it shares with others

/** What pairs share whose geoms do not differ in it: the combined parameters of their contacts. */
export interface PairNumbers {
  /** mjtGeom of the two geoms. */
  readonly type1: number;
  readonly type2: number;
  /** The explicit <pair>, -1: found by filtering. */
  readonly ipair: number;
  /** Most contacts that the collider of the two types makes. */
  readonly ncon: number;
  /** Constraint rows that each contact makes; 0 if neither body can move. */
  readonly nrow: number;
  readonly condim: number;
  /** mjContact.friction: tangent 1, 2, spin, roll 1, 2. */
  readonly friction: readonly number[];
  readonly solref: readonly number[];
  readonly solreffriction: readonly number[];
  readonly solimp: readonly number[];
  /** mjContact.includemargin: a contact nearer than this makes rows (m). */
  readonly margin: number;
  /** Contacts are detected up to margin + gap (m). */
  readonly gap: number;
  /** Force up to which a contact pulls (N); an adhesive contact has a row in the gap too. */
  readonly adhesion: number;
}

/** A pair of geoms that can touch, with the combined parameters of its contacts. */
export interface GeomPair extends PairNumbers {
  /** The two geoms; as in mjContact.geom, the first has the lower mjtGeom. */
  readonly geom1: number;
  readonly geom2: number;
}

/** What a long list of numbers below `bound` has, each once, in the order of the list. */
function firstOf(ids: Int32Array, bound: number): number[] {
  const met = new Uint8Array(bound);
  const out: number[] = [];
  for (let k = 0; k < ids.length; k++) {
    if (met[ids[k]] === 1) continue;
    met[ids[k]] = 1;
    out.push(ids[k]);
  }
  return out;
}

/** Geoms with kinds of their pairs, each combination once. */
interface KindsOfGeoms {
  readonly geoms: readonly number[];
  readonly kinds: readonly number[];
}

/** Combinations of geoms and kinds up to which each has a byte. */
const MOST_COMBINED = 1 << 24;

/** Pairs of geoms in their order. */
export class GeomPairs implements Iterable<GeomPair> {
  readonly length: number;
  readonly geom1: Int32Array;
  readonly geom2: Int32Array;
  /** Of each pair, the place of its numbers in `kinds`, which come in the order of their first pairs. */
  readonly kind: Int32Array;
  readonly kinds: readonly PairNumbers[];
  readonly #counts: Int32Array;
  readonly #bound: number;
  readonly #first: { geom1?: readonly number[]; geom2?: readonly number[] } = {};
  readonly #kindsOf: { geom1?: KindsOfGeoms; geom2?: KindsOfGeoms } = {};
  #geoms: readonly number[] | undefined;

  /** Keeps the columns; `ngeom`: geoms of the model. */
  constructor(geom1: Int32Array, geom2: Int32Array, kind: Int32Array, kinds: PairNumbers[], ngeom: number) {
    this.length = kind.length;
    [this.geom1, this.geom2, this.kind, this.kinds] = [geom1, geom2, kind, kinds];
    this.#bound = ngeom;
    this.#counts = new Int32Array(kinds.length);
    for (let k = 0; k < kind.length; k++) this.#counts[kind[k]]++;
  }

  /** Made where it is asked for: only numbers are kept. */
  at(k: number): GeomPair {
    return { geom1: this.geom1[k], geom2: this.geom2[k], ...this.kinds[this.kind[k]] };
  }

  *[Symbol.iterator](): Generator<GeomPair> {
    for (let k = 0; k < this.length; k++) yield this.at(k);
  }

  forEach(body: (pair: GeomPair, k: number) => void): void {
    for (let k = 0; k < this.length; k++) body(this.at(k), k);
  }

  map<T>(of: (pair: GeomPair, k: number) => T): T[] {
    const out: T[] = [];
    this.forEach((pair, k) => out.push(of(pair, k)));
    return out;
  }

  flatMap<T>(of: (pair: GeomPair, k: number) => readonly T[]): T[] {
    const out: T[] = [];
    this.forEach((pair, k) => out.push(...of(pair, k)));
    return out;
  }

  filter(is: (pair: GeomPair) => boolean): GeomPair[] {
    const out: GeomPair[] = [];
    this.forEach((pair) => is(pair) && out.push(pair));
    return out;
  }

  some(is: (pair: GeomPair) => boolean): boolean {
    for (let k = 0; k < this.length; k++) if (is(this.at(k))) return true;
    return false;
  }

  /** A number that kinds decide, of each pair. */
  column(of: (kind: PairNumbers) => number): Float64Array {
    const [values, out] = [this.kinds.map(of), new Float64Array(this.length)];
    for (let k = 0; k < this.length; k++) out[k] = values[this.kind[k]];
    return out;
  }

  /** The geoms at one end, in the order of their first pairs. */
  first(end: "geom1" | "geom2"): readonly number[] {
    return (this.#first[end] ??= firstOf(this[end], this.#bound));
  }

  /** The kinds of pairs that geoms at one end are in: far fewer than pairs. */
  kindsOf(end: "geom1" | "geom2"): KindsOfGeoms {
    return (this.#kindsOf[end] ??= this.#combine(end));
  }

  #combine(end: "geom1" | "geom2"): KindsOfGeoms {
    const [ends, kind, width] = [this[end], this.kind, this.kinds.length];
    const combinations = this.#bound * width;
    // a bit of each, unless pairs hardly share kinds
    const met = combinations <= MOST_COMBINED ? new Uint8Array(combinations) : new Set<number>();
    const [geoms, kinds]: [number[], number[]] = [[], []];
    for (let k = 0; k < kind.length; k++) {
      const at = ends[k] * width + kind[k];
      if (met instanceof Set) {
        if (met.has(at)) continue;
        met.add(at);
      } else {
        if (met[at] === 1) continue;
        met[at] = 1;
      }
      geoms.push(ends[k]);
      kinds.push(kind[k]);
    }
    return { geoms, kinds };
  }

  /** What kinds have, added up over the pairs. */
  total(of: (kind: PairNumbers) => number): number {
    return this.kinds.reduce((sum, kind, i) => sum + this.#counts[i] * of(kind), 0);
  }

  /** Geoms of pairs of some kinds, ascending. */
  geoms(is?: (kind: PairNumbers) => boolean): readonly number[] {
    if (is) return this.#geomsOf(this.kinds.map(is));
    return (this.#geoms ??= this.#geomsOf(this.kinds.map(() => true)));
  }

  #geomsOf(asked: readonly boolean[]): number[] {
    const met = new Uint8Array(this.#bound);
    for (const { geoms, kinds } of [this.kindsOf("geom1"), this.kindsOf("geom2")])
      geoms.forEach((g, i) => asked[kinds[i]] && (met[g] = 1));
    return Array.from(met.keys()).filter((g) => met[g] === 1);
  }
}
