// rows of the dual problem that are not of contacts: one dof or a few each, read at a runtime index
import { array, increase, loop, table, variable, type LocalArray } from "../../trace/control.ts";
import { add, gt, mul, select, sub, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { rowDot, type Row } from "../constraint/rows.ts";
import type { Field } from "../view.ts";

/** What limits the force of a row. */
export const KIND = { equality: 0, friction: 1, limit: 2 } as const;

/** Entries of the rows' Jacobians, which dofs they are of being known, and what the solver asks of each row. */
export class DualRows {
  readonly #rows: readonly Row[];
  readonly #A: LocalArray;
  readonly #b: LocalArray;
  readonly #R: LocalArray;
  readonly #loss: LocalArray;
  readonly #active: LocalArray;
  readonly #jac: LocalArray;
  readonly #starts: readonly number[];
  readonly #start: (row: Int) => Int;
  readonly #nnz: (row: Int) => Int;
  readonly #kind: (row: Int) => Int;
  readonly #dof: (entry: Int) => Int;

  constructor(rows: readonly Row[]) {
    this.#rows = rows;
    const of = (name: string) => array(name, Math.max(1, rows.length));
    this.#A = of("row_A");
    this.#b = of("row_b");
    this.#R = of("row_R");
    this.#loss = of("row_frictionloss");
    this.#active = of("row_active");
    const counts = rows.map((r) => r.jac.length);
    const dofs = rows.flatMap((r) => r.jac.map(({ dof }) => dof as number));
    let entries = 0;
    this.#starts = counts.map((n) => (entries += n) - n);
    this.#jac = array("row_jac", Math.max(1, entries));
    this.#start = table("row_adr", this.#starts, "i32");
    this.#nnz = table("row_nnz", counts, "i32");
    this.#dof = table("row_dof", dofs, "i32");
    this.#kind = table(
      "row_kind",
      rows.map((r) => KIND[r.kind]),
      "i32",
    );
  }

  /** Sets what does not change while forces do; b = J qacc_smooth - aref. */
  start(qaccSmooth: Field): void {
    this.#rows.forEach((row, r) => {
      const Jqacc = rowDot(row, (i) => qaccSmooth.at(i));
      this.#b.set(r, sub(Jqacc, row.aref));
      this.#R.set(r, select(row.active, row.R, 1));
      this.#loss.set(r, row.frictionloss);
      this.#active.set(r, select(row.active, 1, 0));
      row.jac.forEach(({ value }, k) => this.#jac.set(this.#starts[r] + k, value));
    });
  }

  get count(): number {
    return this.#rows.length;
  }

  /** Sets A of a row, given M⁻¹ Jᵀ. */
  setA(r: Int, solved: Field): void {
    this.#A.set(
      r,
      this.along(r, (dof) => solved.at(dof)),
    );
  }

  at(r: Int) {
    return { A: this.#A.get(r), R: this.#R.get(r), loss: this.#loss.get(r), kind: this.#kind(r) };
  }

  b(r: Int): Scalar {
    return this.#b.get(r);
  }

  /** b + J x. */
  residual(r: Int, x: Field): Scalar {
    return add(
      this.#b.get(r),
      this.along(r, (dof) => x.at(dof)),
    );
  }

  isActive(r: Int): Bool {
    return gt(this.#active.get(r), 0);
  }

  /** x += Jᵀ df. */
  push(r: Int, df: Scalar, x: Field): void {
    const first = this.#start(r);
    loop(this.#nnz(r), (k) => {
      const e = add(first, k);
      const dof = this.#dof(e);
      x.set(dof, add(x.at(dof), mul(this.#jac.get(e), df)));
    });
  }

  /** J x, by the few dofs that the row has. */
  along(r: Int, x: (dof: Int) => Scalar): Scalar {
    const total = variable("along", 0);
    total.set(0);
    const first = this.#start(r);
    loop(this.#nnz(r), (k) => {
      const e = add(first, k);
      increase(total, mul(this.#jac.get(e), x(this.#dof(e))));
    });
    return total.get();
  }
}
