import { each } from "../../trace/control.ts";
import { add, dotn, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import { unrolling } from "../../trace/graph.ts";
import { rotational, spatial, translational } from "../../trace/spatial.ts";
import { add3, cross, sub3 } from "../../trace/vector.ts";
import { alongDofs } from "./body-forces.ts";
import { pointJacobian } from "./jac.ts";
import type { Inertia } from "./inertia.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/**
 * Forces and accelerations without constraints (mj_fwdAcceleration, mj_xfrcAccumulate).
 * Reads qfrc_passive, qfrc_bias, qfrc_actuator, qfrc_applied, xfrc_applied; writes qfrc_smooth, qacc_smooth.
 */
export function acceleration(m: ModelView, d: WorldData, inertia: Inertia): void {
  each(m.nv, (i: Int) => {
    const inner = sub(d.qfrc_passive.at(i), d.qfrc_bias.at(i));
    d.qfrc_smooth.set(i, add(inner, add(d.qfrc_applied.at(i), d.qfrc_actuator.at(i))));
  });

  if (unrolling()) appliedInLine(m, d);
  else if (!(d.xfrc_applied.at(0) === 0)) appliedInLoops(m, d);
  inertia.smooth();
}

/** A force and torque at a body's centre of mass, on each dof that moves it. */
function appliedInLine(m: ModelView, d: WorldData): void {
  for (let body = 1; body < m.nbody; body++) {
    const applied = d.xfrc_applied.spatial(body);
    if (applied.every((x: Scalar) => x === 0)) continue;
    const [force, torque] = [rotational(applied), translational(applied)];
    for (const { dof, trans, rot } of pointJacobian(m, d, body, d.xipos.vec3(body))) {
      const work = add(dotn(trans, force), dotn(rot, torque));
      d.qfrc_smooth.set(dof, add(d.qfrc_smooth.at(dof), work));
    }
  }
}

/** The same, summed up the trees. */
function appliedInLoops(m: ModelView, d: WorldData): void {
  const wrench = new Field("xfrc_body", 6 * m.nbody, 6);
  each(m.nbody, (body) => {
    const applied = d.xfrc_applied.spatial(body);
    const [force, torque] = [rotational(applied), translational(applied)];
    const arm = sub3(d.xipos.vec3(body), d.subtree_com.vec3(m.body_rootid.at(body)));
    wrench.setRow(body, spatial(add3(torque, cross(arm, force)), force));
  });
  alongDofs(m, d, wrench, (i, force) => d.qfrc_smooth.set(i, add(d.qfrc_smooth.at(i), force)));
}
