// the forces of spatial tendons on the bodies along their paths
import { add, mul, neg, type Scalar } from "../../trace/scalar.ts";
import { spatial, type Spatial } from "../../trace/spatial.ts";
import { scale3, ZERO3, type Vec3 } from "../../trace/vector.ts";
import { mjtTrn } from "../../model/enums.ts";
import { tendonArmature } from "../smooth/coefficients.ts";
import type { ConstraintForces } from "../constraint/constraint-forces.ts";
import { tendonDamper, tendonSpring } from "../smooth/passive.ts";
import { listRows } from "../constraint/rows.ts";
import { spatialTendon, spatialTendonBias } from "./spatial-tendon.ts";
import { isFixed, tendonArms } from "./tendon.ts";
import type { WorldData, ModelView } from "../view.ts";

/** The force along a tendon: of its spring and damper, actuators, constraints, and the inertia of its armature. */
function tension(m: ModelView, d: WorldData, t: number, { rows, rowForce }: ConstraintForces): Scalar {
  const { model } = m;
  let force = add(tendonSpring(m, d, t), tendonDamper(m, d, t));
  for (let i = 0; i < m.nactuator; i++) {
    if (model.actuator_trntype[i] !== mjtTrn.TENDON || model.actuator_trnid[2 * i] !== t) continue;
    force = add(force, mul(m.actuator_gear.at(6 * i), d.actuator_force.at(i)));
  }
  listRows(rows).forEach((row, r) => {
    for (const { tendon, times } of row.tendons) {
      if (tendon === t) force = add(force, mul(times, rowForce(r)));
    }
  });
  const armature = tendonArmature(model, t);
  if (armature === 0) return force;
  let acceleration = spatialTendonBias(m, d, t);
  for (const { dof, coef } of tendonArms(m, d, t)) acceleration = add(acceleration, mul(coef, d.qacc.at(dof)));
  return add(force, neg(mul(armature, acceleration)));
}

/** What spatial tendons pull on each body with, and where, global. Reads what `tension` does, and ten_J, qacc. */
export function tendonPulls(
  m: ModelView,
  d: WorldData,
  forces: ConstraintForces,
): { body: number; pos: Vec3; wrench: Spatial }[] {
  return Array.from({ length: m.ntendon }, (_, t) => t)
    .filter((t) => !isFixed(m.model, t))
    .flatMap((t) => {
      const force = tension(m, d, t, forces);
      if (force === 0) return [];
      return spatialTendon(m, d, t)
        .pulls.filter(({ body }) => body !== 0)
        .map(({ body, pos, pull }) => ({ body, pos, wrench: spatial(ZERO3, scale3(pull, force)) }));
    });
}
