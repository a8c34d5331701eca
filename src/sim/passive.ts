import { add, gt, lt, mul, select, sub, type Scalar } from "../trace/scalar.ts";
import { cross, dot3, mulQuat, negQuat, normalizeQuat, scale3, sub3, type Quat, type Vec3 } from "../trace/vector.ts";
import { rotational, translational } from "../trace/spatial.ts";
import { mjtDisableBit, mjtJoint } from "../model/enums.ts";
import { bodyDofs } from "./contact_rows.ts";
import { ballRotation } from "./rows.ts";
import { tendonTerms } from "./tendon.ts";
import type { DataView, ModelView } from "./view.ts";

/**
 * Spring, damper and gravity compensation forces (mj_passive); actuators carry the last where jnt_actgravcomp says so.
 * Reads qpos, qvel, ten_length, ten_velocity, xipos, cdof; writes qfrc_spring, qfrc_damper, qfrc_gravcomp, qfrc_passive.
 */
export function passive(m: ModelView, d: DataView): void {
  const off = (bit: number) => (m.opt.disableflags & bit) !== 0;
  for (let i = 0; i < m.nv; i++) {
    d.qfrc_spring.set(i, 0);
    d.qfrc_damper.set(i, 0);
    d.qfrc_gravcomp.set(i, 0);
  }
  const [noSpring, noDamper] = [off(mjtDisableBit.SPRING), off(mjtDisableBit.DAMPER)];
  if (!noSpring) springs(m, d);
  if (!noDamper) dampers(m, d);
  // without both, MuJoCo leaves out all passive forces
  if (hasGravcomp(m) && !(noSpring && noDamper)) gravityCompensation(m, d);
  for (let i = 0; i < m.nv; i++) {
    const held = m.model.jnt_actgravcomp[m.model.dof_jntid[i]] ? 0 : d.qfrc_gravcomp.at(i);
    d.qfrc_passive.set(i, add(add(d.qfrc_spring.at(i), d.qfrc_damper.at(i)), held));
  }
}

/** Whether gravity compensation acts on anything. */
export function hasGravcomp(m: ModelView): boolean {
  return m.model.ngravcomp > 0 && !(m.opt.disableflags & mjtDisableBit.GRAVITY);
}

function springs(m: ModelView, d: DataView): void {
  const { model } = m;
  const rest = (i: number) => model.qpos_spring[i];
  const pull = (dof: number, force: Scalar) => d.qfrc_spring.set(dof, add(d.qfrc_spring.at(dof), force));

  for (let j = 0; j < m.njnt; j++) {
    const k = model.jnt_stiffness[j];
    if (k === 0) continue;
    const pos = model.jnt_qposadr[j];
    const dof = model.jnt_dofadr[j];
    const straight = (q: number, v: number) => pull(v, mul(-k, sub(d.qpos.at(q), rest(q))));
    const turned = (q: number, v: number) => {
      const own = normalizeQuat(d.qpos.run(q, 4) as unknown as Quat);
      const spring = [0, 1, 2, 3].map((c) => rest(q + c)) as unknown as Quat;
      const { axis, angle } = ballRotation(mulQuat(negQuat(spring), own));
      scale3(axis, mul(-k, angle)).forEach((f, c) => pull(v + c, f));
    };
    switch (model.jnt_type[j]) {
      case mjtJoint.FREE:
        for (let c = 0; c < 3; c++) straight(pos + c, dof + c);
        turned(pos + 3, dof + 3);
        break;
      case mjtJoint.BALL:
        turned(pos, dof);
        break;
      default:
        straight(pos, dof);
    }
  }

  for (let t = 0; t < m.ntendon; t++) {
    const k = model.tendon_stiffness[t];
    if (k === 0) continue;
    // no force between the two rest lengths
    const [low, high] = [model.tendon_lengthspring[2 * t], model.tendon_lengthspring[2 * t + 1]];
    const length = d.ten_length.at(t);
    const stretch = select(gt(length, high), sub(high, length), select(lt(length, low), sub(low, length), 0));
    for (const { dof, coef } of tendonTerms(model, t)) pull(dof, mul(coef, mul(k, stretch)));
  }
}

function dampers(m: ModelView, d: DataView): void {
  const { model } = m;
  for (let i = 0; i < m.nv; i++) {
    if (model.dof_damping[i] !== 0) d.qfrc_damper.set(i, mul(-model.dof_damping[i], d.qvel.at(i)));
  }
  for (let t = 0; t < m.ntendon; t++) {
    const b = model.tendon_damping[t];
    if (b === 0) continue;
    for (const { dof, coef } of tendonTerms(model, t)) {
      const force = mul(coef, mul(-b, d.ten_velocity.at(t)));
      d.qfrc_damper.set(dof, add(d.qfrc_damper.at(dof), force));
    }
  }
}

/** A force on each body that holds part of its weight. */
function gravityCompensation(m: ModelView, d: DataView): void {
  const { model } = m;
  for (let b = 1; b < m.nbody; b++) {
    const share = model.body_gravcomp[b] * model.body_mass[b];
    if (share === 0) continue;
    const force = scale3(m.gravity, -share);
    const arm = sub3(d.xipos.vec3(b), d.subtree_com.vec3(model.body_rootid[b]));
    for (const i of bodyDofs(model, b)) {
      const axis = d.cdof.spatial(i);
      const turn = cross(rotational(axis), arm);
      const speed = translational(axis).map((x, k) => add(x, turn[k])) as unknown as Vec3;
      d.qfrc_gravcomp.set(i, add(d.qfrc_gravcomp.at(i), dot3(speed, force)));
    }
  }
}
