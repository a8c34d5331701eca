// transcendental functions of the traced program: our own polynomials, because drivers differ by 1e-4 and worse.
//
// Numbers fold with the host's `Math`. Nodes become arithmetic of the tracer, the same on every back end, with error
// bounds in float32 that tests hold over the whole range. In a trace recorded with `exact: true` they become calls of
// the host's functions instead, which only the float64 JavaScript back end can run: the oracle of the tests.
//
// Arguments outside a function's domain are clamped to it, so that numbers, kernels and the oracle agree; exp and pow
// overflow to infinity as float32 does, and give 0 for what is below its normal numbers. A NaN gives NaN on the CPU; on
// a GPU its value is unspecified.
import { current, pure } from "./graph.ts";
import { EXP_MIN, hostMath, MAX_FLOAT, MIN_NORMAL, type HostFunction } from "./host-math.ts";
import { polynomial, turned } from "./polynomial.ts";
import { wideAtan2, wideExp, wideLog, wideLogOfFinite, wideSincos, wideTanh } from "./wide-math.ts";
import {
  abs,
  add,
  band,
  bitcastF32,
  bitcastU32,
  bor,
  clamp,
  div,
  finite,
  ge,
  gt,
  isNode,
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
  sqrt,
  square,
  sub,
  toF32,
  toI32,
  toU32,
  type Scalar,
} from "./scalar.ts";

export { EXP_MAX, EXP_MIN, hostMath, type HostFunction } from "./host-math.ts";

/** Folds numbers, records a call in an exact trace, and expands to arithmetic in any other: `expandWide` in a wide one. */
function evaluate(name: HostFunction, args: Scalar[], expand: () => Scalar, expandWide = expand): Scalar {
  if (!args.some(isNode)) return finite(hostMath[name](...(args as number[])), name);
  if (current().wide) return expandWide();
  return current().exact ? pure(`math_${name}`, "f32", args) : expand();
}

// minimax coefficients (Remez) of each function's remainder on its reduced interval, relative error of the function:
// sin(r) = r + r z S(z), z = r², |r| <= pi/4: 4e-9
const SIN = [-0.16666654589074273, 0.008332154994306062, -0.00019514076890823835];
// cos(r) = 1 - z/2 + z² C(z): 1e-10
const COS = [0.04166664626717952, -0.0013887337007296738, 2.443483709999758e-5];
// exp(r) = 1 + r + r² E(r), |r| <= ln(2)/2: 4e-9
const EXP = [0.4999999325369302, 0.1666651776246866, 0.04166842181829462, 0.008369063453066927, 0.0013813880600070663];
// log(1 + f) = f - f²/2 + f³ L(f), sqrt(1/2) <= 1 + f <= sqrt(2): 1e-9
const LOG = [
  0.33333310445325215, -0.24999986576508632, 0.2000222632102874, -0.16669251812159736, 0.14218663796842532,
  -0.12384335158857913, 0.11872926030692549, -0.1178986487037122, 0.06915540268119895,
];
// atan(t) = t + t z A(z), z = t², 0 <= t <= 1: 3e-9
const ATAN = [
  -0.3333330186717988, 0.19998638634373694, -0.1426524549259931, 0.10957576613817516, -0.0841946005564501,
  0.05823456346335184, -0.03145571321637996, 0.011064446719171141, -0.0018272141978938905,
];
// asin(s) = s + s z P(z), z = s², 0 <= s <= 1/2: 5e-9
const ASIN = [0.1666675392797276, 0.07495241769048422, 0.04547709903320597, 0.024147600037698082, 0.04221856855876915];
// tanh(x) = x + x z T(z), z = x², |x| <= 0.625: 5e-9
const TANH = [
  -0.33333283925367596, 0.13331491288568262, -0.05374349818225886, 0.02065058756515657, -0.005717045309083159,
];

// tanh(x) = x P(z) / Q(z), z = x², minimax for |x| <= 8 in float32; from 8.2 to 9 the quotient rounds to 1 or more
const TANH_P = [
  0.9999999810919786, 0.1297922657448714, 0.002985865323699517, 9.878690651128909e-6, -1.47043104897e-8,
  2.3508836934e-11,
];
const TANH_Q = [1, 0.46312542619266617, 0.024027938512846958, 0.00023720370063300036];

// pi/2 and ln 2 in parts; products of the first ones with small integers are exact in float32
const PIO2_1 = 1.5703125;
const PIO2_2 = 4.837512969970703e-4;
const PIO2_3 = Math.PI / 2 - PIO2_1 - PIO2_2;
const LN2_1 = 0.693359375;
const LN2_2 = Math.LN2 - LN2_1;

/**
 * Sine and cosine, x in radians. Absolute error in float32 <= 1.5e-7 up to |x| = 1e4; it grows to 1e-6 at 1e5. Further
 * out, where neighbouring floats are radians apart, the values stay a sine and a cosine within [-1.0001, 1.0001].
 */
export function sincos(x: Scalar): [Scalar, Scalar] {
  if (!isNode(x)) return [sin(x), cos(x)];
  const { exact, wide } = current();
  if (wide) return wideSincos(x);
  if (exact) return [sin(x), cos(x)];

  // x = k pi/2 + r
  const k = round(mul(x, 2 / Math.PI));
  const rest = sub(sub(sub(x, mul(k, PIO2_1)), mul(k, PIO2_2)), mul(k, PIO2_3));
  const r = clamp(rest, -0.8, 0.8);
  return turned(k, r, SIN, COS);
}

/** Sine of x radians; see `sincos`. */
export function sin(x: Scalar): Scalar {
  return evaluate("sin", [x], () => sincos(x)[0]);
}

/** Cosine of x radians; see `sincos`. */
export function cos(x: Scalar): Scalar {
  return evaluate("cos", [x], () => sincos(x)[1]);
}

/** Where exp is clamped to: infinite in float32. */
const EXP_TOP = 89;

/** e^x, relative error <= 3e-7; infinite above x = 88.72283 (3.4e38), 0 below -87.33654, where no normal float32 is. */
export function exp(x: Scalar): Scalar {
  return evaluate(
    "exp",
    [x],
    () => {
      const bounded = clamp(x, EXP_MIN, EXP_TOP);
      const k = round(mul(bounded, Math.LOG2E));
      const r = sub(sub(bounded, mul(k, LN2_1)), mul(k, LN2_2));
      const e = add(add(mul(square(r), polynomial(r, EXP)), r), 1);
      // 2^128 is no float32
      const most = min(k, 127);
      const scale = bitcastF32(shl(toU32(toI32(add(most, 127))), 23));
      return select(lt(x, EXP_MIN), 0, mul(select(gt(k, most), add(e, e), e), scale));
    },
    () => wideExp(x),
  );
}

/** Natural logarithm, relative error <= 3e-7; of infinity infinite; of anything below 2^-126, negatives too, -87.3. */
export function log(x: Scalar): Scalar {
  return evaluate(
    "log",
    [x],
    () => select(le(x, MAX_FLOAT), expandedLog(x), x),
    () => wideLog(x),
  );
}

/** The same of numbers that are never infinite or NaN. */
export const logOfFinite = (x: Scalar): Scalar =>
  evaluate(
    "log",
    [x],
    () => expandedLog(x),
    () => wideLogOfFinite(x),
  );

function expandedLog(x: Scalar): Scalar {
  // x = m 2^e, sqrt(1/2) <= m < sqrt(2)
  const bits = bitcastU32(max(x, MIN_NORMAL));
  const half = bitcastF32(bor(band(bits, 0x007fffff), 0x3f000000));
  const low = lt(half, Math.SQRT1_2);
  const m = select(low, add(half, half), half);
  const e = sub(toF32(toI32(shr(bits, 23))), select(low, 127, 126));

  const f = sub(m, 1);
  const z = square(f);
  const small = add(mul(mul(f, z), polynomial(f, LOG)), mul(e, LN2_2));
  return add(add(sub(small, mul(z, 0.5)), f), mul(e, LN2_1));
}

/**
 * x^y for x >= 0, relative error <= 3e-7 + 2e-7 |y log(x)|, with the overflow and underflow of `exp`; 0^0 is 1, and 0 to
 * a negative power infinite. Whole powers known at trace time are those of negative x too; up to 8 they are products, as
 * 0.5 is a root.
 */
export function pow(x: Scalar, y: Scalar): Scalar {
  if (!isNode(y)) {
    if (y === 0) return 1;
    if (Number.isInteger(y)) {
      if (isNode(x)) return integerPower(x, y);
      if (x < 0) return finite(x ** y, "pow");
    }
    if (y === 0.5 && isNode(x)) return sqrt(max(x, 0));
  }
  return positivePower(x, y);
}

/** Stands for the infinite logarithms of 0 and infinity, which times 0 would be no number. */
const LARGE = 1e36;

const positivePower = (x: Scalar, y: Scalar): Scalar =>
  evaluate("pow", [x, y], () => exp(mul(y, min(select(le(x, 0), -LARGE, log(x), "f32"), LARGE))));

function integerPower(x: Scalar, n: number): Scalar {
  if (Math.abs(n) <= 8) return n > 0 ? wholePower(x, n) : wholePower(div(1, x), -n);
  const size = positivePower(abs(x), n);
  return n % 2 === 0 ? size : select(lt(x, 0), neg(size), size);
}

function wholePower(x: Scalar, n: number): Scalar {
  if (n === 1) return x;
  const root = wholePower(x, Math.floor(n / 2));
  return n % 2 ? mul(square(root), x) : square(root);
}

/**
 * The angle of the point (x, y), in [-pi, pi]; 0 for (0, 0). Zeros have no sign: the angle of (-1, -0) is pi. Absolute
 * error <= 4e-7 in float32, where the larger coordinate lies between 2^-126 and 8e37.
 */
export function atan2(y: Scalar, x: Scalar): Scalar {
  return evaluate(
    "atan2",
    [y, x],
    () => {
      const ax = abs(x);
      const ay = abs(y);
      const steep = gt(ay, ax);
      const t = div(min(ax, ay), max(max(ax, ay), MIN_NORMAL));
      const z = square(t);
      const octant = add(t, mul(mul(t, z), polynomial(z, ATAN)));
      const quadrant = select(steep, sub(Math.PI / 2, octant), octant);
      const half = select(lt(x, 0), sub(Math.PI, quadrant), quadrant);
      return select(lt(y, 0), neg(half), half);
    },
    () => wideAtan2(y, x),
  );
}

/** Arc tangent; see `atan2`. */
export const atan = (x: Scalar): Scalar => atan2(x, 1);

/** asin(s) for 0 <= s <= 1/2, and with it what both inverse functions need of |x|. */
function arc(x: Scalar): { big: ReturnType<typeof gt>; p: Scalar } {
  const a = min(abs(x), 1);
  const big = gt(a, 0.5);
  // asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)): no loss near 1
  const z = select(big, mul(sub(1, a), 0.5), square(a));
  const s = select(big, sqrt(z), a);
  return { big, p: add(s, mul(mul(s, z), polynomial(z, ASIN))) };
}

/** Arc cosine in [0, pi] of x clamped to [-1, 1]; absolute error <= 5e-7, relative near 1. */
export function acos(x: Scalar): Scalar {
  return evaluate(
    "acos",
    [x],
    () => {
      const { big, p } = arc(x);
      const negative = lt(x, 0);
      const outer = select(negative, sub(Math.PI, mul(p, 2)), mul(p, 2));
      const inner = select(negative, add(p, Math.PI / 2), sub(Math.PI / 2, p));
      return select(big, outer, inner);
    },
    () => {
      const c = clamp(x, -1, 1);
      return wideAtan2(otherLeg(c), c);
    },
  );
}

/** Arc sine in [-pi/2, pi/2] of x clamped to [-1, 1]; absolute error <= 3e-7, relative near 0. */
export function asin(x: Scalar): Scalar {
  return evaluate(
    "asin",
    [x],
    () => {
      const { big, p } = arc(x);
      const a = select(big, sub(Math.PI / 2, mul(p, 2)), p);
      return select(lt(x, 0), neg(a), a);
    },
    () => {
      const c = clamp(x, -1, 1);
      return wideAtan2(c, otherLeg(c));
    },
  );
}

/** The other leg of a triangle with hypotenuse 1. */
const otherLeg = (x: Scalar): Scalar => sqrt(mul(sub(1, x), add(1, x)));

/** Hyperbolic tangent, relative error <= 3e-7. */
export function tanh(x: Scalar): Scalar {
  const expand = () => {
    const a = abs(x);
    const z = square(x);
    const small = add(x, mul(mul(x, z), polynomial(z, TANH)));
    const big = sub(1, div(2, add(exp(mul(min(a, 20), 2)), 1)));
    return select(lt(a, 0.625), small, select(ge(x, 0), big, neg(big)));
  };
  return evaluate("tanh", [x], expand, () => wideTanh(x));
}

/**
 * Hyperbolic tangent as a rational function: relative error <= 3e-7 in float32, 2e-8 in float64, at a third of the
 * operations. That of networks, which take it of every unit (docs/decisions/0035).
 */
export function rationalTanh(x: Scalar): Scalar {
  return evaluate("tanh", [x], () => {
    const r = clamp(x, -9, 9);
    const z = square(r);
    return clamp(div(mul(r, polynomial(z, TANH_P)), polynomial(z, TANH_Q)), -1, 1);
  });
}
