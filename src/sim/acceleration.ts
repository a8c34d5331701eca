import { each } from "../trace/control.ts";
import { add, dotn, sub, type Int, type Scalar } from "../trace/scalar.ts";
import { rotational, translational } from "../trace/spatial.ts";
import { pointJacobian } from "./jac.ts";
import { copyField, type SymMatrix } from "./pattern.ts";
import type { DataView, ModelView } from "./view.ts";

/**
 * Forces and accelerations without constraints (mj_fwdAcceleration, mj_xfrcAccumulate).
 * Reads qfrc_passive, qfrc_bias, qfrc_actuator, qfrc_applied, xfrc_applied; writes qfrc_smooth, qacc_smooth.
 */
export function acceleration(m: ModelView, d: DataView, factors: SymMatrix): void {
  each(m.nv, (i: Int) => {
    const inner = sub(d.qfrc_passive.at(i), d.qfrc_bias.at(i));
    d.qfrc_smooth.set(i, add(inner, add(d.qfrc_applied.at(i), d.qfrc_actuator.at(i))));
  });

  // a force and torque at the body's centre of mass, on each dof that moves it
  for (let body = 1; body < m.nbody; body++) {
    const applied = d.xfrc_applied.spatial(body);
    if (applied.every((x: Scalar) => x === 0)) continue;
    const [force, torque] = [rotational(applied), translational(applied)];
    for (const { dof, trans, rot } of pointJacobian(m, d, body, d.xipos.vec3(body))) {
      const work = add(dotn(trans, force), dotn(rot, torque));
      d.qfrc_smooth.set(dof, add(d.qfrc_smooth.at(dof), work));
    }
  }

  copyField(d.qfrc_smooth, d.qacc_smooth);
  factors.solve(d.qLDiagInv, d.qacc_smooth);
}
