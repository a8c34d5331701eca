// how the constraint solver holds its vectors and inverts its Hessian
import type { Bool, Int, Scalar } from "../../trace/scalar.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { Row, RowLaw } from "../constraint/rows.ts";
import type { Field } from "../view.ts";

/** The vectors over dofs that a contact's Jacobian is multiplied with. */
export type Along = "qvel" | "qacc" | "search";

/** One contact while the solver passes over it. */
export interface ContactAt {
  /** J x: along normal, tangents, torsion, roll. */
  times(x: Along): Scalar[];
  /** J M⁻¹ Jᵀ of each, estimated; an exact 0 if no dof moves that way. */
  mobility(): Scalar[];
}

/** What the solver does in its turns. */
export interface Turns {
  /** Newton's iterations at most. */
  readonly iterations: number;
  readonly done: { get(): Bool };
  /** From qacc_smooth to the better of the two known points. */
  start(): void;
  /** Adds rows and contacts to gradient and Hessian of the quadratic part. */
  assemble(): void;
  /** Line search and step, along `search`. */
  improve(iteration: Int): void;
  /** qfrc_constraint. */
  settle(): void;
}

/**
 * The quadratic part of the cost, 1/2 (qacc - qacc_smooth)ᵀ M (qacc - qacc_smooth), and what rows and contacts add to
 * its gradient and Hessian. Joint space holds matrices over dofs; body space holds none.
 */
export interface Space {
  readonly qacc: Field;
  readonly search: Field;
  /** Runs the turns: each sets `search` from gradient and Hessian at qacc. Leaves qfrc_constraint settled. */
  iterate(turns: Turns): void;
  /** The solver has set `qacc` to qacc_smooth, and `search`. */
  place(): void;
  contact(slot: Int): ContactAt;
  /** searchᵀ M search. */
  curvature(): Scalar;
  /** qacc += alpha * search, after `curvature` was asked for. */
  advance(alpha: Scalar): void;
  addRow(row: Row, law: RowLaw): void;
  addContact(index: Int, slot: Int, law: ContactLaw, at: ContactAt): void;
  /** gradientᵀ search. */
  slope(): Scalar;
  /** qfrc_constraint = M qacc - qfrc_smooth, which at the minimum is the force of the constraints. */
  residual(): void;
  /** qfrc_constraint = Jᵀ f of the rows and contacts that `each` names. */
  collect(
    each: (row: (row: Row, force: Scalar) => void, contact: (slot: Int, force: readonly Scalar[]) => void) => void,
  ): void;
}
