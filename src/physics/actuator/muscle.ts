// the muscle model: activation, gain by length and velocity, passive force (mju_muscleDynamics, _muscleGain, _muscleBias)
import {
  add,
  and,
  clamp,
  div,
  ge,
  gt,
  le,
  max,
  mul,
  neg,
  select,
  square,
  sub,
  type Scalar,
} from "../../trace/scalar.ts";
import { MINVAL } from "../../trace/vector.ts";
import type { Model } from "../../model/model.ts";
import type { ModelView } from "../view.ts";

const atLeast = (x: number) => Math.max(MINVAL, x);

/** A negative force asks for one that accelerates by `scale`, and so depends on masses (actuator_acc0). */
export const isScaled = (prm: ArrayLike<number>, i: number): boolean => prm[10 * i + 2] < 0;

/** Parameters of a gain or bias, and what they make of the actuator's length range. */
function prepare(m: ModelView, prm: ArrayLike<number>, i: number) {
  const { model } = m;
  const [low, high, force, scale, lmin, lmax, vmax, fpmax, fvmax] = Array.from(
    { length: 9 },
    (_, k) => prm[10 * i + k],
  );
  const [shortest, longest] = [model.actuator_lengthrange[2 * i], model.actuator_lengthrange[2 * i + 1]];
  const L0 = (longest - shortest) / atLeast(high - low);
  return {
    force: isScaled(prm, i) ? div(scale, max(MINVAL, m.actuator_acc0.at(i))) : force,
    /** Length relative to the optimum. */
    relative: (length: Scalar): Scalar => add(low, div(sub(length, shortest), atLeast(L0))),
    speed: atLeast(L0 * vmax),
    L0: atLeast(L0),
    lmin,
    lmax,
    fpmax,
    fvmax,
  };
}

/** Active force by length: a hill over [lmin, lmax] with its top at 1 (mju_muscleGainLength). */
function lengthCurve(length: Scalar, lmin: number, lmax: number): Scalar {
  const [a, b] = [0.5 * (lmin + 1), 0.5 * (1 + lmax)];
  const half = (x: Scalar, width: number) => mul(0.5, square(div(x, atLeast(width))));
  const rising = half(sub(length, lmin), a - lmin);
  const nearTop = sub(1, half(sub(1, length), 1 - a));
  const pastTop = sub(1, half(sub(length, 1), b - 1));
  const falling = half(sub(lmax, length), lmax - b);
  const hill = select(le(length, a), rising, select(le(length, 1), nearTop, select(le(length, b), pastTop, falling)));
  return select(and(ge(length, lmin), le(length, lmax)), hill, 0);
}

/** The derivative of that curve. */
function lengthSlope(length: Scalar, lmin: number, lmax: number): Scalar {
  const [a, b] = [0.5 * (lmin + 1), 0.5 * (1 + lmax)];
  const part = (x: Scalar, width: number) => div(x, square(atLeast(width)));
  const rising = part(sub(length, lmin), a - lmin);
  const nearTop = part(sub(1, length), 1 - a);
  const pastTop = part(sub(1, length), b - 1);
  const falling = part(sub(length, lmax), lmax - b);
  const slope = select(le(length, a), rising, select(le(length, 1), nearTop, select(le(length, b), pastTop, falling)));
  return select(and(ge(length, lmin), le(length, lmax)), slope, 0);
}

/** The derivative of a muscle's gain by length. */
export function muscleGainSlope(m: ModelView, i: number, length: Scalar, velocity: Scalar): Scalar {
  const p = prepare(m, m.model.actuator_gainprm, i);
  const { FV } = velocityCurve(p, div(velocity, p.speed));
  return div(mul(mul(neg(p.force), lengthSlope(p.relative(length), p.lmin, p.lmax)), FV), p.L0);
}

/** The derivative of a muscle's passive force by length. */
export function muscleBiasSlope(m: ModelView, i: number, length: Scalar): Scalar {
  const p = prepare(m, m.model.actuator_biasprm, i);
  const L = p.relative(length);
  const b = 0.5 * (1 + p.lmax);
  const width = atLeast(b - 1);
  const slope = select(le(L, 1), 0, select(le(L, b), div(sub(L, 1), width * width), 1 / width));
  return div(mul(mul(neg(p.force), p.fpmax), slope), p.L0);
}

/** The active force by velocity relative to the fastest, and its derivative. */
function velocityCurve({ fvmax }: { readonly fvmax: number }, V: Scalar): { FV: Scalar; dFV: Scalar } {
  const y = fvmax - 1;
  const piece = (zero: Scalar, shortening: Scalar, lengthening: Scalar, most: Scalar) =>
    select(le(V, -1), zero, select(le(V, 0), shortening, select(le(V, y), lengthening, most)));
  const FV = piece(0, square(add(V, 1)), sub(fvmax, div(square(sub(y, V)), atLeast(y))), fvmax);
  const dFV = piece(0, add(mul(2, V), 2), div(mul(2, sub(y, V)), atLeast(y)), 0);
  return { FV, dFV };
}

/** The gain of a muscle, and its derivative by velocity (mju_muscleGain, mjd_muscleGain_vel). */
export function muscleGain(m: ModelView, i: number, length: Scalar, velocity: Scalar): { gain: Scalar; slope: Scalar } {
  const p = prepare(m, m.model.actuator_gainprm, i);
  const V = div(velocity, p.speed);
  const strength = mul(neg(p.force), lengthCurve(p.relative(length), p.lmin, p.lmax));
  const { FV, dFV } = velocityCurve(p, V);
  return { gain: mul(strength, FV), slope: div(mul(strength, dFV), p.speed) };
}

/** The passive force of a muscle (mju_muscleBias). */
export function muscleBias(m: ModelView, i: number, length: Scalar): Scalar {
  const p = prepare(m, m.model.actuator_biasprm, i);
  const L = p.relative(length);
  const b = 0.5 * (1 + p.lmax);
  const width = atLeast(b - 1);
  const stretched = mul(0.5, square(div(sub(L, 1), width)));
  const straight = add(0.5, div(sub(L, b), width));
  return mul(mul(neg(p.force), p.fpmax), select(le(L, 1), 0, select(le(L, b), stretched, straight)));
}

/** The rate of a muscle's activation (mju_muscleDynamics). */
export function muscleRate(model: Model, i: number, ctrl: Scalar, act: Scalar): Scalar {
  const [activate, deactivate, width] = Array.from({ length: 3 }, (_, k) => model.actuator_dynprm[10 * i + k]);
  const level = add(0.5, mul(1.5, clamp(act, 0, 1)));
  const [rise, fall] = [mul(activate, level), div(deactivate, level)];
  const excess = sub(clamp(ctrl, 0, 1), act);
  const smooth = () => {
    const x = clamp(add(div(excess, width), 0.5), 0, 1);
    const s = mul(mul(x, square(x)), add(mul(mul(3, x), sub(mul(2, x), 5)), 10));
    return add(fall, mul(sub(rise, fall), s));
  };
  const tau = width < MINVAL ? select(gt(excess, 0), rise, fall) : smooth();
  return div(excess, max(tau, MINVAL));
}
