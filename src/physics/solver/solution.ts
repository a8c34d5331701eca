// what constraint solvers leave, and which of them a model asks for
import type { Int, Scalar } from "../../trace/scalar.ts";
import { mjtSolver } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";

/** What the solve leaves for later stages. */
export interface Solution {
  /** Force of a row, by its place in `listRows`. */
  readonly rowForce: (row: number) => Scalar;
  /** Wrench of a contact in its frame. */
  contactForce(index: Int, slot: Int): readonly Scalar[];
  readonly niter: Int;
}

/** What a primal solver leaves. */
export interface PrimalSolution extends Solution {
  /** J qacc - aref of a contact's rows, of which its force is. */
  Jaref(index: Int): Scalar[];
}

/** Whether constraints are solved on the dual, in part at least: that takes M and its factors. */
export const solvesDual = ({ opt }: Model): boolean => opt.solver === mjtSolver.PGS || opt.noslip_iterations > 0;
