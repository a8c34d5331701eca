// springs, dampers, gravity compensation, fluid and adhesion (mj_passive)
import { each, table, when } from "../../trace/control.ts";
import {
  add,
  gt,
  lt,
  mul,
  ne,
  neg,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { mulQuat, negQuat, normalizeQuat, scale3, ZERO3, type Quat } from "../../trace/vector.ts";
import { mjtDisableBit, mjtJoint } from "../../model/enums.ts";
import {
  dofDamping,
  isZero,
  jointStiffness,
  polyForce,
  polyTable,
  tendonDamping,
  tendonStiffness,
} from "./coefficients.ts";
import type { ContactSlots } from "../collision/contact-slots.ts";
import { adhesion } from "./normal-forces.ts";
import { aboutTree, alongDofs } from "./body-forces.ts";
import { fluid, hasFluid } from "./fluid.ts";
import { ballRotation } from "../constraint/rows.ts";
import { tendonArms } from "../tendon/tendon.ts";
import { isJoint } from "./kinematics.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/**
 * Spring, damper, gravity compensation, fluid and adhesion forces (mj_passive); actuators carry the gravity compensation where
 * jnt_actgravcomp says so. Reads qpos, qvel, ten_length, ten_velocity, xipos, subtree_com, cdof, and what `fluid` reads;
 * writes qfrc_spring, qfrc_damper, qfrc_gravcomp, qfrc_fluid, qfrc_adhesion, qfrc_passive.
 */
export function passive(m: ModelView, d: WorldData, slots?: ContactSlots): void {
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
  adhesion(m, d, slots);
  each(m.nv, (i) => {
    const byActuators = ne(m.jnt_actgravcomp.at(m.dof_jntid.at(i)), 0);
    const held = select(byActuators, 0, d.qfrc_gravcomp.at(i));
    const resisted = add(add(d.qfrc_spring.at(i), d.qfrc_damper.at(i)), d.qfrc_fluid.at(i));
    d.qfrc_passive.set(i, add(add(resisted, d.qfrc_adhesion.at(i)), held));
  });
}

/** Whether gravity compensation acts on anything. */
export function hasGravcomp(m: ModelView): boolean {
  return m.model.ngravcomp > 0 && !(m.opt.disableflags & mjtDisableBit.GRAVITY);
}

function springs(m: ModelView, d: WorldData): void {
  const pull = (dof: Int, force: Scalar) => d.qfrc_spring.set(dof, add(d.qfrc_spring.at(dof), force));

  const joints = Array.from({ length: m.njnt }, (_, j) => jointStiffness(m, j));
  const stiffness = polyTable("jnt_stiffness", joints);
  const isSpring = table(
    "is_spring",
    joints.map((k) => (isZero(k) ? 0 : 1)),
    "i32",
  );
  each(m.njnt, (j) => {
    const k = stiffness(j);
    // springs of more than one coordinate stiffen with how far they are stretched
    const stiffening = k.poly.some((p) => p !== 0);
    const factor = (offsets: readonly Scalar[]) => neg(stiffening ? polyForce(k, norm(offsets), false) : k.linear);
    const type = m.jnt_type.at(j);
    const pos = m.jnt_qposadr.at(j);
    const dof = m.jnt_dofadr.at(j);
    const offset = (q: Int) => sub(d.qpos.at(q), m.qpos_spring.at(q));
    const turned = (q: Int, v: Int) => {
      const own = normalizeQuat(d.qpos.run(q, 4) as unknown as Quat);
      const rest = m.qpos_spring.run(q, 4) as unknown as Quat;
      const { axis, angle } = ballRotation(mulQuat(negQuat(rest), own));
      scale3(axis, mul(factor([angle]), angle)).forEach((f, c) => pull(add(v, c), f));
    };
    when(ne(isSpring(j), 0), () => {
      when(isJoint(m, type, mjtJoint.FREE), () => {
        const offsets = [0, 1, 2].map((c) => offset(add(pos, c)));
        offsets.forEach((x, c) => pull(add(dof, c), mul(factor(offsets), x)));
        turned(add(pos, 3), add(dof, 3));
      });
      when(isJoint(m, type, mjtJoint.BALL), () => turned(pos, dof));
      when(or(isJoint(m, type, mjtJoint.SLIDE), isJoint(m, type, mjtJoint.HINGE)), () => {
        const x = offset(pos);
        pull(dof, mul(neg(polyForce(k, x, false)), x));
      });
    });
  });

  for (let t = 0; t < m.ntendon; t++) {
    const force = tendonSpring(m, d, t);
    if (force !== 0) for (const { dof, coef } of tendonArms(m, d, t)) pull(dof, mul(coef, force));
  }
}

/** The force of a tendon's spring along it: none between the two rest lengths. Reads ten_length. */
export function tendonSpring(m: ModelView, d: WorldData, t: number): Scalar {
  const { model } = m;
  const k = tendonStiffness(m, t);
  if (isZero(k) || model.opt.disableflags & mjtDisableBit.SPRING) return 0;
  const [low, high] = [model.tendon_lengthspring[2 * t], model.tendon_lengthspring[2 * t + 1]];
  const length = d.ten_length.at(t);
  const x = select(gt(length, high), sub(length, high), select(lt(length, low), sub(length, low), 0));
  return neg(mul(polyForce(k, x, false), x));
}

/** The force of a tendon's damper along it. Reads ten_velocity. */
export function tendonDamper(m: ModelView, d: WorldData, t: number): Scalar {
  const { model } = m;
  const b = tendonDamping(m, t);
  if (isZero(b) || model.opt.disableflags & mjtDisableBit.DAMPER) return 0;
  const v = d.ten_velocity.at(t);
  return neg(mul(polyForce(b, v, true), v));
}

function dampers(m: ModelView, d: WorldData): void {
  const damping = polyTable(
    "dof_damping",
    Array.from({ length: m.nv }, (_, i) => dofDamping(m, i)),
  );
  each(m.nv, (i) => {
    const v = d.qvel.at(i);
    d.qfrc_damper.set(i, mul(neg(polyForce(damping(i), v, true)), v));
  });
  for (let t = 0; t < m.ntendon; t++) {
    const force = tendonDamper(m, d, t);
    if (force === 0) continue;
    for (const { dof, coef } of tendonArms(m, d, t)) {
      d.qfrc_damper.set(dof, add(d.qfrc_damper.at(dof), mul(coef, force)));
    }
  }
}

const norm = (x: readonly Scalar[]): Scalar => (x.length === 1 ? x[0] : sqrt(sum(x.map(square))));

/** A force on each body that holds part of its weight, summed up the trees and taken along each dof. */
function gravityCompensation(m: ModelView, d: WorldData): void {
  const lift = new Field("gravcomp", 6 * m.nbody, 6);
  each(m.nbody, (b) => {
    const force = scale3(m.gravity, neg(mul(m.body_gravcomp.at(b), m.body_mass.at(b))));
    lift.setRow(b, aboutTree(m, d, b, ZERO3, force, d.xipos.vec3(b)));
  });
  alongDofs(m, d, lift, (dof, force) => d.qfrc_gravcomp.set(dof, force));
}
