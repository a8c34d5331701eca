// the Cholesky factor of a symmetric matrix in tiles, of which each world skips those it has not, and solves with it
import { array, loop, variable, when, type LocalArray, type Variable } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  add,
  band,
  bor,
  div,
  dotn,
  gt,
  max,
  mul,
  ne,
  or,
  select,
  sqrt,
  sub,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { PART, TILE, type TileList } from "./dof-tiles.ts";
import type { Ties, Visits } from "./ties.ts";

/**
 * The part of a diagonal entry that its sums leave uncertain, over so many dofs: float32 rounds a sum of as many terms by 5e-7 of it,
 * and pivots before it add theirs. Over fewer dofs it is as much less: a quadruped's pivots of 2e-6 are M's.
 */
const ROUNDING = { exact: 1e-15, float32: 3e-6 };
const ROUNDED = 64;
/** What a pivot is that is nothing but rounding, as a part of the diagonal entry: large enough that rounding divided by its root stays below ROUNDING. */
const UNCERTAIN = 1e-4;
const TINY = 1e-30;
export const ENTRIES = Array.from({ length: TILE * TILE }, (_, k) => k);

/** What a tile's sums are made of: TILE rows, each with a number for each term. */
export type Columns = readonly (readonly Scalar[])[];

/** The sums of a tile row by row; on the diagonal without those above it. */
type Sums = readonly (Variable | undefined)[];

/** The tiles of a matrix as variables, from which the factor takes away; `at`: their place in the list of all. */
interface Matrix {
  diagonal(tile: Int, at: Int): Sums;
  below(row: Int, column: Int, at: Int, isTied: Bool): readonly Variable[];
}

/** Runs its body in worlds that have a tile. */
type Each = (tile: Int, body: () => void) => void;

/** Tiles whose bits are one word. */
export class WordTies implements Ties {
  /** For each tile of the diagonal, bits of those before it that are there with it: set before factoring, which adds fill. */
  readonly there: LocalArray;
  readonly #tiles: TileList;

  constructor(tiles: TileList) {
    this.#tiles = tiles;
    this.there = array("tiles_there", tiles.count, "u32");
  }

  #before(row: Int): Int {
    return band(this.there.get(row), toU32(this.#tiles.below(row)));
  }

  #each(count: Int, bits: Int, visit: (tile: Int) => void): void {
    loop(count, (K) => when(this.#tiles.has(bits, K), () => visit(K)));
  }

  eachBefore(row: Int, visit: (column: Int) => void): void {
    this.#each(row, this.#before(row), visit);
  }

  fill(): void {}

  eachBelow(column: Int, visit: (row: Int, isTied: Bool, eachShared: Visits) => void): void {
    const { count, bit, has } = this.#tiles;
    const before = this.#before(column);
    loop(
      count,
      (I) => {
        const ofI = this.there.get(I);
        const both = band(ofI, before);
        const isTied = has(ofI, column);
        when(or(isTied, ne(both, toU32(0))), () => {
          this.there.set(I, bor(ofI, toU32(bit(column))));
          visit(I, isTied, (shared) => this.#each(column, both, shared));
        });
      },
      { start: add(column, 1) },
    );
  }

  eachAfter(column: Int, visit: (row: Int) => void): void {
    const { count, has } = this.#tiles;
    loop(count, (K) => when(has(this.there.get(K), column), () => visit(K)), { start: add(column, 1) });
  }
}

export class TileFactor {
  readonly #tiles: Pick<TileList, "count" | "start">;
  readonly #ties: Ties;
  /** Of the factor, and before it of the matrix if that is stored; row by row at the places of tiles. */
  readonly entries: readonly LocalArray[];
  readonly #x: readonly LocalArray[];

  constructor(tiles: Pick<TileList, "count" | "start">, ties: Ties) {
    const n = tiles.count;
    this.#tiles = tiles;
    this.#ties = ties;
    this.entries = ENTRIES.map((k) => array(`factor${k}`, (n * (n + 1)) / 2, "f32", true));
    this.#x = PART.map((r) => array(`tile_x${r}`, n));
  }

  factor(each: Each, matrix: Matrix): void {
    const { count, start } = this.#tiles;
    const ties = this.#ties;
    const column = (J: Int) => {
      const jj = add(start(J), J);
      const sums = matrix.diagonal(J, jj);
      const whole = PART.map((r) => sums[(TILE + 1) * r]!.get());
      ties.eachBefore(J, (K) => {
        const L = this.#tile(add(start(J), K));
        addProducts(sums, L, L, sub);
        ties.fill(J, K);
      });
      const pivot = cholesky(
        sums.map((s) => s?.get() ?? 0),
        whole,
        Math.min(1, (TILE * count) / ROUNDED),
      );
      pivot.forEach((x, k) => sums[k] && this.entries[k].set(jj, x));
      ties.eachBelow(J, (I, isTied, eachShared) => {
        const ij = add(start(I), J);
        const own = matrix.below(I, J, ij, isTied);
        eachShared((K) => addProducts(own, this.#tile(add(start(I), K)), this.#tile(add(start(J), K)), sub));
        // X Lᵀ = tile
        for (const r of PART) {
          const x: Scalar[] = [];
          for (const c of PART) {
            let rest = own[TILE * r + c].get();
            for (let k = 0; k < c; k++) rest = sub(rest, mul(x[k], pivot[TILE * c + k]));
            x.push(mul(rest, pivot[TILE * c + c]));
            this.entries[TILE * r + c].set(ij, x[c]);
          }
        }
      });
    };
    loop(count, (J) => each(J, () => column(J)));
  }

  /** Solves with the factor, a tile at a time. */
  solve(each: Each, force: (tile: Int) => readonly Scalar[], set: (tile: Int, x: readonly Scalar[]) => void): void {
    const { count, start } = this.#tiles;
    const ties = this.#ties;
    const triangle = (I: Int) => this.entries.map((a) => a.get(add(start(I), I)));
    const at = (I: Int) => this.#x.map((a) => a.get(I));
    const forward = (I: Int) => {
      const sums = force(I).map((value, r) => variable(`forward_${r}`, value));
      ties.eachBefore(I, (K) => {
        const [L, y] = [this.#tile(add(start(I), K)), at(K)];
        sums.forEach((s, r) => s.set(sub(s.get(), dotn(L[r], y))));
      });
      const L = triangle(I);
      const y: Scalar[] = [];
      for (const r of PART) {
        const rest = y.reduce<Scalar>((left, v, k) => sub(left, mul(L[TILE * r + k], v)), sums[r].get());
        y.push(mul(rest, L[TILE * r + r]));
        this.#x[r].set(I, y[r]);
      }
    };
    const back = (I: Int) => {
      const sums = at(I).map((value, r) => variable(`back_${r}`, value));
      ties.eachAfter(I, (K) => {
        const [L, v] = [transposed(this.#tile(add(start(K), I))), at(K)];
        sums.forEach((s, c) => s.set(sub(s.get(), dotn(L[c], v))));
      });
      const L = triangle(I);
      const v: Scalar[] = PART.map(() => 0);
      for (const r of PART.toReversed()) {
        let rest = sums[r].get();
        for (let k = TILE - 1; k > r; k--) rest = sub(rest, mul(L[TILE * k + r], v[k]));
        v[r] = mul(rest, L[TILE * r + r]);
        this.#x[r].set(I, v[r]);
      }
      set(I, v);
    };
    loop(count, (I) => each(I, () => forward(I)));
    loop(count, (up) => {
      const I = sub(count - 1, up);
      each(I, () => back(I));
    });
  }

  /** Rows of a tile of the factor. */
  #tile(at: Int): Columns {
    return PART.map((r) => PART.map((c) => this.entries[TILE * r + c].get(at)));
  }
}

/** sums += A Bᵀ, of which the entries above the diagonal may not be asked for. */
export function addProducts(
  sums: readonly (Variable | undefined)[],
  A: Columns,
  B: Columns,
  combine: (sum: Scalar, x: Scalar) => Scalar,
): void {
  sums.forEach((own, k) => {
    if (!own) return;
    const [a, b] = [A[Math.floor(k / TILE)], B[k % TILE]];
    own.set(a.reduce<Scalar>((total, x, i) => combine(total, mul(x, b[i])), own.get()));
  });
}

export const transposed = (rows: Columns): Columns => rows[0].map((_, c) => rows.map((row) => row[c]));

/**
 * The Cholesky factor of a tile, with 1 / pivot in place of pivots. A pivot that is nothing but rounding of what it is left of is made
 * larger: its dof then moves too little, and the next iteration goes on. As small as that rounding, its column would be rounding as
 * large as the entries themselves, and from pivot to pivot the factor grew to infinity.
 */
function cholesky(A: readonly Scalar[], whole: readonly Scalar[], share: number): Scalar[] {
  const L = [...A];
  const part = share * (current().exact ? ROUNDING.exact : ROUNDING.float32);
  for (const j of PART) {
    for (let i = j; i < TILE; i++) {
      let rest = L[TILE * i + j];
      for (let k = 0; k < j; k++) rest = sub(rest, mul(L[TILE * i + k], L[TILE * j + k]));
      const least = () => max(mul(part, whole[j]), TINY);
      const kept = () => select(gt(rest, least()), rest, max(mul(UNCERTAIN, whole[j]), TINY));
      L[TILE * i + j] = i === j ? div(1, sqrt(kept())) : mul(rest, L[TILE * j + j]);
    }
  }
  return L;
}
