// whether a measured quantity grows with time

/** A line fitted to samples by least squares. */
export interface Trend {
  readonly mean: number;
  /** Of the line, in units a minute, and its standard error. */
  readonly slope: number;
  readonly slopeError: number;
  /** What the line gains from the first sample to the last. */
  readonly growth: number;
  /** Standard deviation of the samples from the line. */
  readonly noise: number;
  /** Whether the growth is within the noise, or below what is allowed. */
  readonly flat: boolean;
}

/** Fits samples at `minutes`; `allowed` is a growth that counts as none. Falling counts as flat. */
export function trendOf(minutes: readonly number[], values: readonly number[], allowed: number): Trend {
  const n = values.length;
  const mean = values.reduce((sum, y) => sum + y, 0) / n;
  const middle = minutes.reduce((sum, x) => sum + x, 0) / n;
  const spread = minutes.reduce((sum, x) => sum + (x - middle) ** 2, 0);
  const slope = spread === 0 ? 0 : minutes.reduce((sum, x, i) => sum + (x - middle) * (values[i] - mean), 0) / spread;
  const rest = values.reduce((sum, y, i) => sum + (y - mean - slope * (minutes[i] - middle)) ** 2, 0);
  const noise = Math.sqrt(rest / Math.max(1, n - 2));
  const growth = slope * ((minutes.at(-1) ?? 0) - (minutes[0] ?? 0));
  const flat = n > 0 && growth <= Math.max(noise, allowed);
  return { mean, slope, slopeError: spread === 0 ? 0 : noise / Math.sqrt(spread), growth, noise, flat };
}
