// sparsity of symmetric matrices over dofs, known when a kernel is traced
import { CorralError } from "../../core/errors.ts";
import { each, increase, table, variable, when } from "../../trace/control.ts";
import { add, div, isNode, mul, ne, sub, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { Field } from "../view.ts";

/**
 * The lower triangle of a symmetric matrix in compressed rows, the diagonal last in each row. Closed under the
 * fill-in of the LᵀDL factorisation from the last row up.
 */
export interface Sparsity {
  readonly n: number;
  readonly nnz: number;
  /** Columns of each row, ascending; the last one is the row itself. */
  readonly rows: readonly (readonly number[])[];
  /** First entry of each row. */
  readonly rowadr: readonly number[];
  /** Index of entry (i, j), in either order. */
  index(i: number, j: number): number;
  has(i: number, j: number): boolean;
}

/** Products of a factorisation beyond which the table of their places, of four bytes each, has no room in an array of JavaScript's. */
const MOST_PRODUCTS = 2 ** 26;

/** @throws CorralError too-many-couplings */
function makeSparsity(n: number, sets: Set<number>[]): Sparsity {
  let products = 0;
  // factoring row k couples all its columns with one another
  for (let k = n - 1; k >= 0; k--) {
    const columns = [...sets[k]];
    products += (columns.length * (columns.length + 1)) / 2;
    if (products > MOST_PRODUCTS) throw tooManyCouplings(n);
    for (const i of columns) for (const j of columns) if (j < i) sets[i].add(j);
  }
  const rows = sets.map((s, i) => [...s].sort((a, b) => a - b).concat(i));
  const rowadr: number[] = [];
  const where = new Map<number, number>();
  let nnz = 0;
  rows.forEach((columns, i) => {
    rowadr.push(nnz);
    for (const j of columns) where.set(i * n + j, nnz++);
  });
  const key = (i: number, j: number) => (i >= j ? i * n + j : j * n + i);
  return {
    n,
    nnz,
    rows,
    rowadr,
    index: (i, j) => where.get(key(i, j))!,
    has: (i, j) => where.has(key(i, j)),
  };
}

const tooManyCouplings = (dofs: number): CorralError =>
  new CorralError(
    "too-many-couplings",
    `contacts or rows may couple most of the model's ${dofs} dofs with one another, and to factor their matrix takes more than ${MOST_PRODUCTS} products. Take integrator="Euler", under which large scenes are solved body by body, give geoms that never meet contype and conaffinity bits that do not match, or put fewer bodies into one world and more worlds into the batch.`,
    { dofs, most: MOST_PRODUCTS },
  );

/** what a sparsity needs of a model. */
interface Tree {
  readonly nv: number;
  readonly M_rownnz: ArrayLike<number>;
  readonly M_rowadr: ArrayLike<number>;
  readonly M_colind: ArrayLike<number>;
}

/** The sparsity of the mass matrix, MuJoCo's own: each dof with its ancestors. No fill-in arises. */
export const treeSparsity = (m: Tree): Sparsity => makeSparsity(m.nv, treeSets(m));

function treeSets(m: Tree): Set<number>[] {
  return Array.from({ length: m.nv }, (_, i) => {
    const start = m.M_rowadr[i];
    return new Set(Array.from({ length: m.M_rownnz[i] - 1 }, (_, k) => m.M_colind[start + k]));
  });
}

/** The sparsity of M plus terms that couple all dofs of each group. */
export function coupledSparsity(m: Tree, groups: readonly (readonly number[])[]): Sparsity {
  const sets = treeSets(m);
  for (const group of groups) {
    for (const i of group) for (const j of group) if (j < i) sets[i].add(j);
  }
  return makeSparsity(m.nv, sets);
}

/** Entries outside of `base`, which is closed under fill-in as well: zero in worlds without `any`. */
export interface Sometimes {
  readonly base: Sparsity;
  readonly any: () => Bool;
}

/** A symmetric matrix of a given sparsity: entries in a field, rows addressed by constants or by tables. */
export class SymMatrix {
  readonly sparsity: Sparsity;
  readonly entries: Field;
  readonly #rowadr: (i: Int) => Int;
  readonly #length: (i: Int) => Int;
  readonly column: (entry: Int) => Int;
  readonly #update: (at: Int) => Int;
  readonly #updateadr: (k: Int) => Int;
  readonly #sometimes: Sometimes | undefined;

  /** `sometimes`: for straight-line code. */
  constructor(sparsity: Sparsity, entries: Field, sometimes?: Sometimes) {
    this.sparsity = sparsity;
    this.entries = entries;
    this.#sometimes = sometimes;
    this.#rowadr = table("rowadr", sparsity.rowadr, "i32");
    this.#length = table(
      "rownnz",
      sparsity.rows.map((r) => r.length - 1),
      "i32",
    );
    this.column = table("colind", sparsity.rows.flat(), "i32");
    // targets of the outer products of the factorisation, row by row
    const update: number[] = [];
    const updateadr: number[] = [];
    for (const columns of sparsity.rows) {
      updateadr.push(update.length);
      for (let a = 0; a < columns.length - 1; a++) {
        for (let b = 0; b <= a; b++) update.push(sparsity.index(columns[a], columns[b]));
      }
    }
    this.#update = table("factor_update", update, "i32");
    this.#updateadr = table("factor_updateadr", updateadr, "i32");
  }

  diagonal(i: Int): Int {
    return add(this.#rowadr(i), this.#length(i));
  }

  /** Whether entry (i, j) is zero in some worlds. */
  #isSometimes(i: Int, j: Int): boolean {
    return this.#sometimes !== undefined && !this.#sometimes.base.has(i as number, j as number);
  }

  /** Runs `body` for items of entries that are never zero, then for the others in worlds where they may be none. */
  #inParts<T>(items: readonly T[], isSometimes: (item: T) => boolean, body: (item: T) => void): void {
    items.filter((x) => !isSometimes(x)).forEach(body);
    const others = items.filter(isSometimes);
    if (others.length > 0) when(this.#sometimes!.any(), () => others.forEach(body));
  }

  /** Runs `body` for each entry (i, j), j <= i, of row i; first for those that are never zero. */
  row(i: Int, body: (entry: Int, column: Int) => void): void {
    const start = this.#rowadr(i);
    if (this.#sometimes) {
      const columns = this.sparsity.rows[i as number].map((column, k) => ({ column, entry: (start as number) + k }));
      return this.#inParts(
        columns,
        ({ column }) => this.#isSometimes(i, column),
        ({ entry, column }) => body(entry, column),
      );
    }
    each(add(this.diagonal(i), 1), (e) => body(e, this.column(e)), { start });
  }

  /**
   * Factors in place into LᵀDL, unit L (mj_factorI): rows then hold L off the diagonal; `diaginv` takes 1 / D.
   */
  factor(diaginv: Field): void {
    if (this.#sometimes) return this.#factorInParts(diaginv);
    const { n } = this.sparsity;
    const h = this.entries;
    each(n, (up) => {
      const k = sub(n - 1, up);
      const start = this.#rowadr(k);
      const inverse = div(1, h.at(this.diagonal(k)));
      diaginv.set(k, inverse);
      const target = this.#updateadr(k);
      each(this.#length(k), (a) => {
        const scale = mul(h.at(add(start, a)), inverse);
        const first = add(target, triangle(a));
        each(add(a, 1), (b) => {
          const t = this.#update(add(first, b));
          h.set(t, sub(h.at(t), mul(scale, h.at(add(start, b)))));
        });
      });
      each(this.#length(k), (a) => {
        const e = add(start, a);
        h.set(e, mul(h.at(e), inverse));
      });
    });
  }

  /** The same operations on each entry in the same order, without those on zeros. */
  #factorInParts(diaginv: Field): void {
    const { n, rows, index } = this.sparsity;
    const h = this.entries;
    for (let k = n - 1; k >= 0; k--) {
      const inverse = div(1, h.at(index(k, k)));
      diaginv.set(k, inverse);
      const columns = rows[k].slice(0, -1);
      const pairs = columns.flatMap((i, a) => columns.slice(0, a + 1).map((j) => [i, j] as const));
      const isSometimes = (j: number) => this.#isSometimes(k, j);
      const isSometimesPair = ([i, j]: readonly [number, number]) => isSometimes(i) || isSometimes(j);
      const update = ([i, j]: readonly [number, number]) => {
        const target = index(i, j);
        h.set(target, sub(h.at(target), mul(mul(h.at(index(k, i)), inverse), h.at(index(k, j)))));
      };
      const scale = (j: number) => h.set(index(k, j), mul(h.at(index(k, j)), inverse));
      pairs.filter((pair) => !isSometimesPair(pair)).forEach(update);
      if (columns.some(isSometimes))
        when(this.#sometimes!.any(), () => {
          pairs.filter(isSometimesPair).forEach(update);
          columns.filter(isSometimes).forEach(scale);
        });
      columns.filter((j) => !isSometimes(j)).forEach(scale);
    }
  }

  /** Solves in place with the factors (mj_solveLD). */
  solve(diaginv: Field, x: Field): void {
    if (this.#sometimes) return this.#solveInParts(diaginv, x);
    const { n } = this.sparsity;
    const l = this.entries;
    each(n, (up) => {
      const k = sub(n - 1, up);
      const start = this.#rowadr(k);
      const own = x.at(k);
      const push = () =>
        each(this.#length(k), (a) => {
          const e = add(start, a);
          const j = this.column(e);
          x.set(j, sub(x.at(j), mul(l.at(e), own)));
        });
      // what pushes on a few bodies leaves most rows alone
      if (isNode(k)) when(ne(own, 0), push);
      else push();
    });
    each(n, (k) => x.set(k, mul(x.at(k), diaginv.at(k))));
    each(n, (k) => {
      const start = this.#rowadr(k);
      const left = isNode(k) ? variable("solved", x.at(k)) : { get: () => x.at(k), set: (v: Scalar) => x.set(k, v) };
      each(this.#length(k), (a) => {
        const e = add(start, a);
        left.set(sub(left.get(), mul(l.at(e), x.at(this.column(e)))));
      });
      if (isNode(k)) x.set(k, left.get());
    });
  }

  #solveInParts(diaginv: Field, x: Field): void {
    const { n, rows, index } = this.sparsity;
    const l = this.entries;
    const term = (to: number, k: number, j: number, from: number) =>
      x.set(to, sub(x.at(to), mul(l.at(index(k, j)), x.at(from))));
    for (let k = n - 1; k >= 0; k--) {
      const columns = rows[k].slice(0, -1);
      this.#inParts(
        columns,
        (j) => this.#isSometimes(k, j),
        (j) => term(j, k, j, k),
      );
    }
    each(n, (k) => x.set(k, mul(x.at(k), diaginv.at(k))));
    // a sum has its order in every world
    for (let k = 0; k < n; k++) {
      const columns = rows[k].slice(0, -1);
      const always = columns.filter((j) => !this.#isSometimes(k, j));
      const sum = (list: readonly number[]) => list.forEach((j) => term(k, k, j, j));
      if (always.length === columns.length) sum(columns);
      else
        when(
          this.#sometimes!.any(),
          () => sum(columns),
          () => sum(always),
        );
    }
  }

  /** y = A x, with the entries of A as they are. */
  multiply(x: Field, y: Field): void {
    const { n } = this.sparsity;
    each(n, (i) => y.set(i, mul(this.entries.at(this.diagonal(i)), x.at(i))));
    each(n, (i) => {
      const start = this.#rowadr(i);
      each(this.#length(i), (a) => {
        const e = add(start, a);
        const j = this.column(e);
        const value = this.entries.at(e);
        y.set(i, add(y.at(i), mul(value, x.at(j))));
        y.set(j, add(y.at(j), mul(value, x.at(i))));
      });
    });
  }
}

/** LᵀDL factors of a matrix, and 1 / D. */
export interface Factored {
  readonly factors: SymMatrix;
  readonly diaginv: Field;
}

/** 0 + 1 + ... + a */
const triangle = (a: Int): Int => (isNode(a) ? div(mul(a, add(a, 1)), 2) : (a * (a + 1)) / 2);

/** Copies a field row by row. */
export function copyField(from: Field, to: Field): void {
  each(to.rows, (i: Int) => to.setRow(i, from.slice(i, to.width)));
}

const NONE: ReadonlySet<number> = new Set();

/**
 * A field that can be read at runtime indices: itself, or a copy of its registers, in which rows that come `late` are not set.
 * `isScratch`: whether they may hold anything before they are.
 */
export function indexed(field: Field, late: ReadonlySet<number> = NONE, isScratch: boolean = false): Field {
  if (field.isIndexed) return field;
  const { leftOut } = field;
  const copy = new Field(field.name, field.length, field.width, true, leftOut?.kept, isScratch);
  if (!leftOut && late.size === 0) {
    copyField(field, copy);
    return copy;
  }
  if (leftOut) copy.leaveOut(leftOut);
  for (let i = 0; i < field.rows; i++) {
    if (late.has(i) || (leftOut && (leftOut.placeOf(i) as number) >= leftOut.kept)) continue;
    copy.setRow(i, field.slice(i, copy.width));
  }
  return copy;
}

/** The inner product of two fields, element by element times `weight`. */
export function dotFields(a: Field, b: Field, weight: (i: Int) => Scalar = () => 1): Scalar {
  const total = variable("dot", 0);
  each(a.length, (i) => increase(total, mul(weight(i), mul(a.at(i), b.at(i)))));
  return total.get();
}
