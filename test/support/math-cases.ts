// the traced functions of `src/trace/math.ts`: arguments over their whole range, and the error allowed at each
import * as math from "../../src/trace/math.ts";
import type { Scalar } from "../../src/trace/scalar.ts";
import { mathBounds } from "./tolerances.ts";

export interface MathCase {
  readonly name: string;
  readonly fn: (x: Scalar, y: Scalar) => Scalar;
  /** Float32 arguments. */
  readonly points: readonly (readonly [number, number])[];
  /** The value in float64. */
  readonly reference: (x: number, y: number) => number;
  /** The error allowed; if it is infinite, `inside` is the only demand. */
  readonly allowed: (x: number, y: number, value: number) => number;
  readonly inside?: readonly [number, number];
}

// a small generator of its own: the same points everywhere
function* unit(seed: number): Generator<number, never> {
  let state = seed >>> 0;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

const bits = new DataView(new ArrayBuffer(4));
/** The float32 values next to x. */
export function neighbours(x: number): number[] {
  const f = Math.fround(x);
  bits.setFloat32(0, f);
  const word = bits.getUint32(0);
  const at = (w: number) => {
    bits.setUint32(0, w);
    return bits.getFloat32(0);
  };
  return f === 0 ? [0] : [at(word - 1), f, at(word + 1)];
}

/** A dense grid, random points, and random magnitudes from `tiny` on, of both signs if the range has them. */
function range(low: number, high: number, edges: number[] = [], tiny = 1e-30, count = 6000): number[] {
  const random = unit(count + Math.round(low * 7 + high));
  const next = () => random.next().value;
  const points = edges.flatMap((x) => neighbours(x));
  for (let i = 0; i <= count; i++) points.push(low + ((high - low) * i) / count);
  for (let i = 0; i < count; i++) points.push(low + (high - low) * next());
  for (const end of [low, high]) {
    if (Math.abs(end) <= tiny) continue;
    const size = Math.log(Math.abs(end) / tiny);
    for (let i = 0; i < count; i++) points.push(Math.sign(end) * tiny * Math.exp(size * next()));
  }
  return points.map(Math.fround).filter((x) => x >= low && x <= high);
}

const one = (xs: number[]): [number, number][] => xs.map((x) => [x, 0]);
const relative = (bound: number) => (_x: number, _y: number, value: number) => bound * Math.abs(value);

function planePoints(): [number, number][] {
  const random = unit(5);
  const next = () => random.next().value;
  const points: [number, number][] = [];
  const axis = [0, 1, -1, 1e-30, -1e-30, 1e30, -1e30, 0.5, -0.5, Math.fround(2e-38)];
  for (const x of axis) for (const y of axis) points.push([y, x]);
  for (let i = 0; i < 15000; i++) {
    const angle = 2 * Math.PI * next();
    const radius = 10 ** (60 * next() - 30);
    points.push([radius * Math.sin(angle), radius * Math.cos(angle)]);
    const size = () => (next() < 0.5 ? -1 : 1) * 10 ** (74 * next() - 37);
    points.push([size(), size()]);
  }
  return points.map(([y, x]) => [Math.fround(y), Math.fround(x)]);
}

function powers(): [number, number][] {
  const random = unit(6);
  const next = () => random.next().value;
  const points: [number, number][] = [];
  for (const x of [0, 1, 0.5, 2, 1e-30, 1e30])
    for (const y of [0, 0.5, 1, 2, 3, -1, 0.1, 20, -30.5]) points.push([x, y]);
  for (let i = 0; i < 10000; i++) points.push([next(), 8 * next()], [10 ** (20 * next() - 10), 6 * next() - 3]);
  // where float32 ends, what is within the bound of one side is the other's
  return points
    .map(([x, y]) => [Math.fround(x), Math.fround(y)] as [number, number])
    .filter(([x, y]) => {
      const exponent = x > 0 ? y * Math.log(x) : 0;
      return Math.abs(exponent - math.EXP_MAX) > 0.01 && Math.abs(exponent - math.EXP_MIN) > 0.01;
    });
}

const b = mathBounds;
const sine = (x: number) => {
  if (Math.abs(x) <= 1e4) return b.sincosAbsolute.value;
  return Math.abs(x) <= 1e5 ? b.sincosFar.value : Number.POSITIVE_INFINITY;
};
const turns = Array.from({ length: 64 }, (_, k) => (k * Math.PI) / 4).flatMap((x) => [x, -x]);
const angles = [
  ...range(-100, 100, [0, ...turns], 1e-30, 20000),
  ...range(-1e4, 1e4),
  ...range(-1e5, 1e5),
  ...range(-1e30, 1e30, [], 1e5),
];
const fractions = range(-1, 1, [0, 1, -1, 0.5, -0.5], 1e-30).concat(
  // just inside and outside of the ends
  Array.from({ length: 2000 }, (_, k) => Math.fround(1 - (k - 100) * 2 ** -24)).flatMap((x) => [x, -x]),
);

/** The functions of one argument (`x`) or two (`x` and `y`, in the order of the call). */
export const mathCases: readonly MathCase[] = [
  {
    name: "sin",
    fn: (x) => math.sin(x),
    points: one(angles),
    reference: math.hostMath.sin,
    allowed: sine,
    inside: [-b.sincosSize.value, b.sincosSize.value],
  },
  {
    name: "cos",
    fn: (x) => math.cos(x),
    points: one(angles),
    reference: math.hostMath.cos,
    allowed: sine,
    inside: [-b.sincosSize.value, b.sincosSize.value],
  },
  {
    name: "exp",
    fn: (x) => math.exp(x),
    points: one(range(-200, 200, [0, math.EXP_MIN, math.EXP_MAX, 88.375, Math.LN2 / 2, -Math.LN2 / 2, 1])),
    reference: math.hostMath.exp,
    allowed: relative(b.expRelative.value),
  },
  {
    name: "log",
    fn: (x) => math.log(x),
    points: one([
      ...range(-1, 10, [1, 0.5, 2, Math.SQRT1_2, Math.SQRT2, 0.25], 2 ** -126),
      ...range(2 ** -126, 3e38, [2 ** -126, 3e38], 2 ** -126, 20000),
      Infinity,
    ]),
    reference: math.hostMath.log,
    allowed: relative(b.logRelative.value),
  },
  {
    name: "pow",
    fn: (x, y) => math.pow(x, y),
    points: powers(),
    reference: math.hostMath.pow,
    allowed: (x, y, value) =>
      (b.powRelative.value + b.powPerExponent.value * Math.abs(y * math.hostMath.log(x))) * Math.abs(value),
  },
  {
    name: "atan2",
    fn: (y, x) => math.atan2(y, x),
    points: planePoints(),
    reference: math.hostMath.atan2,
    allowed: () => b.atan2Absolute.value,
  },
  {
    name: "atan",
    fn: (x) => math.atan(x),
    points: one(range(-1e30, 1e30, [0, 1, -1]).concat(range(-3, 3))),
    reference: Math.atan,
    allowed: () => b.atan2Absolute.value,
  },
  {
    name: "acos",
    fn: (x) => math.acos(x),
    points: one(fractions),
    reference: math.hostMath.acos,
    allowed: (x, _y, value) => (x >= 0.5 ? b.acosRelativeNearOne.value * value : b.acosAbsolute.value),
  },
  {
    name: "asin",
    fn: (x) => math.asin(x),
    points: one(fractions),
    reference: math.hostMath.asin,
    allowed: (x, _y, value) =>
      Math.abs(x) <= 0.5 ? b.asinRelativeNearZero.value * Math.abs(value) : b.asinAbsolute.value,
  },
  {
    name: "tanh",
    fn: (x) => math.tanh(x),
    points: one(range(-30, 30, [0, 0.625, -0.625, 9, 20]).concat(range(-1, 1))),
    reference: Math.tanh,
    allowed: relative(b.tanhRelative.value),
  },
];

/** The values of a case that are off by more than is allowed, each in words; none, if all is well. */
export function tooFarOff(c: MathCase, values: readonly number[]): string[] {
  const [low, high] = c.inside ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  return c.points.flatMap(([x, y], i) => {
    const want = c.reference(x, y);
    const value = values[i];
    const error = Math.abs(value - want);
    const allowed = c.allowed(x, y, want);
    // no comparison holds for NaN
    if (value === want || (error <= allowed && value >= low && value <= high)) return [];
    return [`${c.name}(${x}, ${y}) = ${value}, want ${want}: off by ${error}, ${allowed} is allowed`];
  });
}
