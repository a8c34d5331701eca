import { add, clamp, div, mul, sub, type Scalar } from "../trace/scalar.ts";
import { exp } from "../trace/math.ts";
import { MINVAL } from "../trace/vector.ts";
import { mjtBias, mjtDisableBit, mjtDyn, mjtGain, mjtJoint } from "../model/enums.ts";
import { moment } from "./transmission.ts";
import type { DataView, ModelView } from "./view.ts";

/** gain or bias: prm0 + prm1 length + prm2 velocity. */
function affine(prm: ArrayLike<number>, start: number, length: Scalar, velocity: Scalar): Scalar {
  return add(add(prm[start], mul(prm[start + 1], length)), mul(prm[start + 2], velocity));
}

/** The control of an actuator within its range. */
function control(m: ModelView, d: DataView, i: number): Scalar {
  const { model } = m;
  const limited = model.actuator_ctrllimited[i] && !(m.opt.disableflags & mjtDisableBit.CLAMPCTRL);
  const ctrl = d.ctrl.at(i);
  return limited ? clamp(ctrl, model.actuator_ctrlrange[2 * i], model.actuator_ctrlrange[2 * i + 1]) : ctrl;
}

const timeConstant = (m: ModelView, i: number): number => Math.max(MINVAL, m.model.actuator_dynprm[10 * i]);

/** Rate of change of an activation. */
function activationRate(m: ModelView, d: DataView, i: number, act: number): Scalar {
  const ctrl = control(m, d, i);
  if (m.model.actuator_dyntype[i] === mjtDyn.INTEGRATOR) return ctrl;
  return div(sub(ctrl, d.act.at(act)), timeConstant(m, i));
}

/** Activation `act` of actuator `i` one time step on at the given rate (mj_nextActivation). */
export function nextActivation(m: ModelView, d: DataView, i: number, act: number, rate: Scalar): Scalar {
  const { model } = m;
  let next: Scalar;
  if (model.actuator_dyntype[i] === mjtDyn.FILTEREXACT) {
    const tau = timeConstant(m, i);
    const decay = exp(mul(m.timestep, -1 / tau));
    next = add(d.act.at(act), mul(mul(rate, tau), sub(1, decay)));
  } else {
    next = add(d.act.at(act), mul(rate, m.timestep));
  }
  if (!model.actuator_actlimited[i]) return next;
  return clamp(next, model.actuator_actrange[2 * i], model.actuator_actrange[2 * i + 1]);
}

/**
 * Actuator forces (mj_fwdActuation). Reads ctrl, act, actuator_length, actuator_velocity; writes act_dot,
 * actuator_force, qfrc_actuator.
 */
export function actuation(m: ModelView, d: DataView): void {
  const { model } = m;
  for (let i = 0; i < m.nv; i++) d.qfrc_actuator.set(i, 0);
  for (let i = 0; i < m.na; i++) d.act_dot.set(i, 0);
  if (m.opt.disableflags & mjtDisableBit.ACTUATION) {
    for (let i = 0; i < m.nactuator; i++) d.actuator_force.set(i, 0);
    return;
  }

  for (let i = 0; i < m.nactuator; i++) {
    let input = control(m, d, i);
    if (model.actuator_dyntype[i] !== mjtDyn.NONE) {
      const act = model.actuator_actadr[i] + model.actuator_actnum[i] - 1;
      const rate = activationRate(m, d, i, act);
      d.act_dot.set(act, rate);
      input = model.actuator_actearly[i] ? nextActivation(m, d, i, act, rate) : d.act.at(act);
    }
    const [length, velocity] = [d.actuator_length.at(i), d.actuator_velocity.at(i)];
    const gain =
      model.actuator_gaintype[i] === mjtGain.AFFINE
        ? affine(model.actuator_gainprm, 10 * i, length, velocity)
        : model.actuator_gainprm[10 * i];
    const bias =
      model.actuator_biastype[i] === mjtBias.AFFINE ? affine(model.actuator_biasprm, 10 * i, length, velocity) : 0;
    let force = add(mul(gain, input), bias);
    if (model.actuator_forcelimited[i]) {
      force = clamp(force, model.actuator_forcerange[2 * i], model.actuator_forcerange[2 * i + 1]);
    }
    d.actuator_force.set(i, force);
    for (const { dof, coef } of moment(m, d, i)) {
      d.qfrc_actuator.set(dof, add(d.qfrc_actuator.at(dof), mul(coef, force)));
    }
  }

  for (let j = 0; j < m.njnt; j++) {
    const scalar = model.jnt_type[j] === mjtJoint.HINGE || model.jnt_type[j] === mjtJoint.SLIDE;
    if (!scalar || !model.jnt_actfrclimited[j]) continue;
    const dof = model.jnt_dofadr[j];
    const [low, high] = [model.jnt_actfrcrange[2 * j], model.jnt_actfrcrange[2 * j + 1]];
    d.qfrc_actuator.set(dof, clamp(d.qfrc_actuator.at(dof), low, high));
  }
}
