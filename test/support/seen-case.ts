// how learners without environments see observations: as they are, or by moments that differ from column to column
import { NORM } from "../../src/rl/tables/device-tables.ts";

/** The arena `norm` of so many observations, and what networks see of a column. */
export function columnsSeen(
  observations: number,
  k4: number,
  { normalizeObservations }: { normalizeObservations: boolean },
) {
  const [mean, scale] = [0.3, 0.2].map((by) => (i: number) => Math.fround(normalizeObservations ? by * i : 0));
  const inverse = (i: number) => Math.fround(1 / (1 + scale(i)));
  const norm = new Float32Array(4 * 4 * k4);
  for (let i = 0; i < observations; i++) {
    norm[4 * k4 * NORM.mean + i] = mean(i);
    norm[4 * k4 * NORM.inverse_std + i] = inverse(i);
  }
  return { norm, see: (x: number, i: number): number => (x - mean(i)) * inverse(i) };
}
