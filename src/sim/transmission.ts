import { add, dotn, mul, type Scalar } from "../trace/scalar.ts";
import { negQuat, normalizeQuat, rotate, scale3, type Quat, type Vec3 } from "../trace/vector.ts";
import { mjtDisableBit, mjtJoint, mjtTrn } from "../model/enums.ts";
import { ballRotation } from "./rows.ts";
import { addArms, type Arm } from "./arms.ts";
import { tendonArms } from "./tendon.ts";
import type { DataView, ModelView } from "./view.ts";

const gearOf = (m: ModelView, i: number): Vec3[] => {
  const g = Array.from({ length: 6 }, (_, k) => m.model.actuator_gear[6 * i + k]);
  return [g.slice(0, 3) as unknown as Vec3, g.slice(3) as unknown as Vec3];
};

/** The nonzero row of actuator_moment, and the length, of one actuator (mj_transmission). */
function transmit(m: ModelView, d: DataView, i: number): { arms: Arm[]; length: Scalar } {
  const { model } = m;
  const id = model.actuator_trnid[2 * i];
  const [gear, turn] = gearOf(m, i);
  if (model.actuator_trntype[i] === mjtTrn.TENDON) {
    const arms = tendonArms(m, d, id).map(({ dof, coef }) => ({ dof, coef: mul(coef, gear[0]) }));
    return { arms, length: mul(d.ten_length.at(id), gear[0]) };
  }
  const dof = model.jnt_dofadr[id];
  const pos = model.jnt_qposadr[id];
  const inParent = model.actuator_trntype[i] === mjtTrn.JOINTINPARENT;
  const three = (axis: Vec3, first: number) => axis.map((coef, k) => ({ dof: first + k, coef }));
  // an axis given in the parent's frame, in the child's
  const local = (axis: Vec3, q: Quat) => (inParent ? rotate(negQuat(normalizeQuat(q)), axis) : axis);

  switch (model.jnt_type[id]) {
    case mjtJoint.FREE: {
      const q = d.qpos.run(pos + 3, 4) as unknown as Quat;
      return { arms: [...three(gear, dof), ...three(local(turn, q), dof + 3)], length: 0 };
    }
    case mjtJoint.BALL: {
      const q = d.qpos.run(pos, 4) as unknown as Quat;
      const { axis, angle } = ballRotation(q);
      const along = local(gear, q);
      return { arms: three(along, dof), length: dotn(scale3(axis, angle), along) };
    }
    default:
      return { arms: [{ dof, coef: gear[0] }], length: mul(d.qpos.at(pos), gear[0]) };
  }
}

/** The dofs that an actuator moves, those with no arm left out. */
export function moment(m: ModelView, d: DataView, i: number): Arm[] {
  return transmit(m, d, i).arms.filter((a) => a.coef !== 0);
}

/** Lengths and velocities of actuators (mj_transmission). Reads qpos, qvel, ten_length; writes actuator_length, _velocity. */
export function transmission(m: ModelView, d: DataView): void {
  const off = (m.opt.disableflags & mjtDisableBit.ACTUATION) !== 0;
  for (let i = 0; i < m.nactuator; i++) {
    const { arms, length } = transmit(m, d, i);
    d.actuator_length.set(i, length);
    let velocity: Scalar = 0;
    // MuJoCo leaves velocities of switched-off actuators at zero, but not lengths
    for (const { dof, coef } of off ? [] : arms) velocity = add(velocity, mul(coef, d.qvel.at(dof)));
    d.actuator_velocity.set(i, velocity);
  }
}

/** The rows of the moment in MuJoCo's sparse form: dofs ascending, zeros included. Writes actuator_moment. */
export function actuatorMoment(m: ModelView, d: DataView): void {
  let at = 0;
  for (let i = 0; i < m.nactuator; i++) {
    for (const { coef } of addArms(transmit(m, d, i).arms)) d.actuator_moment.set(at++, coef);
  }
}
