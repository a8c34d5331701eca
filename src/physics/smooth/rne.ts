// bias forces by recursive Newton-Euler (mj_rne)
import { add, mul } from "../../trace/scalar.ts";
import { add6, crossForce, mulInertVec, scale6, ZERO6, type Spatial } from "../../trace/spatial.ts";
import { neg3 } from "../../trace/vector.ts";
import { mjtDisableBit } from "../../model/enums.ts";
import { tendonArmature } from "./coefficients.ts";
import { alongDofs } from "./body-forces.ts";
import { eachBodyDown, eachDof, movingSpatial } from "./each-body.ts";
import { spatialTendonBias } from "../tendon/spatial-tendon.ts";
import { isFixed, tendonArms } from "../tendon/tendon.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/** Spatial acceleration of the world frame: gravity as an upward acceleration. */
export function worldAcceleration(m: ModelView): Spatial {
  return m.opt.disableflags & mjtDisableBit.GRAVITY ? ZERO6 : [0, 0, 0, ...neg3(m.gravity)];
}

/**
 * Bias forces by recursive Newton-Euler without joint accelerations (mj_rne, flg_acc = 0).
 * Reads cdof, cdof_dot, cvel, cinert, qvel; writes qfrc_bias.
 */
export function rne(m: ModelView, d: WorldData): void {
  // without joint accelerations: not the cacc and cfrc_int that sensors read
  const cacc = new Field("cacc_bias", 6 * m.nbody, 6);
  const cfrc = new Field("cfrc_bias", 6 * m.nbody, 6);
  cacc.setRow(0, worldAcceleration(m));
  cfrc.setRow(0, ZERO6);

  eachBodyDown(m, (i, parent) => {
    const a = movingSpatial("cacc", cacc.spatial(parent));
    eachDof(m, i, (dof) => a.add(scale6(d.cdof_dot.spatial(dof), d.qvel.at(dof))));
    cacc.setRow(i, a.get());

    const inertia = d.cinert.inertia(i);
    const v = d.cvel.spatial(i);
    cfrc.setRow(i, add6(mulInertVec(inertia, a.get()), crossForce(v, mulInertVec(inertia, v))));
  });
  alongDofs(m, d, cfrc, (dof, force) => d.qfrc_bias.set(dof, force));
  addTendonBias(m, d);
}

/** What the armature of spatial tendons adds, whose arms change as they move (mj_tendonBias). */
function addTendonBias(m: ModelView, d: WorldData): void {
  for (let t = 0; t < m.ntendon; t++) {
    const armature = tendonArmature(m.model, t);
    if (armature === 0 || isFixed(m.model, t)) continue;
    const force = mul(armature, spatialTendonBias(m, d, t));
    for (const { dof, coef } of tendonArms(m, d, t)) d.qfrc_bias.set(dof, add(d.qfrc_bias.at(dof), mul(coef, force)));
  }
}
