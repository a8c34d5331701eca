import { each } from "../trace/control.ts";
import { add, dotn, sub, type Int, type Scalar } from "../trace/scalar.ts";
import { cross, sub3, type Vec3 } from "../trace/vector.ts";
import { rotational, translational } from "../trace/spatial.ts";
import { bodyDofs } from "./contact_rows.ts";
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
    const point = d.xipos.vec3(body);
    for (const i of bodyDofs(m.model, body)) {
      const axis = d.cdof.spatial(i);
      const w = rotational(axis);
      const com = d.subtree_com.vec3(m.model.body_rootid[body]);
      const u = translational(axis).map((x, k) => add(x, cross(w, sub3(point, com))[k])) as unknown as Vec3;
      const work = add(dotn(u, force), dotn(w, torque));
      d.qfrc_smooth.set(i, add(d.qfrc_smooth.at(i), work));
    }
  }

  copyField(d.qfrc_smooth, d.qacc_smooth);
  factors.solve(d.qLDiagInv, d.qacc_smooth);
}
