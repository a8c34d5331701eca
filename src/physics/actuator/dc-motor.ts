// DC motors: controller, current, heat, cogging and LuGre friction (mjDYN_DCMOTOR, mjGAIN_DCMOTOR, mjBIAS_DCMOTOR)
import { abs, add, clamp, div, gt, max, mul, neg, select, square, sub, type Scalar } from "../../trace/scalar.ts";
import { exp, sincos } from "../../trace/math.ts";
import { MINVAL } from "../../trace/vector.ts";
import { mjtDyn } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import type { WorldData, ModelView } from "../view.ts";
import { bounded, INPUT, servoInputs } from "./servo.ts";

/** Activations that a motor has, in order; those that its parameters do not ask for are left out. */
const STATES = ["slew", "integral", "temperature", "bristle", "current"] as const;
type State = (typeof STATES)[number];

/** What a motor is made of, by the places of its parameters. */
function motorOf(model: Model, i: number) {
  const [dyn, gain, bias] = [model.actuator_dynprm, model.actuator_gainprm, model.actuator_biasprm].map((prm) =>
    prm.subarray(10 * i, 10 * i + 10),
  );
  const has: Record<State, boolean> = {
    slew: dyn[7] > 0,
    integral: gain[5] > 0,
    temperature: dyn[2] > 0,
    bristle: dyn[5] > 0,
    current: dyn[0] > 0,
  };
  const isMotor = model.actuator_dyntype[i] === mjtDyn.DCMOTOR;
  const slots = STATES.filter((s) => isMotor && has[s]);
  const first = model.actuator_actadr[i];
  return {
    te: dyn[0],
    currentRate: dyn[1],
    RT: dyn[2],
    C: dyn[3],
    ambient: dyn[4],
    sigma0: dyn[5],
    sigma1: dyn[6],
    slewRate: dyn[7],
    integralBound: dyn[8],
    R: gain[0],
    K: gain[1],
    alpha: gain[2],
    T0: gain[3],
    kp: gain[4],
    ki: gain[5],
    kd: gain[6],
    supply: gain[7],
    cogging: bias.slice(0, 3),
    friction: bias.slice(3, 6),
    controlled: (model.actuator_ctrlspec[i] & (INPUT.POS | INPUT.VEL | INPUT.FF)) !== 0,
    /** The activation of a state, -1 if there is none. */
    at: (s: State) => (slots.includes(s) ? first + slots.indexOf(s) : -1),
  };
}

/** Voltage at the terminals: what the controller asks for, and what comes from outside. */
function voltage(m: ModelView, d: WorldData, i: number, inputs: readonly Scalar[]): Scalar {
  const motor = motorOf(m.model, i);
  const [length, velocity] = [d.actuator_length.at(i), d.actuator_velocity.at(i)];
  const [pos, vel, ff, raw] = servoInputs(m.model, i, inputs);
  if (!motor.controlled) return raw;
  const integral = motor.at("integral") < 0 ? 0 : d.act.at(motor.at("integral"));
  const asked = [mul(motor.kp, sub(pos, length)), mul(motor.kd, sub(vel, velocity)), mul(motor.ki, integral), ff];
  const torque = asked.reduce((a, b) => add(a, b));
  const out = add(mul(motor.R / motor.K, torque), mul(motor.K, velocity));
  return add(motor.supply > 0 ? clamp(out, -motor.supply, motor.supply) : out, raw);
}

/** Resistance at the motor's temperature. */
function resistance(m: ModelView, d: WorldData, i: number): Scalar {
  const { R, alpha, ambient, T0, at } = motorOf(m.model, i);
  if (at("temperature") < 0) return R;
  return mul(R, add(1, mul(alpha, add(d.act.at(at("temperature")), ambient - T0))));
}

/** Friction at a velocity without end (mj_lugreStribeck). */
function stribeck([coulomb, still, speed]: ArrayLike<number> & Iterable<number>, velocity: Scalar): Scalar {
  const ratio = mul(velocity, 1 / Math.max(MINVAL, speed));
  return add(coulomb, mul(still - coulomb, exp(neg(square(ratio)))));
}

/** The decay rate of bristles at a velocity. */
function bristleDecay(m: ModelView, i: number, velocity: Scalar): Scalar {
  const { sigma0, friction } = motorOf(m.model, i);
  return div(mul(-sigma0, abs(velocity)), max(stribeck(friction, velocity), MINVAL));
}

/** Rates of the activations; those of the slew are its caller's. `inputs` are slewed already. */
export function motorRates(m: ModelView, d: WorldData, i: number, inputs: readonly Scalar[]): void {
  const motor = motorOf(m.model, i);
  const [length, velocity] = [d.actuator_length.at(i), d.actuator_velocity.at(i)];
  const V = voltage(m, d, i, inputs);
  const { at } = motor;
  if (at("integral") >= 0) {
    d.act_dot.set(at("integral"), bounded(sub(inputs[0], length), d.act.at(at("integral")), motor.integralBound));
  }
  const R = resistance(m, d, i);
  if (at("temperature") >= 0) {
    const back = div(sub(V, mul(motor.K, velocity)), R);
    const current = motor.te > 0 ? d.act.at(at("current")) : back;
    const heat = sub(mul(R, square(current)), mul(d.act.at(at("temperature")), 1 / motor.RT));
    d.act_dot.set(at("temperature"), mul(heat, 1 / motor.C));
  }
  if (at("bristle") >= 0) {
    d.act_dot.set(at("bristle"), add(mul(bristleDecay(m, i, velocity), d.act.at(at("bristle"))), velocity));
  }
  if (at("current") >= 0) {
    const drive = div(sub(V, mul(motor.K, velocity)), R);
    const rate = mul(sub(drive, d.act.at(at("current"))), 1 / motor.te);
    d.act_dot.set(at("current"), motor.currentRate > 0 ? clamp(rate, -motor.currentRate, motor.currentRate) : rate);
  }
}

/** One activation a time step on. */
export function nextMotorState(m: ModelView, d: WorldData, i: number, act: number, rate: Scalar): Scalar {
  const { te, integralBound, at } = motorOf(m.model, i);
  const h = m.timestep;
  const now = d.act.at(act);
  if (act === at("current")) return add(now, mul(mul(rate, te), sub(1, exp(mul(h, -1 / te)))));
  if (act === at("bristle")) {
    const velocity = d.actuator_velocity.at(i);
    const a = bristleDecay(m, i, velocity);
    const decay = exp(mul(a, h));
    const moves = gt(abs(a), MINVAL);
    const gain = select(moves, div(sub(decay, 1), select(moves, a, 1)), h);
    return add(mul(decay, now), mul(gain, velocity));
  }
  const next = add(now, mul(rate, h));
  return act === at("integral") && integralBound > 0 ? clamp(next, -integralBound, integralBound) : next;
}

/** Force within the current's limits: K i, back-EMF included. `next` gives an activation as it is read. */
export function motorForce(
  m: ModelView,
  d: WorldData,
  i: number,
  inputs: readonly Scalar[],
  next: (act: number) => Scalar,
): Scalar {
  const { K, te, at } = motorOf(m.model, i);
  if (te > 0) return mul(K, next(at("current")));
  const gain = div(K, max(resistance(m, d, i), MINVAL));
  const V = m.model.actuator_ctrlnum[i] === 0 ? 0 : voltage(m, d, i, inputs);
  return sub(mul(gain, V), mul(mul(gain, K), d.actuator_velocity.at(i)));
}

/** Cogging and friction, which no force range holds. */
export function mechanicalForce(m: ModelView, d: WorldData, i: number): Scalar {
  const { cogging, sigma0, sigma1, at } = motorOf(m.model, i);
  const [height, poles, phase] = cogging;
  let force: Scalar = height === 0 ? 0 : mul(height, sincos(add(mul(poles, d.actuator_length.at(i)), phase))[0]);
  if (sigma0 > 0) {
    const bristle = at("bristle");
    force = sub(force, add(mul(sigma0, d.act.at(bristle)), mul(sigma1, d.act_dot.at(bristle))));
  }
  return force;
}

/** How much of a change of voltage acts on the force of this step: the current takes its time. */
const currentShare = (m: ModelView, te: number): Scalar => sub(1, exp(mul(m.timestep, -1 / te)));

/** d force / d velocity (mjd_actuator_vel): the controller knows the motor cold, the current flows through it as it is. */
export function motorSlope(m: ModelView, d: WorldData, i: number): Scalar {
  const { R: given, K, kd, te, sigma1, controlled, at } = motorOf(m.model, i);
  const R = Math.max(MINVAL, given);
  const drive = controlled ? (-kd * R) / K + K : 0;
  const friction = sigma1 > 0 ? -sigma1 : 0;
  const isHot = at("temperature") >= 0;
  const byCurrent = isHot ? div(K * (drive - K), max(resistance(m, d, i), MINVAL)) : undefined;
  if (te <= 0) return byCurrent ? add(byCurrent, friction) : (K * drive - K * K) / R + friction;
  return add(mul(byCurrent ?? (K * (drive - K)) / R, currentShare(m, te)), friction);
}

/** d force / d length of a motor that holds a position: what its controller asks for, whatever the voltage. */
export function motorStiffness(m: ModelView, i: number): Scalar {
  const { kp, te, controlled } = motorOf(m.model, i);
  if (!controlled || kp === 0) return 0;
  return te > 0 ? mul(-kp, currentShare(m, te)) : -kp;
}
