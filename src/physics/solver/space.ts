// how the constraint solver holds qacc, search, grad and H
import type { flag } from "../../trace/control.ts";
import type { Bool, Int, Scalar } from "../../trace/scalar.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { Row, RowLaw } from "../constraint/rows.ts";
import type { Field } from "../view.ts";

/** The vectors over dofs that a contact's Jacobian is multiplied with. */
export type DofVector = "qvel" | "qacc" | "search";

/** Lists of dofs, each of which one term couples. */
export type Coupled = readonly (readonly number[])[];

/** One contact while the solver passes over it. */
export interface ContactAt {
  /** J x: along normal, tangents, torsion, roll. */
  times(x: DofVector): Scalar[];
  /** The diagonal of J M⁻¹ Jᵀ, estimated; an exact 0 where no dof moves the contact. */
  diagA(): Scalar[];
  /** Makes rows of a kept Jacobian zero that no dof moves. */
  clear?(isMovable: (direction: number) => Bool): void;
}

/** What frames the iterations. */
export interface Frame {
  /** Iterations at most. */
  readonly iterations: number;
  readonly done: { get(): Bool };
  /** Whether the iterations came to the minimum. */
  readonly converged: { get(): Bool };
  /** Sets qacc to its starting point, once qacc_smooth is known. */
  start(): void;
  /** Writes qfrc_constraint, at the end. */
  finish(): void;
}

/** Takes products of vectors: over dofs, and over bodies. */
export interface ProductsOf {
  dof(i: Int, x: Scalar): void;
  body(b: Int, x: Scalar): void;
}

/**
 * Emits its argument for Newton's iterations only: body space runs the same loop body for qacc_smooth before them, and for
 * the implicit step after (TURN in body-space.ts).
 */
export type InLoop = (body: () => void) => void;

/**
 * The Gauss cost 1/2 (qacc - qacc_smooth)ᵀ M (qacc - qacc_smooth), and what constraints add to its gradient and Hessian.
 * Joint space holds M, Ma and H over dofs; body space holds no matrix.
 */
export interface SolverSpace {
  readonly qacc: Field;
  readonly search: Field;
  /** Whether H⁻¹ grad beside stiff constraints is inexact, by iterations of its own or by rounding, so that one step need not be exact. */
  readonly isInexact: boolean;
  /** Set where the next direction need not be exact, since another will follow it. */
  readonly isRough?: ReturnType<typeof flag> | undefined;
  iterate(frame: Frame, body: (inLoop: InLoop, iteration: () => Int) => void): void;
  /** Call once qacc = qacc_smooth and `search` are set: Ma - qfrc_smooth starts at 0. */
  startAtSmooth(): void;
  /** The contact of a slot; `isFirst` in the step's first pass over contacts. */
  contact(slot: Int, index: Int, isFirst?: boolean): ContactAt;
  /** x = M⁻¹ x; joint space alone. */
  solveM?(x: Field): void;
  /** The same with all of a metric of which `solveM` takes a part alone. */
  readonly solveWhole?: ((x: Field) => void) | undefined;
  /** grad = Ma - qfrc_smooth, H = M. */
  startGrad(): void;
  /** grad -= Jᵀ force, H += Jᵀ hessian J. */
  addRow(row: Row, law: RowLaw): void;
  addContact(index: Int, slot: Int, law: ContactLaw, at: ContactAt): void;
  /** search = -H⁻¹ grad; for CG the direction of Hager and Zhang, preconditioned by M. */
  setSearch(): void;
  /** gradᵀ search. */
  gradSearch(): Scalar;
  /** The products that add up to it, of dofs and bodies. */
  eachGradSearch(add: ProductsOf): void;
  /** searchᵀ M search, weighted. Forms Mv, which `move` needs. */
  searchMv(): Scalar;
  /** Multiplies what `search` has of dofs and bodies by a factor of their tree. */
  restrict(dof: (i: Int) => Scalar, body: (b: Int) => Scalar): void;
  /** qacc += alpha search, Ma += alpha Mv; `searchMv` was called before. */
  move(alpha: Scalar): void;
  /** qfrc_constraint = Ma - qfrc_smooth, which at the minimum is the force of the constraints. */
  residualForce(): void;
  /** qfrc_constraint = Jᵀ f of the rows and contacts that `each` names. Stiff rows multiply what rounds in qacc. */
  sumForces(
    each: (row: (row: Row, force: Scalar) => void, contact: (slot: Int, force: readonly Scalar[]) => void) => void,
  ): void;
}
