// the inertia matrix by composite rigid bodies (mj_crb)
import { each } from "../../trace/control.ts";
import { add, eq, select, type Int } from "../../trace/scalar.ts";
import { dot6, mulInertVec } from "../../trace/spatial.ts";
import { dofArmatures, tendonArmature } from "./coefficients.ts";
import { sumUp } from "./each-body.ts";
import { copyField, SymMatrix, type Sparsity } from "./sparsity.ts";
import { compositeMotions, hasLightDofs, type CompositeMotion } from "./own-centres.ts";
import { outerProduct } from "../tendon/moment-arms.ts";
import { tendonArms } from "../tendon/tendon.ts";
import type { WorldData, ModelView } from "../view.ts";

/**
 * The joint-space inertia matrix by composite rigid bodies (mj_crb), lower triangle by rows of the tree's sparsity.
 * Reads cinert, cdof, ten_J, and ximat, xipos, subtree_com, xanchor where dofs are light; writes crb, M.
 */
export function crb(m: ModelView, d: WorldData, sparsity: Sparsity): SymMatrix {
  copyField(d.cinert, d.crb);
  sumUp(m, d.crb);
  // the world has no composite inertia, in MuJoCo neither
  d.crb.setRow(0, Array(10).fill(0));

  const M = new SymMatrix(sparsity, d.M);
  const armatures = dofArmatures(m);
  const motions = hasLightDofs(m.model) ? compositeMotions(m, d) : treeMotions(m, d);
  each(m.nv, (i) => {
    const motion = motions(i);
    M.row(i, (entry, j) => d.M.set(entry, add(motion.along(j), select(eq(i, j), armatures(i), 0))));
  });
  addTendonArmature(m, d, M);
  return M;
}

/** The momentum of composite bodies about the tree's centre of mass. */
const treeMotions =
  (m: ModelView, d: WorldData) =>
  (i: Int): CompositeMotion => {
    const momentum = mulInertVec(d.crb.inertia(m.dof_bodyid.at(i)), d.cdof.spatial(i));
    return { along: (j) => dot6(d.cdof.spatial(j), momentum) };
  };

/** M += armature ten_Jᵀ ten_J on M's sparsity (mj_tendonArmature). Reads ten_J. */
function addTendonArmature(m: ModelView, d: WorldData, M: SymMatrix): void {
  for (let t = 0; t < m.ntendon; t++) {
    const armature = tendonArmature(m.model, t);
    if (armature !== 0) {
      for (const { entry, value } of outerProduct(tendonArms(m, d, t), armature, M.sparsity)) {
        d.M.set(entry, add(d.M.at(entry), value));
      }
    }
  }
}
