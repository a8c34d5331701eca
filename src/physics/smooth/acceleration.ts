// forces and accelerations without constraints (mj_fwdAcceleration)
import { each } from "../../trace/control.ts";
import { add, sub, type Int } from "../../trace/scalar.ts";
import { rotational, translational } from "../../trace/spatial.ts";
import { aboutTree, alongDofs } from "./body-forces.ts";
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

  addApplied(m, d);
  inertia.smooth();
}

/** Forces and torques at bodies' centres of mass, summed up the trees. */
function addApplied(m: ModelView, d: WorldData): void {
  if (d.xfrc_applied.at(0) === 0) return;
  const wrench = new Field("xfrc_body", 6 * m.nbody, 6);
  each(m.nbody, (body) => {
    const applied = d.xfrc_applied.spatial(body);
    const [force, torque] = [rotational(applied), translational(applied)];
    wrench.setRow(body, aboutTree(m, d, body, torque, force, d.xipos.vec3(body)));
  });
  alongDofs(m, d, wrench, (i, force) => d.qfrc_smooth.set(i, add(d.qfrc_smooth.at(i), force)));
}
