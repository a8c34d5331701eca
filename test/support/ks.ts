// Kolmogorov and Smirnov: how far apart distributions are

/** The chance that samples of one distribution are called different, with all tests of the suite in mind. */
const LEVEL = 1e-6;

const factor = Math.sqrt(-0.5 * Math.log(LEVEL / 2));

/** The largest distance that `n` draws may have from their own distribution. */
export const ksBound = (n: number): number => factor / Math.sqrt(n);

/** The largest distance that two samples of one distribution may have. */
export const ksBound2 = (n: number, m: number): number => factor * Math.sqrt((n + m) / (n * m));

const sorted = (values: readonly number[]) => [...values].sort((a, b) => a - b);

/** The largest distance between the distribution of a sample and a cumulative one. */
export function ksDistance(values: readonly number[], cdf: (x: number) => number): number {
  const n = values.length;
  return Math.max(...sorted(values).map((x, i) => Math.max(cdf(x) - i / n, (i + 1) / n - cdf(x))));
}

/** The largest distance between the distributions of two samples. */
export function ksDistance2(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [sorted(a), sorted(b)];
  let [i, j, worst] = [0, 0, 0];
  while (i < x.length && j < y.length) {
    const at = Math.min(x[i], y[j]);
    while (i < x.length && x[i] <= at) i++;
    while (j < y.length && y[j] <= at) j++;
    worst = Math.max(worst, Math.abs(i / x.length - j / y.length));
  }
  return worst;
}

/** The distribution of a uniform number in [low, high). */
export const uniformCdf =
  (low: number, high: number) =>
  (x: number): number =>
    Math.min(1, Math.max(0, (x - low) / (high - low)));

/** The distribution of a normal number, by Simpson's rule. */
export function normalCdf(deviation: number): (x: number) => number {
  const density = (z: number) => Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  return (x) => {
    const z = Math.max(-8, Math.min(8, x / deviation));
    const steps = 64;
    const h = z / steps;
    let sum = density(0) + density(z);
    for (let i = 1; i < steps; i++) sum += density(i * h) * (i % 2 === 1 ? 4 : 2);
    return 0.5 + (sum * h) / 3;
  };
}
