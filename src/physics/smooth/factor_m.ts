// the factors of the inertia matrix (mj_factorM); the loop is SymMatrix.factor in sparsity.ts
import type { WorldData } from "../view.ts";
import { copyField, SymMatrix, type Sparsity } from "./sparsity.ts";

/** Sparse LᵀDL factors of M (mj_factorM). Reads M; writes qLD, qLDiagInv. */
export function factorM(d: WorldData, sparsity: Sparsity): SymMatrix {
  copyField(d.M, d.qLD);
  const factors = new SymMatrix(sparsity, d.qLD);
  factors.factor(d.qLDiagInv);
  return factors;
}
