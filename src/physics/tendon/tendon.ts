// lengths, velocities and moment arms of tendons (mj_tendon)
import { add, mul, ne, or, type Bool, type Scalar } from "../../trace/scalar.ts";
import { mjtJacobian, mjtWrap } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { addArms, type Arm } from "./moment-arms.ts";
import { isLoose, pullArms, spatialTendon } from "./spatial-tendon.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Dofs from which MuJoCo's Jacobians are sparse, if it chooses (mj_isSparse). */
const SPARSE_FROM = 60;

/** Whether a tendon is a weighted sum of joint positions rather than a path in space. */
export const isFixed = (model: Model, t: number): boolean => model.wrap_type[model.tendon_adr[t]] === mjtWrap.JOINT;

/** The joints of a fixed tendon, each with its coefficient. */
function tendonJoints(model: Model, t: number): { joint: number; coef: number }[] {
  const start = model.tendon_adr[t];
  return Array.from({ length: model.tendon_num[t] }, (_, k) => ({
    joint: model.wrap_objid[start + k],
    coef: model.wrap_prm[start + k],
  }));
}

/** The dofs that may change a tendon's length, ascending (ten_J_colind). */
export function tendonDofs(model: Model, t: number): number[] {
  return Array.from({ length: model.ten_J_rownnz[t] }, (_, k) => model.ten_J_colind[model.ten_J_rowadr[t] + k]);
}

/** The row of a tendon's Jacobian, dofs ascending: constants of a fixed one, ten_J of a spatial one. */
export function tendonArms(m: ModelView, d: WorldData, t: number): Arm[] {
  const { model } = m;
  if (isFixed(model, t)) {
    return addArms(tendonJoints(model, t).map(({ joint, coef }) => ({ dof: model.jnt_dofadr[joint], coef })));
  }
  return tendonDofs(model, t).map((dof, k) => ({ dof, coef: d.ten_J.at(model.ten_J_rowadr[t] + k) }));
}

/** Whether MuJoCo's rows are dense: it makes none of zeros alone. */
export function isDense({ opt: { jacobian }, nv }: Model): boolean {
  return jacobian === mjtJacobian.DENSE || (jacobian === mjtJacobian.AUTO && nv < SPARSE_FROM);
}

/** Whether a tendon has rows of its own in this state. */
export function hasRows(m: ModelView, d: WorldData, t: number): Bool {
  const { model } = m;
  const arms = tendonArms(m, d, t);
  if (!isDense(model) || !(isFixed(model, t) || isLoose(model, t))) return arms.length > 0;
  return arms.map(({ coef }) => ne(coef, 0)).reduce<Bool>(or, false);
}

/**
 * Lengths and velocities of tendons, and the Jacobians of spatial ones (mj_tendon). Reads qpos, qvel, site_xpos,
 * geom_xpos, geom_xmat, cdof, subtree_com; writes ten_length, ten_velocity, ten_J.
 */
export function tendon(m: ModelView, d: WorldData): void {
  const { model } = m;
  for (let t = 0; t < m.ntendon; t++) {
    let length: Scalar = 0;
    if (isFixed(model, t)) {
      for (const { joint, coef } of tendonJoints(model, t)) {
        length = add(length, mul(coef, d.qpos.at(model.jnt_qposadr[joint])));
      }
    } else {
      const path = spatialTendon(m, d, t);
      ({ length } = path);
      const arms = new Map(pullArms(m, d, path.pulls).map(({ dof, coef }) => [dof, coef]));
      tendonDofs(model, t).forEach((dof, k) => d.ten_J.set(model.ten_J_rowadr[t] + k, arms.get(dof) ?? 0));
    }
    d.ten_length.set(t, length);
    let velocity: Scalar = 0;
    for (const { dof, coef } of tendonArms(m, d, t)) velocity = add(velocity, mul(coef, d.qvel.at(dof)));
    d.ten_velocity.set(t, velocity);
  }
}

/** The Jacobians of fixed tendons, which are constant (ten_J of mj_tendon). Writes ten_J. */
export function tendonJacobian(m: ModelView, d: WorldData): void {
  for (let t = 0; t < m.ntendon; t++) {
    if (!isFixed(m.model, t)) continue;
    tendonArms(m, d, t).forEach(({ coef }, k) => d.ten_J.set(m.model.ten_J_rowadr[t] + k, coef));
  }
}
