// forces of actuators and rates of activations (mj_fwdActuation)
import { add, and, clamp, div, mul, ne, select, sub, sum, type Scalar } from "../../trace/scalar.ts";
import { exp } from "../../trace/math.ts";
import { MINVAL } from "../../trace/vector.ts";
import { mjtBias, mjtDisableBit, mjtDyn, mjtGain, mjtJoint, mjtTrn } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { mechanicalForce, motorForce, motorRates, nextMotorState } from "./dc-motor.ts";
import { bounded, nearestTurn, servoInputs, slewed } from "./servo.ts";
import { muscleBias, muscleGain, muscleRate } from "./muscle.ts";
import { historyOf, readHistory } from "../history.ts";
import { hasGravcomp } from "../smooth/passive.ts";
import { moment } from "./transmission.ts";
import type { Column, WorldData, ModelView } from "../view.ts";

/** gain or bias: prm0 + prm1 length + prm2 velocity. */
function affine(prm: Column, start: number, length: Scalar, velocity: Scalar): Scalar {
  return add(add(prm.at(start), mul(prm.at(start + 1), length)), mul(prm.at(start + 2), velocity));
}

/** The controls of an actuator within their ranges. */
function controls(m: ModelView, d: WorldData, i: number): Scalar[] {
  const { model } = m;
  const past = model.actuator_delay[i] > 0 ? historyOf(m, "actuator", i) : undefined;
  return Array.from({ length: model.actuator_ctrlnum[i] }, (_, k) => {
    const u = model.actuator_ctrladr[i] + k;
    const limited = model.actuator_ctrllimited[u] && !(m.opt.disableflags & mjtDisableBit.CLAMPCTRL);
    // a delay is that of the first control, the only one there may be
    const ctrl = past && k === 0 ? readHistory(m, d, past)[0] : d.ctrl.at(u);
    return limited ? clamp(ctrl, model.actuator_ctrlrange[2 * u], model.actuator_ctrlrange[2 * u + 1]) : ctrl;
  });
}

/** The most speed of an actuator's setpoint of position, 0: any; its first activation is where the setpoint was. */
function slewRate(model: Model, i: number): number {
  const place = { [mjtDyn.PID]: 1, [mjtDyn.DCMOTOR]: 7 }[model.actuator_dyntype[i]];
  return place === undefined ? 0 : Math.max(0, model.actuator_dynprm[10 * i + place]);
}

/** The controls of an actuator as they act: in their ranges, the setpoint no faster than it may be. */
function inputs(m: ModelView, d: WorldData, i: number): Scalar[] {
  const all = controls(m, d, i);
  const rate = slewRate(m.model, i);
  if (rate === 0) return all;
  const period = m.model.actuator_dyntype[i] === mjtDyn.PID ? setpointPeriod(m.model, i) : 0;
  return [slewed(m, all[0], d.act.at(m.model.actuator_actadr[i]), rate, period), ...all.slice(1)];
}

const timeConstant = (m: ModelView, i: number): number => Math.max(MINVAL, m.model.actuator_dynprm[10 * i]);

/** Whether disableactuator switches an actuator's group off (mj_actuatorDisabled). */
export function actuatorDisabled(model: Model, i: number): boolean {
  const group = model.actuator_group[i];
  return group >= 0 && group <= 30 && (model.opt.disableactuator & (1 << group)) !== 0;
}

/** The turn after which the setpoint of a servo on a rotation repeats; 0 for other actuators (wrapPeriod). */
function setpointPeriod(model: Model, i: number): number {
  const dyntype = model.actuator_dyntype[i];
  const servo =
    model.actuator_gaintype[i] === mjtGain.FIXED &&
    model.actuator_biastype[i] === mjtBias.AFFINE &&
    model.actuator_gainprm[10 * i] === -model.actuator_biasprm[10 * i + 1] &&
    (dyntype === mjtDyn.NONE || dyntype === mjtDyn.INTEGRATOR);
  const isPid = model.actuator_gaintype[i] === mjtGain.PID;
  const gear = model.actuator_gear.subarray(6 * model.actuator_outadr[i], 6 * model.actuator_outadr[i] + 6);
  const trntype = model.actuator_trntype[i];
  if (!servo && !isPid) return 0;
  const turns = gear.subarray(0, 3).every((g) => g === 0);
  if (trntype === mjtTrn.SITE && model.actuator_trnid[2 * i + 1] >= 0 && turns) {
    return 2 * Math.PI * Math.hypot(...gear.subarray(3));
  }
  const onJoint = trntype === mjtTrn.JOINT || trntype === mjtTrn.JOINTINPARENT;
  if (!onJoint || model.jnt_type[model.actuator_trnid[2 * i]] !== mjtJoint.BALL) return 0;
  return 2 * Math.PI * Math.hypot(...gear.subarray(0, 3));
}

/** The setpoint nearest to the actuator's length among those that mean the same (wrapSetpoint). */
export function nearestSetpoint(m: ModelView, d: WorldData, i: number, setpoint: Scalar): Scalar {
  return nearestTurn(setpoint, d.actuator_length.at(i), setpointPeriod(m.model, i));
}

/** Sets the rates of an actuator's activations. */
function activationRates(m: ModelView, d: WorldData, i: number): void {
  const { model } = m;
  const dyntype = model.actuator_dyntype[i];
  if (dyntype === mjtDyn.NONE) return;
  const act = lastActivation(m, i);
  const all = inputs(m, d, i);
  if (slewRate(model, i) > 0) {
    const first = model.actuator_actadr[i];
    d.act_dot.set(first, div(sub(all[0], d.act.at(first)), m.timestep));
  }
  switch (dyntype) {
    case mjtDyn.INTEGRATOR:
      d.act_dot.set(act, all[0]);
      return;
    case mjtDyn.MUSCLE:
      d.act_dot.set(act, muscleRate(model, i, all[0], d.act.at(act)));
      return;
    case mjtDyn.DCMOTOR:
      motorRates(m, d, i, all);
      return;
    case mjtDyn.USER:
      // without a callback activations stay
      for (let a = model.actuator_actadr[i]; a <= act; a++) d.act_dot.set(a, 0);
      return;
    case mjtDyn.PID:
      if (integralGain(model, i) > 0) d.act_dot.set(act, pidError(m, d, i, all[0], act));
      return;
    default:
      d.act_dot.set(act, div(sub(all[0], d.act.at(act)), timeConstant(m, i)));
  }
}

const integralGain = (model: Model, i: number): number => model.actuator_gainprm[10 * i];

/** What the integral of a PID controller grows by: on a rotation the error the shorter way round. */
function pidError(m: ModelView, d: WorldData, i: number, setpoint: Scalar, act: number): Scalar {
  const length = d.actuator_length.at(i);
  const error = sub(nearestTurn(setpoint, length, setpointPeriod(m.model, i)), length);
  return bounded(error, d.act.at(act), m.model.actuator_dynprm[10 * i]);
}

/** Activation `act` of actuator `i` one time step on at the given rate (mj_nextActivation). */
export function nextActivation(m: ModelView, d: WorldData, i: number, act: number, rate: Scalar): Scalar {
  const { model } = m;
  if (model.actuator_dyntype[i] === mjtDyn.DCMOTOR) return nextMotorState(m, d, i, act, rate);
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
  if (m.model.actuator_dyntype[i] === mjtDyn.NONE) return inputs(m, d, i)[0] ?? 0;
  return activation(m, d, i, lastActivation(m, i));
}

/** An activation as the force reads it: now, or a step on. */
function activation(m: ModelView, d: WorldData, i: number, act: number): Scalar {
  return m.model.actuator_actearly[i] ? nextActivation(m, d, i, act, d.act_dot.at(act)) : d.act.at(act);
}

/** What a PID controller does beside its affine bias: setpoints, feedforward, integral. */
function pidForce(m: ModelView, d: WorldData, i: number): Scalar {
  const { model } = m;
  const [pos, vel, ff] = servoInputs(model, i, inputs(m, d, i));
  const [kp, kd] = [1, 2].map((k) => m.actuator_biasprm.at(10 * i + k));
  const setpoints = add(mul(kp, nearestSetpoint(m, d, i, pos)), mul(kd, vel));
  const force = sub(ff, setpoints);
  const integral = model.actuator_actnum[i] > 0 && integralGain(model, i) > 0;
  return integral ? add(force, mul(m.actuator_gainprm.at(10 * i), activation(m, d, i, lastActivation(m, i)))) : force;
}

/** The force of an actuator before its range: gain times input plus bias. */
function servoForce(m: ModelView, d: WorldData, i: number): Scalar {
  const { model } = m;
  const [length, velocity] = [d.actuator_length.at(i), d.actuator_velocity.at(i)];
  if (model.actuator_gaintype[i] === mjtGain.DCMOTOR) {
    return motorForce(m, d, i, inputs(m, d, i), (act) => activation(m, d, i, act));
  }
  // a gain by a callback is 1 without one, and a bias 0
  let gain: Scalar = model.actuator_gaintype[i] === mjtGain.USER ? 1 : m.actuator_gainprm.at(10 * i);
  if (model.actuator_gaintype[i] === mjtGain.AFFINE) gain = affine(m.actuator_gainprm, 10 * i, length, velocity);
  if (model.actuator_gaintype[i] === mjtGain.MUSCLE) ({ gain } = muscleGain(m, i, length, velocity));
  let bias: Scalar = 0;
  if (model.actuator_biastype[i] === mjtBias.AFFINE) bias = affine(m.actuator_biasprm, 10 * i, length, velocity);
  if (model.actuator_biastype[i] === mjtBias.MUSCLE) bias = muscleBias(m, i, length);
  if (model.actuator_gaintype[i] === mjtGain.PID) return add(pidForce(m, d, i), bias);
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
    activationRates(m, d, i);
    d.actuator_force.set(i, actuatorDisabled(model, i) ? 0 : servoForce(m, d, i));
  }
  limitTendonForces(m, d);

  for (let i = 0; i < m.nactuator; i++) {
    let force = d.actuator_force.at(i);
    if (model.actuator_forcelimited[i]) {
      force = clamp(force, m.actuator_forcerange.at(2 * i), m.actuator_forcerange.at(2 * i + 1));
    }
    const isMotor = model.actuator_biastype[i] === mjtBias.DCMOTOR && !actuatorDisabled(model, i);
    if (isMotor) force = add(force, mechanicalForce(m, d, i));
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
