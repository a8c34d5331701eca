// lengths, velocities and moment arms of actuators (mj_transmission)
import { array, increase, variable, when } from "../../trace/control.ts";
import { add, div, dotn, gt, lt, max, mul, ne, select, sqrt, square, sub, type Scalar } from "../../trace/scalar.ts";
import {
  add3,
  column,
  cross,
  dot3,
  mulMatTVec,
  mulMatVec,
  mulQuat,
  negQuat,
  normalizeQuat,
  rotate,
  scale3,
  sub3,
  type Quat,
  type Vec3,
} from "../../trace/vector.ts";
import { mjtDisableBit, mjtJoint, mjtTrn } from "../../model/enums.ts";
import type { ContactSlots } from "../collision/contact-slots.ts";
import { pairDofs } from "../constraint/body-dofs.ts";
import { bodyMoment } from "../smooth/normal-forces.ts";
import { differenceJacobian, pointJacobian } from "../smooth/jac.ts";
import { ballRotation } from "../constraint/rows.ts";
import { addArms, type Arm } from "../tendon/moment-arms.ts";
import { tendonArms } from "../tendon/tendon.ts";
import type { WorldData, ModelView } from "../view.ts";

const gearOf = (m: ModelView, i: number): Vec3[] => {
  const g = Array.from({ length: 6 }, (_, k) => m.actuator_gear.at(6 * i + k));
  return [g.slice(0, 3) as unknown as Vec3, g.slice(3) as unknown as Vec3];
};

/** The nonzero row of actuator_moment, and the length, of one actuator (mj_transmission). */
function transmit(m: ModelView, d: WorldData, i: number): { arms: Arm[]; length: Scalar } {
  const { model } = m;
  const id = model.actuator_trnid[2 * i];
  const [gear, turn] = gearOf(m, i);
  if (model.actuator_trntype[i] === mjtTrn.TENDON) {
    const arms = tendonArms(m, d, id).map(({ dof, coef }) => ({ dof, coef: mul(coef, gear[0]) }));
    return { arms, length: mul(d.ten_length.at(id), gear[0]) };
  }
  if (model.actuator_trntype[i] === mjtTrn.BODY) return { arms: bodyMoments.get(d)!.get(i)!, length: 0 };
  if (model.actuator_trntype[i] === mjtTrn.SITE) return transmitSite(m, d, i);
  if (model.actuator_trntype[i] === mjtTrn.SLIDERCRANK) return transmitCrank(m, d, i);
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

/** A force and torque on a site in its own axes, or between it and a reference site in that one's. */
function transmitSite(m: ModelView, d: WorldData, i: number): { arms: Arm[]; length: Scalar } {
  const { model } = m;
  const [site, ref] = [model.actuator_trnid[2 * i], model.actuator_trnid[2 * i + 1]];
  const gear = gearOf(m, i);
  const mat = d.site_xmat.mat3(ref < 0 ? site : ref);
  const [force, torque] = gear.map((g) => mulMatVec(mat, g));
  const jacobian = (s: number) => pointJacobian(m, d, model.site_bodyid[s], d.site_xpos.vec3(s));
  const own = jacobian(site);
  const other = ref < 0 ? [] : jacobian(ref);
  const shared = new Set(own.map((c) => c.dof).filter((dof) => other.some((c) => c.dof === dof)));
  // what moves both moves neither against the other
  const arms = differenceJacobian(own, other)
    .filter(({ dof }) => !shared.has(dof))
    .map(({ dof, trans, rot }) => ({ dof, coef: add(dot3(force, trans), dot3(torque, rot)) }));
  if (ref < 0) return { arms, length: 0 };

  const offset = mulMatTVec(mat, sub3(d.site_xpos.vec3(site), d.site_xpos.vec3(ref)));
  const straight = gear[0].some((g) => g !== 0) ? dot3(offset, gear[0]) : 0;
  if (gear[1].every((g) => g === 0)) return { arms, length: straight };
  // the order of the factors is MuJoCo's
  const [q, r] = [site, ref].map((s) => mulQuat(m.site_quat.quat(s), d.xquat.quat(model.site_bodyid[s])));
  const { axis, angle } = ballRotation(mulQuat(negQuat(r), q));
  return { arms, length: add(straight, dot3(scale3(axis, angle), gear[1])) };
}

/** A rod from a crank's pin to a slider on an axis: the pin is a site, the slider moves along another's z. */
function transmitCrank(m: ModelView, d: WorldData, i: number): { arms: Arm[]; length: Scalar } {
  const { model } = m;
  const [pin, slider] = [model.actuator_trnid[2 * i], model.actuator_trnid[2 * i + 1]];
  const [gear] = gearOf(m, i);
  const rod = model.actuator_cranklength[i];
  const axis = column(d.site_xmat.mat3(slider), 2);
  const offset = sub3(d.site_xpos.vec3(pin), d.site_xpos.vec3(slider));
  const along = dot3(offset, axis);
  const det = sub(add(square(along), rod * rod), dot3(offset, offset));
  // too short a rod does not reach
  const reaches = gt(det, 0);
  const root = select(reaches, sqrt(max(det, 0)), 0);
  const inverse = select(reaches, div(1, select(reaches, root, 1)), 0);
  const share = sub(1, mul(along, inverse));
  const byOffset = add3(scale3(axis, share), scale3(offset, inverse));
  const byAxis = scale3(offset, share);

  const [own, other] = [pin, slider].map((s) => pointJacobian(m, d, model.site_bodyid[s], d.site_xpos.vec3(s)));
  const arms = [
    ...differenceJacobian(own, other).map(({ dof, trans }) => ({ dof, coef: dot3(byOffset, trans) })),
    ...other.map(({ dof, rot }) => ({ dof, coef: dot3(byAxis, cross(rot, axis)) })),
  ];
  return {
    arms: addArms(arms).map(({ dof, coef }) => ({ dof, coef: mul(coef, gear[0]) })),
    length: mul(sub(along, root), gear[0]),
  };
}

/** Moments of actuators on bodies, of the contacts of the evaluation under way. */
const bodyMoments = new WeakMap<WorldData, ReadonlyMap<number, Arm[]>>();

function contactMoments(m: ModelView, d: WorldData, slots: ContactSlots): Map<number, Arm[]> {
  const { model } = m;
  const moments = new Map<number, Arm[]>();
  for (let i = 0; i < m.nactuator; i++) {
    if (model.actuator_trntype[i] !== mjtTrn.BODY) continue;
    const body = model.actuator_trnid[2 * i];
    const pairs = slots.pairs.filter((p) => [p.geom1, p.geom2].some((g) => model.geom_bodyid[g] === body));
    const dofs = [...new Set(pairs.flatMap((p) => [...pairDofs(model, p).keys()]))].sort((a, b) => a - b);
    const moment = bodyMoment(m, d, slots, body);
    moments.set(
      i,
      dofs.map((dof) => ({ dof, coef: moment.at(dof) })),
    );
  }
  return moments;
}

/** The dofs that an actuator moves, those with no arm left out. */
export function moment(m: ModelView, d: WorldData, i: number): Arm[] {
  return transmit(m, d, i).arms.filter((a) => a.coef !== 0);
}

/**
 * Lengths and velocities of actuators (mj_transmission); those on bodies pull at the contacts of `slots`. Reads qpos, qvel, ten_length, ten_J, site_xpos,
 * site_xmat, xquat, cdof, subtree_com; writes actuator_length, _velocity.
 */
export function transmission(m: ModelView, d: WorldData, slots?: ContactSlots): void {
  if (slots) bodyMoments.set(d, contactMoments(m, d, slots));
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

/** The rows of the moment in MuJoCo's sparse form, dofs ascending: those of sites without zeros. Writes actuator_moment. */
export function actuatorMoment(m: ModelView, d: WorldData): void {
  const { length } = d.actuator_moment;
  if (length === 0) return;
  const compressed: readonly number[] = [mjtTrn.SITE, mjtTrn.SLIDERCRANK, mjtTrn.BODY];
  const out = array("moment", length);
  const at = variable("moment_at", 0, "i32");
  const push = (coef: Scalar) => {
    out.set(at.get(), coef);
    increase(at, 1);
  };
  for (let i = 0; i < m.nactuator; i++) {
    for (const { coef } of addArms(transmit(m, d, i).arms)) {
      if (compressed.includes(m.model.actuator_trntype[i])) when(ne(coef, 0), () => push(coef));
      else push(coef);
    }
  }
  for (let k = 0; k < length; k++) d.actuator_moment.set(k, select(lt(k, at.get()), out.get(k), 0));
}
