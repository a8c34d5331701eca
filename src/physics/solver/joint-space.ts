// the constraint solver's space over dofs: M, its factors, and a sparse Hessian
import { breakIf, each, flag, increase, loop, variable, when } from "../../trace/control.ts";
import {
  add,
  div,
  dotn,
  le,
  lt,
  max,
  min,
  mul,
  ne,
  neg,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { current } from "../../trace/graph.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import { pairDofs } from "../constraint/body-dofs.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { mjMINVAL } from "../../model/enums.ts";
import type { GeomPair } from "../../model/pairs.ts";
import { copyField, dotFields, SymMatrix, type Factored, type Sparsity } from "../smooth/sparsity.ts";
import { dofParts } from "../constraint/dof-signs.ts";
import type { Row, RowLaw } from "../constraint/rows.ts";
import { DiagA } from "./diag-a.ts";
import { PartedHessian, type Hessian } from "./parted-hessian.ts";
import { PartedJacobian } from "./parted-jacobian.ts";
import { FEW_ITERATIONS, usesNewton } from "./precision.ts";
import type { ContactAt, Frame, ProductsOf, SolverSpace } from "./space.ts";
import type { Weights } from "./trees.ts";
import { Field, scalarTable, type WorldData, type ModelView } from "../view.ts";

type Jacobian = readonly (readonly Scalar[])[];

/** The most that a gradient's norm counts for in the bound of a conjugate direction (eta of mj_solPrimal). */
const LEAST_NORM = 0.01;

/** Fewest Hessian entries made by contacts alone that are worth a branch. */
const WORTH_PARTS = 16;

/** Matrices that the space works with. */
export interface JointMatrices {
  readonly M: SymMatrix;
  /** Factors of M (qLD). */
  readonly own: Factored;
  /** Factors of what solvers on the dual take for M, if it is another. */
  readonly dual?: Factored;
  /** The sparsity of M + Jᵀ D J over all rows that may ever be active, and over those that are no contacts'. */
  readonly hessian: { readonly base: Sparsity; readonly all: Sparsity };
}

interface JointContact extends ContactAt {
  /** grad -= Jᵀ force, H += Jᵀ W J. */
  addTo(law: ContactLaw): void;
}

/** Newton by a sparse LᵀDL of the Hessian, or CG preconditioned by M. */
export class JointSpace implements SolverSpace {
  readonly qacc: Field;
  readonly search: Field;
  readonly isInexact: boolean;
  readonly #m: ModelView;
  readonly #d: WorldData;
  readonly #nv: number;
  readonly #newton: boolean;
  readonly #contacts: ContactRows;
  readonly #weights: Weights;
  readonly #M: SymMatrix;
  readonly #own: Factored;
  readonly #dual: Factored | undefined;
  readonly #H: Hessian;
  /** The same, if it is in parts. */
  readonly #parted: PartedHessian | undefined;
  /** And if it is not. */
  readonly #whole: SymMatrix | undefined;
  readonly #Hdiaginv: Field;
  /** M search. */
  readonly #Mv: Field;
  /** Ma - qfrc_smooth, the gradient of the Gauss cost. It grows by alpha Mv: M is multiplied once an iteration. */
  readonly #gaussGrad: Field;
  readonly #grad: Field;
  /** Gradients of the previous iteration (CG). */
  readonly #gradOld: Field;
  readonly #MgradOld: Field;
  #iteration: Int = 0;
  /** Whether some contact couples dofs that nothing else does. */
  readonly #couples: ReturnType<typeof flag> | undefined;
  readonly #base: Sparsity;
  /** Where there is room for it. */
  readonly #parts: PartedJacobian | undefined;

  constructor(m: ModelView, d: WorldData, contacts: ContactRows, matrices: JointMatrices, weights: Weights) {
    const { M, own, dual, hessian } = matrices;
    const vector = (name: string) => new Field(name, m.nv);
    this.#m = m;
    this.#d = d;
    // beside stiff contacts one step of float32 is off by all that rounding leaves of M in H
    this.isInexact = contacts.anyStiff && !current().exact;
    this.#nv = m.nv;
    this.#newton = usesNewton(m);
    this.#contacts = contacts;
    this.#weights = weights;
    this.#base = hessian.base;
    this.#M = M;
    this.#own = own;
    this.#dual = dual;
    this.qacc = vector("x");
    this.search = vector("search");
    this.#Mv = vector("Mv");
    this.#gaussGrad = vector("gauss_grad");
    this.#grad = vector("grad");
    const { base, all } = hessian;
    const parted = m.form.hasRoom && !m.form.loops ? dofParts(m, contacts.slots) : undefined;
    const parts = parted?.parts ?? [];
    this.#parts = parts.length > 1 ? new PartedJacobian(m, contacts, parted!) : undefined;
    this.#parted =
      this.#parts && this.#newton
        ? new PartedHessian(
            all,
            base,
            parts.map(({ dofs }) => dofs),
          )
        : undefined;
    const isPart = all.nnz - base.nnz >= WORTH_PARTS && !m.form.loops && !this.#parted;
    this.#couples = this.#newton && isPart ? flag("couples", false) : undefined;
    const sometimes = this.#couples && { base, any: () => this.#couples!.get() };
    const sparsity = this.#newton ? all : M.sparsity;
    this.#whole = this.#parted
      ? undefined
      : new SymMatrix(sparsity, new Field("H", this.#newton ? all.nnz : 0), sometimes);
    this.#H = (this.#parted ?? this.#whole)!;
    this.#Hdiaginv = vector("Hdiaginv");
    this.#gradOld = vector("grad_old");
    this.#MgradOld = vector("Mgrad_old");
  }

  solveM(x: Field): void {
    const { factors, diaginv } = this.#dual ?? this.#own;
    factors.solve(diaginv, x);
  }

  get solveWhole(): ((x: Field) => void) | undefined {
    const { factors, diaginv } = this.#own;
    return this.#dual && ((x) => factors.solve(diaginv, x));
  }

  startAtSmooth(): void {
    each(this.#nv, (i) => this.#gaussGrad.set(i, 0));
  }

  contact(slot: Int, index: Int, isFirst = false): JointContact {
    const vectors = { qvel: this.#d.qvel, qacc: this.qacc, search: this.search };
    if (this.#parts) {
      const { diagA, clear, times, addTo } = this.#parts.contact(slot, index, isFirst);
      return { diagA, clear, times: (x) => times(vectors[x]), addTo: (law) => addTo(this.#grad, this.#parted, law) };
    }
    const J = this.#contacts.jacobian(slot);
    return {
      times: (x) => J.map((row) => dotn(row, vectors[x].all())),
      diagA: () => this.#diagA(slot, J),
      addTo: (law) => {
        this.#push(this.#grad, J, law.force, -1);
        if (this.#newton) this.#addHessian(law, J);
      },
    };
  }

  #diagA(slot: Int, J: Jacobian): Scalar[] {
    const diagA = new DiagA(this.#m, J.length);
    const moved = this.#contacts.motions?.at(slot);
    const signs = this.#contacts.signs(slot);
    for (let i = 0; i < this.#nv; i++) {
      const column = J.map((row) => row[i]);
      if (column.some((x) => x !== 0)) diagA.add(i, moved?.(i, signs(i)), column, square(signs(i)));
    }
    return diagA.get();
  }

  searchMv(): Scalar {
    this.#M.multiply(this.search, this.#Mv);
    return dotFields(this.search, this.#Mv, (i) => this.#weights.dof(i));
  }

  restrict(dof: (i: Int) => Scalar): void {
    each(this.#nv, (i) => this.search.set(i, mul(dof(i), this.search.at(i))));
  }

  move(alpha: Scalar): void {
    const { qacc, search } = this;
    const [gaussGrad, Mv] = [this.#gaussGrad, this.#Mv];
    each(this.#nv, (i) => {
      qacc.set(i, add(qacc.at(i), mul(alpha, search.at(i))));
      gaussGrad.set(i, add(gaussGrad.at(i), mul(alpha, Mv.at(i))));
    });
  }

  iterate({ iterations, done, converged, start, finish }: Frame, body: Parameters<SolverSpace["iterate"]>[1]): void {
    this.#findCouplings();
    start();
    loop(
      iterations,
      (i) => {
        breakIf(done.get());
        this.#iteration = i;
        body(
          (newton) => newton(),
          () => i,
        );
      },
      { label: "iterations" },
    );
    finish();
    this.#takeResidual(converged.get());
  }

  /** Few iterations end in sums of forces, which multiply what rounds in qacc; at Newton's minimum the Gauss cost has them too. */
  #takeResidual(isMinimum: Bool): void {
    const isSum = this.#m.opt.iterations < FEW_ITERATIONS;
    if (!isSum || !this.#newton || current().exact) return;
    const [total, residual] = [this.#d.qfrc_constraint, this.#gaussGrad];
    each(this.#nv, (i) => total.set(i, select(isMinimum, residual.at(i), total.at(i))));
  }

  #findCouplings(): void {
    const couples = this.#couples;
    if (!couples) return;
    const { slots } = this.#contacts;
    const has = (p: GeomPair): boolean => {
      const dofs = [...pairDofs(this.#m.model, p).keys()];
      return dofs.some((i) => dofs.some((j) => !this.#base.has(i, j)));
    };
    const of = slots.table("con_couples", (k) => Number(has(slots.pairs.at(k))), "i32");
    couples.set(false);
    slots.each((_, slot) => couples.set(or(couples.get(), ne(of(slot), 0))));
  }

  startGrad(): void {
    const [M, H] = [this.#M, this.#H];
    this.#parted?.clear();
    if (this.#newton) {
      each(H.sparsity.nnz, (e) => H.entries.set(e, 0));
      // the sparsity of M is part of that of H
      for (let i = 0; i < this.#nv; i++) {
        for (const j of M.sparsity.rows[i]) H.entries.set(H.sparsity.index(i, j), M.entries.at(M.sparsity.index(i, j)));
      }
    }
    copyField(this.#gaussGrad, this.#grad);
  }

  addRow(row: Row, law: RowLaw): void {
    const [H, grad] = [this.#H, this.#grad];
    for (const { dof, value } of row.jac) grad.set(dof, sub(grad.at(dof), mul(value, law.force)));
    if (!this.#newton) return;
    row.jac.forEach((a, i) => {
      for (const b of row.jac.slice(0, i + 1)) {
        // a row of one dof may come from a runtime loop
        const e = a === b ? H.diagonal(a.dof) : H.sparsity.index(a.dof as number, b.dof as number);
        H.entries.set(e, add(H.entries.at(e), mul(mul(a.value, b.value), law.hessian)));
      }
    });
  }

  addContact(_index: Int, _slot: Int, law: ContactLaw, at: JointContact): void {
    at.addTo(law);
  }

  /** x += sign Jᵀ f */
  #push(x: Field, J: Jacobian, force: readonly Scalar[], sign: 1 | -1): void {
    for (let i = 0; i < this.#nv; i++) {
      const f = dotn(
        force,
        J.map((row) => row[i]),
      );
      x.set(i, sign === 1 ? add(x.at(i), f) : sub(x.at(i), f));
    }
  }

  /** H += Jᵀ W J over the entries that this Jacobian can touch. */
  #addHessian(law: ContactLaw, J: Jacobian): void {
    const [H, nv] = [this.#whole!, this.#nv];
    const WJ = J.map((_, a) =>
      Array.from({ length: nv }, (_, i) => sum(J.map((row, b) => mul(law.hessian(a, b), row[i])))),
    );
    const readable = (name: string, rows: Jacobian) => rows.map((row, k) => scalarTable(`${name}${k}`, row));
    const left = readable("J", J);
    const right = readable("WJ", WJ);
    const addRow = (i: Int) =>
      H.row(i, (e, j) => {
        const value = dotn(
          left.map((at) => at(i)),
          right.map((at) => at(j)),
        );
        if (value !== 0) H.entries.set(e, add(H.entries.at(e), value));
      });
    // a row of zeros adds zeros
    const skips = this.#m.form.loops && this.#m.form.hasRoom;
    each(nv, (i) => {
      const moves = left.map((at) => ne(at(i), 0)).reduce(or);
      if (skips) when(moves, () => addRow(i));
      else addRow(i);
    });
  }

  setSearch(): void {
    if (!this.#newton) {
      this.#conjugate(this.#iteration);
      return;
    }
    this.#H.factor(this.#Hdiaginv);
    each(this.#nv, (i) => this.search.set(i, neg(this.#grad.at(i))));
    this.#H.solve(this.#Hdiaginv, this.search);
  }

  /** Hager-Zhang direction, preconditioned by M (mj_solPrimal). */
  #conjugate(iteration: Int): void {
    const { search } = this;
    const [nv, grad, gradOld, MgradOld] = [this.#nv, this.#grad, this.#gradOld, this.#MgradOld];
    const Mgrad = new Field("Mgrad", nv);
    copyField(grad, Mgrad);
    this.#own.factors.solve(this.#own.diaginv, Mgrad);
    const dot = (a: (i: Int) => Scalar, b: (i: Int) => Scalar): Scalar => {
      const s = variable("dot", 0);
      each(nv, (i) => increase(s, mul(this.#weights.dof(i), mul(a(i), b(i)))));
      return s.get();
    };
    const first = le(iteration, 0);
    const y = (i: Int) => sub(grad.at(i), gradOld.at(i));
    const My = (i: Int) => sub(Mgrad.at(i), MgradOld.at(i));
    const direction = (i: Int) => search.at(i);
    const dy = dot(direction, y);
    const inverse = div(1, max(dy, mjMINVAL));
    const yMy = dot(y, My);
    const yMg = dot(y, (i) => Mgrad.at(i));
    const dg = dot(direction, (i) => grad.at(i));
    const hz = mul(sub(yMg, mul(mul(2, mul(yMy, inverse)), dg)), inverse);
    // bounded below, so that the direction does not become orthogonal to the gradient
    const norm = (f: Field) => sqrt(dotFields(f, f));
    const least = div(-1, max(mjMINVAL, mul(norm(search), min(LEAST_NORM, norm(grad)))));
    const beta = select(or(first, lt(dy, mjMINVAL)), 0, max(hz, least));
    each(nv, (i) => {
      const next = sub(mul(beta, search.at(i)), Mgrad.at(i));
      gradOld.set(i, grad.at(i));
      MgradOld.set(i, Mgrad.at(i));
      search.set(i, next);
    });
  }

  gradSearch(): Scalar {
    return dotFields(this.#grad, this.search);
  }

  eachGradSearch(add: ProductsOf): void {
    each(this.#nv, (i) => add.dof(i, mul(this.#grad.at(i), this.search.at(i))));
  }

  residualForce(): void {
    copyField(this.#gaussGrad, this.#d.qfrc_constraint);
  }

  sumForces(visit: Parameters<SolverSpace["sumForces"]>[0]): void {
    const total = this.#d.qfrc_constraint;
    each(this.#nv, (i) => total.set(i, 0));
    visit(
      (row, force) => {
        for (const { dof, value } of row.jac) total.set(dof, add(total.at(dof), mul(value, force)));
      },
      (slot, force) => this.#push(total, this.#contacts.jacobian(slot), force, 1),
    );
  }
}
