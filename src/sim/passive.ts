import { each, when } from "../trace/control.ts";
import { add, eq, gt, lt, mul, ne, neg, or, select, sub, type Int, type Scalar } from "../trace/scalar.ts";
import { mulQuat, negQuat, normalizeQuat, scale3, ZERO3, type Quat } from "../trace/vector.ts";
import { mjtDisableBit, mjtJoint } from "../model/enums.ts";
import { aboutTree, alongDofs } from "./body_forces.ts";
import { fluid, hasFluid } from "./fluid.ts";
import { ballRotation } from "./rows.ts";
import { tendonArms } from "./tendon.ts";
import { Field, type DataView, type ModelView } from "./view.ts";

/**
 * Spring, damper, gravity compensation and fluid forces (mj_passive); actuators carry the gravity compensation where
 * jnt_actgravcomp says so. Reads qpos, qvel, ten_length, ten_velocity, xipos, subtree_com, cdof, and what `fluid` reads;
 * writes qfrc_spring, qfrc_damper, qfrc_gravcomp, qfrc_fluid, qfrc_passive.
 */
export function passive(m: ModelView, d: DataView): void {
  const off = (bit: number) => (m.opt.disableflags & bit) !== 0;
  each(m.nv, (i) => {
    d.qfrc_spring.set(i, 0);
    d.qfrc_damper.set(i, 0);
    d.qfrc_gravcomp.set(i, 0);
    d.qfrc_fluid.set(i, 0);
  });
  const [noSpring, noDamper] = [off(mjtDisableBit.SPRING), off(mjtDisableBit.DAMPER)];
  if (!noSpring) springs(m, d);
  if (!noDamper) dampers(m, d);
  // without both, MuJoCo leaves out all passive forces
  if (hasGravcomp(m) && !(noSpring && noDamper)) gravityCompensation(m, d);
  if (hasFluid(m.model)) fluid(m, d);
  each(m.nv, (i) => {
    const byActuators = ne(m.jnt_actgravcomp.at(m.dof_jntid.at(i)), 0);
    const held = select(byActuators, 0, d.qfrc_gravcomp.at(i));
    const resisted = add(add(d.qfrc_spring.at(i), d.qfrc_damper.at(i)), d.qfrc_fluid.at(i));
    d.qfrc_passive.set(i, add(resisted, held));
  });
}

/** Whether gravity compensation acts on anything. */
export function hasGravcomp(m: ModelView): boolean {
  return m.model.ngravcomp > 0 && !(m.opt.disableflags & mjtDisableBit.GRAVITY);
}

function springs(m: ModelView, d: DataView): void {
  const pull = (dof: Int, force: Scalar) => d.qfrc_spring.set(dof, add(d.qfrc_spring.at(dof), force));

  each(m.njnt, (j) => {
    const k = m.jnt_stiffness.at(j);
    const type = m.jnt_type.at(j);
    const pos = m.jnt_qposadr.at(j);
    const dof = m.jnt_dofadr.at(j);
    const straight = (q: Int, v: Int) => pull(v, mul(neg(k), sub(d.qpos.at(q), m.qpos_spring.at(q))));
    const turned = (q: Int, v: Int) => {
      const own = normalizeQuat(d.qpos.run(q, 4) as unknown as Quat);
      const rest = m.qpos_spring.run(q, 4) as unknown as Quat;
      const { axis, angle } = ballRotation(mulQuat(negQuat(rest), own));
      scale3(axis, mul(neg(k), angle)).forEach((f, c) => pull(add(v, c), f));
    };
    when(ne(k, 0), () => {
      when(eq(type, mjtJoint.FREE), () => {
        for (let c = 0; c < 3; c++) straight(add(pos, c), add(dof, c));
        turned(add(pos, 3), add(dof, 3));
      });
      when(eq(type, mjtJoint.BALL), () => turned(pos, dof));
      when(or(eq(type, mjtJoint.SLIDE), eq(type, mjtJoint.HINGE)), () => straight(pos, dof));
    });
  });

  for (let t = 0; t < m.ntendon; t++) {
    const force = tendonSpring(m, d, t);
    if (force !== 0) for (const { dof, coef } of tendonArms(m, d, t)) pull(dof, mul(coef, force));
  }
}

/** The force of a tendon's spring along it: none between the two rest lengths. Reads ten_length. */
export function tendonSpring({ model }: ModelView, d: DataView, t: number): Scalar {
  const k = model.opt.disableflags & mjtDisableBit.SPRING ? 0 : model.tendon_stiffness[t];
  if (k === 0) return 0;
  const [low, high] = [model.tendon_lengthspring[2 * t], model.tendon_lengthspring[2 * t + 1]];
  const length = d.ten_length.at(t);
  const stretch = select(gt(length, high), sub(high, length), select(lt(length, low), sub(low, length), 0));
  return mul(k, stretch);
}

/** The force of a tendon's damper along it. Reads ten_velocity. */
export function tendonDamper({ model }: ModelView, d: DataView, t: number): Scalar {
  const b = model.opt.disableflags & mjtDisableBit.DAMPER ? 0 : model.tendon_damping[t];
  return b === 0 ? 0 : mul(-b, d.ten_velocity.at(t));
}

function dampers(m: ModelView, d: DataView): void {
  each(m.nv, (i) => d.qfrc_damper.set(i, mul(neg(m.dof_damping.at(i)), d.qvel.at(i))));
  for (let t = 0; t < m.ntendon; t++) {
    const force = tendonDamper(m, d, t);
    if (force === 0) continue;
    for (const { dof, coef } of tendonArms(m, d, t)) {
      d.qfrc_damper.set(dof, add(d.qfrc_damper.at(dof), mul(coef, force)));
    }
  }
}

/** A force on each body that holds part of its weight, summed up the trees and taken along each dof. */
function gravityCompensation(m: ModelView, d: DataView): void {
  const lift = new Field("gravcomp", 6 * m.nbody);
  each(m.nbody, (b) => {
    const force = scale3(m.gravity, neg(mul(m.body_gravcomp.at(b), m.body_mass.at(b))));
    lift.setRow(b, aboutTree(m, d, b, ZERO3, force, d.xipos.vec3(b)));
  });
  alongDofs(m, d, lift, d.qfrc_gravcomp);
}
