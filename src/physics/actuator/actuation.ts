import { add, and, clamp, div, mul, ne, round, select, sub, sum, type Scalar } from "../../trace/scalar.ts";
import { exp } from "../../trace/math.ts";
import { MINVAL } from "../../trace/vector.ts";
import { mjtBias, mjtDisableBit, mjtDyn, mjtGain, mjtJoint, mjtTrn } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { muscleBias, muscleGain, muscleRate } from "./muscle.ts";
import { hasGravcomp } from "../smooth/passive.ts";
import { moment } from "./transmission.ts";
import type { Column, WorldData, ModelView } from "../view.ts";

/** gain or bias: prm0 + prm1 length + prm2 velocity. */
function affine(prm: Column, start: number, length: Scalar, velocity: Scalar): Scalar {
  return add(add(prm.at(start), mul(prm.at(start + 1), length)), mul(prm.at(start + 2), velocity));
}

/** The control of an actuator within its range. */
function control(m: ModelView, d: WorldData, i: number): Scalar {
  const { model } = m;
  const limited = model.actuator_ctrllimited[i] && !(m.opt.disableflags & mjtDisableBit.CLAMPCTRL);
  const ctrl = d.ctrl.at(i);
  return limited ? clamp(ctrl, model.actuator_ctrlrange[2 * i], model.actuator_ctrlrange[2 * i + 1]) : ctrl;
}

const timeConstant = (m: ModelView, i: number): number => Math.max(MINVAL, m.model.actuator_dynprm[10 * i]);

/** Whether disableactuator switches an actuator's group off (mj_actuatorDisabled). */
export function actuatorDisabled(model: Model, i: number): boolean {
  const group = model.actuator_group[i];
  return group >= 0 && group <= 30 && (model.opt.disableactuator & (1 << group)) !== 0;
}

/** The turn after which the setpoint of a servo on a ball joint repeats; 0 for other actuators (wrapPeriod). */
function setpointPeriod(model: Model, i: number): number {
  const dyntype = model.actuator_dyntype[i];
  const servo =
    model.actuator_gaintype[i] === mjtGain.FIXED &&
    model.actuator_biastype[i] === mjtBias.AFFINE &&
    model.actuator_gainprm[10 * i] === -model.actuator_biasprm[10 * i + 1] &&
    (dyntype === mjtDyn.NONE || dyntype === mjtDyn.INTEGRATOR);
  const trntype = model.actuator_trntype[i];
  const onJoint = trntype === mjtTrn.JOINT || trntype === mjtTrn.JOINTINPARENT;
  if (!servo || !onJoint || model.jnt_type[model.actuator_trnid[2 * i]] !== mjtJoint.BALL) return 0;
  return 2 * Math.PI * Math.hypot(...model.actuator_gear.subarray(6 * i, 6 * i + 3));
}

/** The setpoint nearest to the actuator's length among those that mean the same (wrapSetpoint). */
export function nearestSetpoint(m: ModelView, d: WorldData, i: number, setpoint: Scalar): Scalar {
  const period = setpointPeriod(m.model, i);
  if (period === 0) return setpoint;
  const error = sub(setpoint, d.actuator_length.at(i));
  return sub(setpoint, mul(period, round(mul(error, 1 / period))));
}

/** Rate of change of an activation. */
function activationRate(m: ModelView, d: WorldData, i: number, act: number): Scalar {
  const ctrl = control(m, d, i);
  if (m.model.actuator_dyntype[i] === mjtDyn.INTEGRATOR) return ctrl;
  if (m.model.actuator_dyntype[i] === mjtDyn.MUSCLE) return muscleRate(m.model, i, ctrl, d.act.at(act));
  return div(sub(ctrl, d.act.at(act)), timeConstant(m, i));
}

/** Activation `act` of actuator `i` one time step on at the given rate (mj_nextActivation). */
export function nextActivation(m: ModelView, d: WorldData, i: number, act: number, rate: Scalar): Scalar {
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

const lastActivation = (m: ModelView, i: number): number => m.model.actuator_actadr[i] + m.model.actuator_actnum[i] - 1;

/** What the gain of an actuator multiplies: its control or its last activation. Reads act_dot. */
export function actuatorInput(m: ModelView, d: WorldData, i: number): Scalar {
  if (m.model.actuator_dyntype[i] === mjtDyn.NONE) return control(m, d, i);
  const act = lastActivation(m, i);
  return m.model.actuator_actearly[i] ? nextActivation(m, d, i, act, d.act_dot.at(act)) : d.act.at(act);
}

/** The force of an actuator before its range: gain times input plus bias. */
function servoForce(m: ModelView, d: WorldData, i: number): Scalar {
  const { model } = m;
  const [length, velocity] = [d.actuator_length.at(i), d.actuator_velocity.at(i)];
  let gain: Scalar = m.actuator_gainprm.at(10 * i);
  if (model.actuator_gaintype[i] === mjtGain.AFFINE) gain = affine(m.actuator_gainprm, 10 * i, length, velocity);
  if (model.actuator_gaintype[i] === mjtGain.MUSCLE) ({ gain } = muscleGain(m, i, length, velocity));
  let bias: Scalar = 0;
  if (model.actuator_biastype[i] === mjtBias.AFFINE) bias = affine(m.actuator_biasprm, 10 * i, length, velocity);
  if (model.actuator_biastype[i] === mjtBias.MUSCLE) bias = muscleBias(m, i, length);
  return add(mul(gain, nearestSetpoint(m, d, i, actuatorInput(m, d, i))), bias);
}

/** Scales the forces on each tendon so that their sum stays within tendon_actfrcrange. */
function limitTendonForces(m: ModelView, d: WorldData): void {
  const { model } = m;
  for (let t = 0; t < m.ntendon; t++) {
    if (!model.tendon_actfrclimited[t]) continue;
    const pulls = Array.from({ length: m.nactuator }, (_, i) => i).filter(
      (i) => model.actuator_trntype[i] === mjtTrn.TENDON && model.actuator_trnid[2 * i] === t,
    );
    const total = sum(pulls.map((i) => d.actuator_force.at(i)));
    const within = clamp(total, model.tendon_actfrcrange[2 * t], model.tendon_actfrcrange[2 * t + 1]);
    // a sum of zero has nothing to scale
    const outside = and(ne(within, total), ne(total, 0));
    const scale = select(outside, div(within, select(outside, total, 1)), 1);
    for (const i of pulls) d.actuator_force.set(i, mul(d.actuator_force.at(i), scale));
  }
}

/**
 * Actuator forces (mj_fwdActuation). Reads ctrl, act, actuator_length, actuator_velocity, qfrc_gravcomp; writes
 * act_dot, actuator_force, qfrc_actuator.
 */
export function actuation(m: ModelView, d: WorldData): void {
  const { model } = m;
  for (let i = 0; i < m.nv; i++) d.qfrc_actuator.set(i, 0);
  for (let i = 0; i < m.na; i++) d.act_dot.set(i, 0);
  if (m.nactuator === 0 || m.opt.disableflags & mjtDisableBit.ACTUATION) {
    for (let i = 0; i < m.nactuator; i++) d.actuator_force.set(i, 0);
    return;
  }

  for (let i = 0; i < m.nactuator; i++) {
    const act = lastActivation(m, i);
    if (model.actuator_dyntype[i] !== mjtDyn.NONE) d.act_dot.set(act, activationRate(m, d, i, act));
    d.actuator_force.set(i, actuatorDisabled(model, i) ? 0 : servoForce(m, d, i));
  }
  limitTendonForces(m, d);

  for (let i = 0; i < m.nactuator; i++) {
    let force = d.actuator_force.at(i);
    if (model.actuator_forcelimited[i]) {
      force = clamp(force, model.actuator_forcerange[2 * i], model.actuator_forcerange[2 * i + 1]);
    }
    d.actuator_force.set(i, force);
    for (const { dof, coef } of moment(m, d, i)) {
      d.qfrc_actuator.set(dof, add(d.qfrc_actuator.at(dof), mul(coef, force)));
    }
  }

  if (hasGravcomp(m)) {
    for (let i = 0; i < m.nv; i++) {
      if (!model.jnt_actgravcomp[model.dof_jntid[i]]) continue;
      d.qfrc_actuator.set(i, add(d.qfrc_actuator.at(i), d.qfrc_gravcomp.at(i)));
    }
  }

  for (let j = 0; j < m.njnt; j++) {
    if (!model.jnt_actfrclimited[j]) continue;
    const dof = model.jnt_dofadr[j];
    const [low, high] = [model.jnt_actfrcrange[2 * j], model.jnt_actfrcrange[2 * j + 1]];
    d.qfrc_actuator.set(dof, clamp(d.qfrc_actuator.at(dof), low, high));
  }
}
