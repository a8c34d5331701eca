// losses, values and gradients that grow by orders of magnitude while they are still finite: most such runs end in NaN
import type { AnyMetrics } from "../rl/device/metrics.ts";

/** What is watched, and its name in words. Values and losses near 0 are noise below the floor. */
const WATCHED = {
  policyLoss: { name: "policy loss", floor: 1e-2 },
  valueLoss: { name: "value loss", floor: 1e-3 },
  value: { name: "value", floor: 1 },
  targetValue: { name: "target value", floor: 1 },
  gradNorm: { name: "gradient norm", floor: 1e-3 },
  policyGradNorm: { name: "gradient norm of the policy", floor: 1e-3 },
} as const satisfies Partial<Record<keyof AnyMetrics, { name: string; floor: number }>>;

type Watched = keyof typeof WATCHED;

/** Beyond this many times the median of the run's first half; what grows with time itself, or its square, stays below. */
const ORDERS = 1000;
/** Updates before anything is judged, and most values that are kept: of longer runs every second, fourth, ... one. */
const LEAST = 16;
export const MOST_SEEN = 256;

/** What was seen of one quantity: every `stride`-th update, `count` of them so far. */
export interface Seen {
  readonly values: readonly number[];
  readonly stride: number;
  readonly count: number;
  readonly warned: boolean;
}

/** The state of the watch as plain data, by quantity. */
export type GrowthState = Readonly<Record<string, Seen>>;

const NOTHING: Seen = { values: [], stride: 1, count: 0, warned: false };

export interface Growth {
  readonly name: string;
  readonly value: number;
  readonly usual: number;
}

/** Watches the metrics of a run; each quantity is reported once. */
export class GrowthWatch {
  #seen: Record<string, Seen> = {};

  /** What grew in an update, for the first time. */
  look(metrics: AnyMetrics): Growth[] {
    // an update that learnt nothing says nothing
    if (metrics.minibatches === 0) return [];
    return (Object.keys(WATCHED) as Watched[]).flatMap((key) => this.#look(key, metrics[key]));
  }

  #look(key: Watched, value: number | undefined): Growth[] {
    const { name, floor } = WATCHED[key];
    const { values, stride, count, warned } = this.#seen[key] ?? NOTHING;
    if (value === undefined || !Number.isFinite(value) || warned) return [];
    const size = Math.abs(value);
    const usual = Math.max(floor, medianOf(values.slice(0, Math.ceil(values.length / 2))));
    const grew = count >= LEAST && size > ORDERS * usual;
    const all = count % stride === 0 ? [...values, size] : values;
    const thins = all.length === MOST_SEEN;
    this.#seen[key] = {
      values: thins ? all.filter((_, i) => i % 2 === 0) : all,
      stride: thins ? 2 * stride : stride,
      count: count + 1,
      warned: grew,
    };
    return grew ? [{ name, value, usual }] : [];
  }

  /** What a checkpoint holds of it; and puts it back. */
  copy(): GrowthState {
    return { ...this.#seen };
  }
  put(state: GrowthState = {}): void {
    this.#seen = { ...state };
  }
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** A warning in words. */
export const growthText = ({ name, value, usual }: Growth, iteration: number): string =>
  `update ${iteration}: the ${name} is ${value.toPrecision(3)}, ${Math.round(Math.abs(value) / usual).toLocaleString("en")} times what was usual (${usual.toPrecision(3)}), and still finite. Such runs mostly end in NaN: lower the learning rate, set maxGradNorm, or look at the rewards.`;
