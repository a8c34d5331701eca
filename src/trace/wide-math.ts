// transcendental functions of programs in float64 between float32: to some units of float64's last place
import { EXP_MAX, EXP_MIN, MAX_FLOAT, MIN_NORMAL } from "./host-math.ts";
import { polynomial, turned } from "./polynomial.ts";
import {
  abs,
  add,
  band,
  bitcastF32,
  bitcastU32,
  clamp,
  div,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  neg,
  round,
  select,
  shl,
  shr,
  square,
  sub,
  toF32,
  toI32,
  toU32,
  type Scalar,
} from "./scalar.ts";

const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));
/** Taylor's coefficients: what is left out is below 1e-16 of the function on its interval. */
const taylor = (count: number, coefficient: (k: number) => number) =>
  Array.from({ length: count }, (_, k) => coefficient(k));

// sin(r) = r + r z S(z), cos(r) = 1 - z/2 + z² C(z), z = r², |r| <= pi/4
const SIN = taylor(8, (k) => (-1) ** (k + 1) / factorial(2 * k + 3));
const COS = taylor(8, (k) => (-1) ** k / factorial(2 * k + 4));
// exp(r) = 1 + r + r² E(r), |r| <= ln(2)/2
const EXP = taylor(13, (k) => 1 / factorial(k + 2));
// log(m) = 2 s + 2 s z L(z), s = (m - 1) / (m + 1), z = s², sqrt(1/2) <= m <= sqrt(2)
const LOG = taylor(11, (k) => 1 / (2 * k + 3));
// atan(t) = t + t z A(z), z = t², |t| <= tan(pi/16)
const ATAN = taylor(11, (k) => (-1) ** (k + 1) / (2 * k + 3));

// pi/2 and ln 2 in parts; products of the first ones with integers below 2^20 are exact in float64
const PIO2_1 = 1.5707963267341256;
const PIO2_2 = 6.077100506506192e-11;
const LN2_1 = 0.6931471803691238;
const LN2_2 = 1.9082149292705877e-10;

/** Sine and cosine of x radians: absolute error 3e-16 up to |x| = 1e4, which grows with x; further out within [-1.0001, 1.0001]. */
export function wideSincos(x: Scalar): [Scalar, Scalar] {
  const k = round(mul(x, 2 / Math.PI));
  const r = clamp(sub(sub(x, mul(k, PIO2_1)), mul(k, PIO2_2)), -0.8, 0.8);
  return turned(k, r, SIN, COS);
}

/** e^x: infinite and 0 where it is in float32. */
export function wideExp(x: Scalar): Scalar {
  const bounded = clamp(x, EXP_MIN, EXP_MAX);
  const k = round(mul(bounded, Math.LOG2E));
  const r = sub(sub(bounded, mul(k, LN2_1)), mul(k, LN2_2));
  const e = add(add(mul(square(r), polynomial(r, EXP)), r), 1);
  // 2^128 is no float32
  const most = min(k, 127);
  const scale = bitcastF32(shl(toU32(toI32(add(most, 127))), 23));
  const value = mul(select(gt(k, most), add(e, e), e), scale);
  return select(lt(x, EXP_MIN), 0, select(gt(x, EXP_MAX), infinite(mul(scale, 2)), value));
}

/** x^16: infinite where x is beyond float32's numbers, NaN of NaN. */
const infinite = (x: Scalar): Scalar => square(square(square(square(x))));

/** The natural logarithm: infinite beyond float32's numbers; of anything below 2^-126 that of it. */
export const wideLog = (x: Scalar): Scalar => select(le(x, MAX_FLOAT), wideLogOfFinite(x), infinite(x));

/** The same of float32's numbers. */
export function wideLogOfFinite(x: Scalar): Scalar {
  const a = max(x, MIN_NORMAL);
  // the exponent of its float32, which may be that of the power of two above it
  const bits = bitcastU32(a);
  const e = sub(toF32(toI32(shr(bits, 23))), 127);
  const whole = div(a, bitcastF32(band(bits, 0x7f800000)));
  const high = gt(whole, Math.SQRT2);
  const m = select(high, mul(whole, 0.5), whole);
  const n = select(high, add(e, 1), e);
  const s = div(sub(m, 1), add(m, 1));
  const z = square(s);
  const of = mul(2, add(s, mul(mul(s, z), polynomial(z, LOG))));
  return add(mul(n, LN2_1), add(of, mul(n, LN2_2)));
}

/** Hyperbolic tangent: absolute error 2e-16, relative near 0. */
export function wideTanh(x: Scalar): Scalar {
  const a = abs(x);
  const small = add(x, mul(mul(x, square(x)), polynomial(square(x), [-1 / 3, 2 / 15, -17 / 315, 62 / 2835])));
  const big = sub(1, div(2, add(wideExp(mul(min(a, 20), 2)), 1)));
  return select(lt(a, 0.03), small, select(lt(x, 0), neg(big), big));
}

/** The angle of the point (x, y), in [-pi, pi]; 0 for (0, 0). Zeros have no sign. */
export function wideAtan2(y: Scalar, x: Scalar): Scalar {
  const ax = abs(x);
  const ay = abs(y);
  const steep = gt(ay, ax);
  const t = div(min(ax, ay), max(max(ax, ay), Number.MIN_VALUE));
  // angles beyond those of 1/16 of pi about 0, 1/8 and 1/4 of it, by the tangent of a difference
  const [low, high] = [gt(t, Math.tan(Math.PI / 16)), gt(t, Math.tan((3 * Math.PI) / 16))];
  const from = (tangent: number) => div(sub(t, tangent), add(1, mul(t, tangent)));
  const r = select(high, from(1), select(low, from(Math.tan(Math.PI / 8)), t));
  const base = select(high, Math.PI / 4, select(low, Math.PI / 8, 0));
  const z = square(r);
  const octant = add(base, add(r, mul(mul(r, z), polynomial(z, ATAN))));
  const quadrant = select(steep, sub(Math.PI / 2, octant), octant);
  const half = select(lt(x, 0), sub(Math.PI, quadrant), quadrant);
  return select(lt(y, 0), neg(half), half);
}
