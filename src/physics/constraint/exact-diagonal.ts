// the diagonal of A = J M⁻¹ Jᵀ itself, instead of its estimate at qpos0 (the flag diagexact)
import { each } from "../../trace/control.ts";
import { add, mul, type Int, type Scalar } from "../../trace/scalar.ts";
import { mjtEnableBit } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { backboneOf, isDiscrete } from "./metric-weights.ts";
import { SymMatrix, treeSparsity, type Factored } from "../smooth/sparsity.ts";
import { Field, type ModelView, type WorldData } from "../view.ts";

/** Whether R of each constraint follows from the exact diagonal of A. */
export const hasExactDiagonal = (model: Model): boolean => (model.opt.enableflags & mjtEnableBit.DIAGEXACT) !== 0;

/** The factors of M of a world, which `factor_m` has made. */
const factorsOf = new WeakMap<WorldData, SymMatrix>();

function factorsOfM(m: ModelView, d: WorldData): Factored {
  const factors = factorsOf.get(d) ?? new SymMatrix(treeSparsity(m.model), d.qLD);
  factorsOf.set(d, factors);
  return { factors, diaginv: d.qLDiagInv };
}

/** J M⁻¹ Jᵀ of one row, M being the integrator's metric if it has one. Reads qLD, qLDiagInv. */
export function exactDiagonal(
  m: ModelView,
  d: WorldData,
  jac: readonly { readonly dof: Int; readonly value: Scalar }[],
): Scalar {
  const { factors, diaginv } = isDiscrete(m.model) ? backboneOf(d) : factorsOfM(m, d);
  const solved = new Field("exact_diagonal", m.nv);
  each(m.nv, (i) => solved.set(i, 0));
  for (const { dof, value } of jac) solved.set(dof, value);
  factors.solve(diaginv, solved);
  return jac.reduce<Scalar>((sum, { dof, value }) => add(sum, mul(value, solved.at(dof))), 0);
}
