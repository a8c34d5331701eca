import { add, mul, type Scalar } from "../trace/scalar.ts";
import type { Model } from "../model/model.ts";
import type { DataView, ModelView } from "./view.ts";

/** One term of a fixed tendon: a joint's position times a constant. */
export interface TendonTerm {
  readonly qpos: number;
  readonly dof: number;
  readonly coef: number;
}

/** The joints of a fixed tendon. */
export function tendonTerms(model: Model, t: number): TendonTerm[] {
  const start = model.tendon_adr[t];
  return Array.from({ length: model.tendon_num[t] }, (_, k) => {
    const joint = model.wrap_objid[start + k];
    return {
      qpos: model.jnt_qposadr[joint],
      dof: model.jnt_dofadr[joint],
      coef: model.wrap_prm[start + k],
    };
  });
}

/** Lengths and velocities of fixed tendons (mj_tendon). Reads qpos, qvel; writes ten_length, ten_velocity. */
export function tendon(m: ModelView, d: DataView): void {
  for (let t = 0; t < m.ntendon; t++) {
    let length: Scalar = 0;
    let velocity: Scalar = 0;
    for (const { qpos, dof, coef } of tendonTerms(m.model, t)) {
      length = add(length, mul(coef, d.qpos.at(qpos)));
      velocity = add(velocity, mul(coef, d.qvel.at(dof)));
    }
    d.ten_length.set(t, length);
    d.ten_velocity.set(t, velocity);
  }
}

/** Moment arms of fixed tendons on their dofs, ascending, one row after the other (ten_J of mj_tendon). Writes ten_J. */
export function tendonJacobian(m: ModelView, d: DataView): void {
  let at = 0;
  for (let t = 0; t < m.ntendon; t++) {
    const row = new Map<number, number>();
    for (const { dof, coef } of tendonTerms(m.model, t)) row.set(dof, (row.get(dof) ?? 0) + coef);
    for (const [, coef] of [...row].sort(([a], [b]) => a - b)) d.ten_J.set(at++, coef);
  }
}
