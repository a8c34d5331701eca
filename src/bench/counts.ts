// which numbers of worlds are worth measuring where nobody said: those whose control steps end in a bearable time
import { formatCount } from "../core/units.ts";

/** A batch that went ahead: its slowest control step, in seconds. */
export interface Ahead {
  readonly numEnvs: number;
  readonly slowest: number;
}

/** Counts that are left out, and how long a control step of the smallest of them would take, in seconds. */
export interface LeftOut {
  readonly numEnvs: readonly number[];
  readonly seconds: number;
}

/**
 * The counts whose control steps take at most `longest` seconds, in ascending order, if time grows with worlds as it does
 * on a CPU. One at least: where all would take longer, the largest power of two that does not.
 */
export function affordable(
  wanted: readonly number[],
  { numEnvs, slowest }: Ahead,
  longest: number,
): { readonly counts: number[]; readonly left?: LeftOut } {
  const sorted = wanted.toSorted((a, b) => a - b);
  const each = slowest / numEnvs;
  const counts = sorted.filter((n) => n * each <= longest);
  const left = sorted.slice(counts.length);
  if (left.length === 0) return { counts };
  if (counts.length === 0) counts.push(2 ** Math.max(0, Math.floor(Math.log2(longest / each))));
  return { counts, left: { numEnvs: left, seconds: left[0] * each } };
}

export const leftOutText = ({ numEnvs, seconds }: LeftOut): string =>
  `a step of ${formatCount(numEnvs[0])} worlds would take about ${seconds.toFixed(0)} s: ${numEnvs.map(formatCount).join(", ")} are not measured (--envs asks for them)`;
