// counter-based random numbers as traced arithmetic: the twin of `src/core/rng.ts`, word for word. Words and uniforms
// are equal to the host's to the bit; normals as far as `log` and `sincos` are (1e-6).
import { logOfFinite, sincos } from "./math.ts";
import { band, bxor, mul, shr, sqrt, toF32, toU32, uadd, umul, type Int, type Scalar } from "./scalar.ts";

/** Four u32: (world id, episode, stream, block). */
export type Counter = readonly [Int, Int, Int, Int];
/** The seed as two u32: (low, high). */
export type Key = readonly [Int, Int];

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;

/** High 32 bits of the 64-bit product of two u32, through 16-bit halves: no partial sum overflows. */
export function mulHigh(a: Int, b: Int): Int {
  const [aLow, aHigh] = [band(a, 0xffff), shr(a, 16)];
  const [bLow, bHigh] = [band(b, 0xffff), shr(b, 16)];
  const low = umul(aLow, bLow);
  const middle = uadd(umul(aHigh, bLow), shr(low, 16));
  const carry = uadd(umul(aLow, bHigh), band(middle, 0xffff));
  return uadd(uadd(umul(aHigh, bHigh), shr(middle, 16)), shr(carry, 16));
}

/** Four random u32 for one counter and key (Random123's `philox4x32`, 10 rounds). Integers are taken as u32. */
export function philox4x32(counter: Counter, key: Key): [Int, Int, Int, Int] {
  let [c0, c1, c2, c3] = counter.map(toU32);
  let [k0, k1] = key.map(toU32);

  for (let round = 0; round < ROUNDS; round++) {
    const high0 = mulHigh(c0, MULTIPLIER_0);
    const high1 = mulHigh(c2, MULTIPLIER_1);
    const low0 = umul(c0, MULTIPLIER_0);
    const low1 = umul(c2, MULTIPLIER_1);
    [c0, c1, c2, c3] = [bxor(bxor(high1, c1), k0), low1, bxor(bxor(high0, c3), k1), low0];
    k0 = uadd(k0, WEYL_0);
    k1 = uadd(k1, WEYL_1);
  }
  return [c0, c1, c2, c3];
}

/** u32 to a float in [0, 1): the upper 24 bits times 2^-24, exact. */
export const uniform01 = (bits: Int): Scalar => mul(toF32(shr(bits, 8)), 2 ** -24);

/** u32 to a float in (0, 1], for arguments of a logarithm. */
export const positiveUniform01 = (bits: Int): Scalar => mul(toF32(uadd(shr(bits, 8), 1)), 2 ** -24);

/** u32 to an integer in [0, n), n a u32 that is not 0, from one word. */
export const integerFromBits = (bits: Int, n: Int): Int => mulHigh(bits, n);

/** Two standard normal draws from two u32 (Box-Muller). */
export function normalPair(first: Int, second: Int): [Scalar, Scalar] {
  const radius = sqrt(mul(logOfFinite(positiveUniform01(first)), -2));
  const [sine, cosine] = sincos(mul(uniform01(second), 2 * Math.PI));
  return [mul(radius, cosine), mul(radius, sine)];
}
