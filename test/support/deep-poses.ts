// two bodies of a few centimetres that are deep in one another
import { RandomStream, streams } from "../../src/core/rng.ts";

/** Points on a ball of 4 cm, one on each turn of a spiral: the vertices of a mesh. */
export const BALL = Array.from({ length: 40 }, (_, i) => {
  const z = 1 - (2 * i + 1) / 40;
  const r = Math.sqrt(1 - z * z);
  return [r * Math.cos(2.4 * i), r * Math.sin(2.4 * i), z].map((x) => (0.04 * x).toFixed(5)).join(" ");
}).join("  ");

/** Two bodies turned anyhow whose centres are up to 5 cm apart on each axis: the `qpos` of pose `i`. */
export function anyhow(seed: number, i: number): number[] {
  const random = new RandomStream(seed, i, 0, streams.user);
  const draw = (k: number, low: number, high: number) => low + (high - low) * random.uniform(k);
  const turned = (k: number): number[] => {
    const q = [0, 1, 2, 3].map((j) => draw(k + j, -1, 1) + draw(k + 4 + j, -1, 1) + draw(k + 8 + j, -1, 1));
    return q.map((x) => x / Math.hypot(...q));
  };
  return [0, 0, 0, ...turned(0), ...[12, 13, 14].map((k) => draw(k, -0.05, 0.05)), ...turned(15)];
}
