// how far results are from MuJoCo's, and how far they may be

/** Bounds of one step against MuJoCo in float64, in the measure of `distance`. */
export const ONE_STEP_BOUNDS = {
  /** Positions: 80 roundings of float32. */
  qposMax: 1e-5,
  /** Velocities carry the solver's forces, whose conditioning multiplies roundings. */
  qvelP99: 1e-4,
  qvelMax: 1e-3,
  /** Sensors of accelerations and forces: differences of larger ones, whose size is not known. */
  forceP99: 1e-3,
  forceMax: 1e-2,
} as const;

/** Contacts and limits that are this near to touching (m, rad) may be active in one result and not in the other. */
export const TOUCHING = 1e-6;

/** A change that float32 can hardly tell from none: a little more than one rounding (6e-8). */
export const SENSITIVITY_CHANGE = 1e-7;

/**
 * How many times MuJoCo's own change an error may be. Eight random changes find less than the largest there is: of a
 * response to n numbers alike, each moved up or down, they find about 1.9 / sqrt(n) of it: half of it at n = 14.
 */
export const SENSITIVITY_MARGIN = 2;

/** Median, 99th percentile and maximum of distances. */
export interface Spread {
  readonly median: number;
  readonly p99: number;
  readonly max: number;
}

/**
 * max |x - ref| / (1 + max |ref|) over `ref.length` values from `start` in `x`; infinite if a value is not finite.
 * `terms`: a size to go by if the values are sums of larger terms.
 */
export function distance(x: ArrayLike<number>, ref: ArrayLike<number>, start = 0, terms = 0): number {
  let error = 0;
  let size = terms;
  for (let i = 0; i < ref.length; i++) {
    const difference = Math.abs(x[start + i] - ref[i]);
    if (!Number.isFinite(difference)) return Infinity;
    if (difference > error) error = difference;
    const magnitude = Math.abs(ref[i]);
    if (magnitude > size) size = magnitude;
  }
  return error / (1 + size);
}

/** The spread of distances; percentiles are values that occur (nearest rank). Zeros if there are none. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { median: 0, p99: 0, max: 0 };
  const sorted = Float64Array.from(values).sort();
  const rank = (p: number) => sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)];
  return { median: rank(0.5), p99: rank(0.99), max: sorted[sorted.length - 1] };
}
