import { add, mul, type Scalar } from "../trace/scalar.ts";
import type { Model } from "../model/model.ts";
import type { Pattern } from "./pattern.ts";
import type { DataView, ModelView } from "./view.ts";

/** Rate of a length per unit rate of a dof: a tendon's, or what an actuator pulls with. */
export interface Arm {
  readonly dof: number;
  readonly coef: Scalar;
}

/** Arms on the same dof added up, dofs ascending. */
export function addArms(arms: readonly Arm[]): Arm[] {
  const row = new Map<number, Scalar>();
  for (const { dof, coef } of arms) row.set(dof, add(row.get(dof) ?? 0, coef));
  return [...row].sort(([a], [b]) => a - b).map(([dof, coef]) => ({ dof, coef }));
}

/** A term of one entry of a matrix. */
export interface Entry {
  readonly entry: number;
  readonly value: Scalar;
}

/** armᵀ slope arm, without the entries that the pattern does not have (addJTBJSparse). */
export function outerProduct(arms: readonly Arm[], slope: Scalar, pattern: Pattern): Entry[] {
  const entries: Entry[] = [];
  for (const a of arms) {
    for (const b of arms) {
      if (b.dof > a.dof || !pattern.has(a.dof, b.dof)) continue;
      entries.push({ entry: pattern.index(a.dof, b.dof), value: mul(mul(a.coef, b.coef), slope) });
    }
  }
  return entries;
}

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

/** The row of a tendon's Jacobian, dofs ascending (ten_J). */
export function tendonArms(m: ModelView, _d: DataView, t: number): Arm[] {
  return addArms(tendonJoints(m.model, t).map(({ joint, coef }) => ({ dof: m.model.jnt_dofadr[joint], coef })));
}

/** Lengths and velocities of fixed tendons (mj_tendon). Reads qpos, qvel; writes ten_length, ten_velocity. */
export function tendon(m: ModelView, d: DataView): void {
  for (let t = 0; t < m.ntendon; t++) {
    let length: Scalar = 0;
    for (const { joint, coef } of tendonJoints(m.model, t)) {
      length = add(length, mul(coef, d.qpos.at(m.model.jnt_qposadr[joint])));
    }
    d.ten_length.set(t, length);
    let velocity: Scalar = 0;
    for (const { dof, coef } of tendonArms(m, d, t)) velocity = add(velocity, mul(coef, d.qvel.at(dof)));
    d.ten_velocity.set(t, velocity);
  }
}

/** Moment arms of fixed tendons on their dofs, one row after the other (ten_J of mj_tendon). Writes ten_J. */
export function tendonJacobian(m: ModelView, d: DataView): void {
  let at = 0;
  for (let t = 0; t < m.ntendon; t++) for (const { coef } of tendonArms(m, d, t)) d.ten_J.set(at++, coef);
}
