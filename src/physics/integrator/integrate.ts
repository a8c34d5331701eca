// positions and activations after a time step (mj_integratePos, mj_nextActivation)
import { each, when } from "../../trace/control.ts";
import { add, mul, type Int, type Scalar } from "../../trace/scalar.ts";
import { mulQuat, normalize3, normalizeQuat, type Quat, type Vec3 } from "../../trace/vector.ts";
import { mjtDisableBit, mjtDyn, mjtJoint } from "../../model/enums.ts";
import { actuatorDisabled, nearestSetpoint, nextActivation } from "../actuator/actuation.ts";
import { axisAngle, isJoint } from "../smooth/kinematics.ts";
import { copyField } from "../smooth/sparsity.ts";
import type { Inertia } from "../smooth/inertia.ts";
import { freeBodyAccelerations } from "./free-body.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/** A quaternion turned by an angular velocity for a time (mju_quatIntegrate). */
function quatIntegrate(q: Quat, velocity: Vec3, time: Scalar): Quat {
  const { unit, length } = normalize3(velocity);
  return normalizeQuat(mulQuat(q, axisAngle(unit, mul(length, time))));
}

/** to = from moved along `velocity` for `time` (mj_integratePos). `from` and `to` may be the same. */
export function integratePos(m: ModelView, from: Field, to: Field, velocity: (dof: Int) => Scalar, time: Scalar): void {
  each(m.njnt, (j) => {
    const type = m.jnt_type.at(j);
    const pos = m.jnt_qposadr.at(j);
    const dof = m.jnt_dofadr.at(j);
    const three = (start: Int) => [0, 1, 2].map((k) => velocity(add(start, k))) as unknown as Vec3;
    const move = (q: Int, v: Int) => to.set(q, add(from.at(q), mul(time, velocity(v))));
    const turn = (q: Int, v: Int) => {
      const next = quatIntegrate(from.run(q, 4) as unknown as Quat, three(v), time);
      next.forEach((x, k) => to.set(add(q, k), x));
    };

    when(isJoint(m, type, mjtJoint.FREE), () => {
      for (let k = 0; k < 3; k++) move(add(pos, k), add(dof, k));
      turn(add(pos, 3), add(dof, 3));
    });
    when(isJoint(m, type, mjtJoint.BALL), () => turn(pos, dof));
    when(isJoint(m, type, mjtJoint.SLIDE), () => move(pos, dof));
    when(isJoint(m, type, mjtJoint.HINGE), () => move(pos, dof));
  });
}

/**
 * Accelerations for the velocity update: implicit in joint damping (Euler) or in the velocity derivatives of passive
 * and actuator forces (implicitfast), and of the bias forces too (implicit). Reads M, qacc, qfrc_smooth, qfrc_constraint.
 */
function implicitAcceleration(m: ModelView, d: WorldData, inertia: Inertia): Field {
  const implicit = inertia.implicit();
  if (!implicit) return d.qacc;
  const force = new Field("qacc_implicit", m.nv);
  each(m.nv, (i) => force.set(i, add(d.qfrc_smooth.at(i), d.qfrc_constraint.at(i))));
  const free = freeBodyAccelerations(m, d, inertia, force);
  const qacc = implicit.accelerations(force);
  for (const [dof, value] of free) qacc.set(dof, value);
  return qacc;
}

/** Semi-implicit step: velocities, then positions with the new velocities (mj_Euler, mj_implicit, mj_advance). */
export function integrate(m: ModelView, d: WorldData, inertia: Inertia): void {
  const qacc = implicitAcceleration(m, d, inertia);
  advanceActivations(m, d, (i) => d.act_dot.at(i));
  each(m.nv, (i) => d.qvel.set(i, add(d.qvel.at(i), mul(m.timestep, qacc.at(i)))));
  integratePos(m, d.qpos, d.qpos, (i) => d.qvel.at(i), m.timestep);
  d.time.set(0, add(d.time.at(0), m.timestep));
  copyField(d.qacc, d.qacc_warmstart);
}

/** Activations of all actuators, one step on (mj_nextActivation). */
export function advanceActivations(m: ModelView, d: WorldData, rate: (act: Int) => Scalar): void {
  if (m.na === 0 || m.opt.disableflags & mjtDisableBit.ACTUATION) return;
  for (let i = 0; i < m.model.nactuator; i++) {
    const adr = m.model.actuator_actadr[i];
    if (adr < 0) continue;
    const last = adr + m.model.actuator_actnum[i];
    const off = actuatorDisabled(m.model, i);
    for (let a = adr; a < last; a++) d.act.set(a, nextActivation(m, d, i, a, off ? 0 : rate(a)));
    // a stored setpoint stays within half a turn of the joint
    if (last > adr && m.model.actuator_dyntype[i] === mjtDyn.INTEGRATOR)
      d.act.set(last - 1, nearestSetpoint(m, d, i, d.act.at(last - 1)));
  }
}
