// Newton's Hessian over dofs in straight-line code, by parts of the trees: worlds skip what none of their contacts couples
import { variable, when, type Variable } from "../../trace/control.ts";
import { band, bor, div, mul, ne, select, sub, toU32, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import type { Sparsity, SymMatrix } from "../smooth/sparsity.ts";
import { Field } from "../view.ts";

/** What the solver does with a Hessian. */
export type Hessian = Pick<SymMatrix, "sparsity" | "entries" | "diagonal" | "factor" | "solve">;

/** Dofs of a part, ascending; those of parts before it are smaller. */
type Dofs = readonly number[];

/**
 * The entries of `all`. Those between two parts are left out in worlds in which no contact couples the parts, nor the
 * elimination of a later one does, unless `base` has some there. Operations on each entry are those of SymMatrix, in their order.
 */
export class PartedHessian implements Hessian {
  readonly sparsity: Sparsity;
  readonly entries: Field;
  readonly #parts: readonly Dofs[];
  /** Bits of the parts before one: with which it has entries, and has them in all worlds. */
  readonly #may: readonly number[];
  readonly #always: readonly number[];
  /** Of each part those before it that it is coupled with in this world, beside the latter. */
  readonly #there: readonly Variable[];

  constructor(all: Sparsity, base: Sparsity, parts: readonly Dofs[]) {
    this.sparsity = all;
    this.entries = new Field("H", all.nnz);
    this.#parts = parts;
    const between = (of: Sparsity) =>
      parts.map((rows, g) => {
        const has = (columns: Dofs) => rows.some((i) => columns.some((j) => of.has(i, j)));
        return parts.slice(0, g).reduce((bits, columns, h) => (has(columns) ? bits | (1 << h) : bits), 0);
      });
    [this.#may, this.#always] = [between(all), between(base)];
    this.#there = parts.map((_, g) => variable(`coupled${g}`, toU32(0), "u32"));
  }

  diagonal(i: Int): number {
    return this.sparsity.index(i as number, i as number);
  }

  /** Begins an iteration, in which no contact couples parts yet. */
  clear(): void {
    for (const there of this.#there) there.set(toU32(0));
  }

  /** Couples two parts in this world. */
  couple(part: number, before: number): void {
    const there = this.#there[part];
    if (!(this.#always[part] & (1 << before))) there.set(bor(there.get(), toU32(1 << before)));
  }

  /** Whether there is anything between a part and one before it. */
  #has(part: number, before: number): Bool {
    const bit = 1 << before;
    if (part === before || this.#always[part] & bit) return true;
    return this.#may[part] & bit ? ne(band(this.#there[part].get(), toU32(bit)), toU32(0)) : false;
  }

  /** Couples all parts that part k is coupled with. */
  #fill(k: number): void {
    const mine = bor(this.#there[k].get(), toU32(this.#always[k]));
    for (let i = k - 1; i >= 0; i--) {
      const sometimes = this.#may[i] & ~this.#always[i];
      const has = this.#has(k, i);
      if (sometimes === 0 || has === false) continue;
      const there = this.#there[i];
      there.set(bor(there.get(), select(has, band(mine, toU32(sometimes)), toU32(0), "u32")));
    }
  }

  /** Sets each entry (i, j), j <= i, of a block to what `value` makes of it. */
  #each(rows: Dofs, columns: Dofs, value: (x: Scalar, i: number, j: number) => Scalar): void {
    const { has, index } = this.sparsity;
    for (const i of rows) {
      for (const j of columns) {
        if (j > i || !has(i, j)) continue;
        const e = index(i, j);
        this.entries.set(e, value(this.entries.at(e), i, j));
      }
    }
  }

  /** Takes from the block (rows, columns) what eliminating dofs leaves there, last dofs first. */
  #update(eliminated: Dofs, rows: Dofs, columns: Dofs, diaginv: Field): void {
    const at = (i: number, j: number) => this.entries.at(this.sparsity.index(i, j));
    const { has } = this.sparsity;
    for (const k of eliminated.toReversed()) {
      const below = rows.filter((i) => i < k && has(k, i));
      const scaled = new Map(below.map((i) => [i, mul(at(k, i), diaginv.at(k))]));
      this.#each(
        below,
        columns.filter((j) => has(k, j)),
        (x, i, j) => sub(x, mul(scaled.get(i)!, at(k, j))),
      );
    }
  }

  factor(diaginv: Field): void {
    const parts = this.#parts;
    for (let k = parts.length - 1; k >= 0; k--) {
      const mine = parts[k];
      const others = Array.from({ length: k }, (_, i) => k - 1 - i);
      const inWorlds = (i: number, body: () => void) => when(this.#has(k, i), body);
      this.#fill(k);
      for (const dof of mine.toReversed()) {
        diaginv.set(dof, div(1, this.entries.at(this.diagonal(dof))));
        this.#update([dof], mine, mine, diaginv);
      }
      for (const j of others) inWorlds(j, () => this.#update(mine, mine, parts[j], diaginv));
      for (const i of others) {
        inWorlds(i, () => {
          for (let j = i; j >= 0; j--) {
            const update = () => this.#update(mine, parts[i], parts[j], diaginv);
            if (i === j) update();
            else inWorlds(j, update);
          }
        });
      }
      for (const j of [k, ...others]) {
        const scale = (x: Scalar, i: number, c: number) => (c === i ? x : mul(x, diaginv.at(i)));
        inWorlds(j, () => this.#each(mine, parts[j], scale));
      }
    }
  }

  solve(diaginv: Field, x: Field): void {
    const parts = this.#parts;
    const { has, index } = this.sparsity;
    const take = (to: number, row: number, column: number, from: number) =>
      x.set(to, sub(x.at(to), mul(this.entries.at(index(row, column)), x.at(from))));
    const before = (dofs: Dofs, row: number) => dofs.filter((j) => j < row && has(row, j));
    for (let k = parts.length - 1; k >= 0; k--) {
      const rows = parts[k].toReversed();
      for (let i = k; i >= 0; i--)
        when(this.#has(k, i), () => rows.forEach((r) => before(parts[i], r).forEach((j) => take(j, r, j, r))));
    }
    parts.flat().forEach((i) => x.set(i, mul(x.at(i), diaginv.at(i))));
    // a sum has its order in every world
    parts.forEach((rows, k) => {
      for (let i = 0; i <= k; i++)
        when(this.#has(k, i), () => rows.forEach((r) => before(parts[i], r).forEach((j) => take(r, r, j, j))));
    });
  }
}
