// the actions of a benchmark: rows drawn once, which batches, kernels and peers take from
import { CorralError } from "../core/errors.ts";
import { RandomStream, streams } from "../core/rng.ts";
import type { Space } from "../env/space/spaces.ts";

/** Random: every action is drawn anew. Swing: each actuator follows a sine of its own phase, as legs do. */
export type Motion = "random" | "swing";

export const MOTIONS: readonly Motion[] = ["random", "swing"];

/** Control steps of a swing's period; as many rows belong together. */
export const PHASES = 8;

/** Groups of rows: worlds beyond take them again. */
const GROUPS = 1024;

/** Actions of PHASES control steps for each of `groups` worlds. */
export class ActionPool {
  readonly motion: Motion;
  readonly size: number;
  readonly groups = GROUPS;
  /** [groups, PHASES, size]. */
  readonly values: Float32Array | Int32Array;

  /** @throws CorralError bad-option if a space of integers is to swing */
  constructor(space: Space, seed: number, motion: Motion = "random") {
    this.motion = motion;
    this.size = space.size;
    if (motion === "swing" && space.kind !== "box")
      throw new CorralError("bad-option", `actions of ${String(space)} cannot swing. Pass random as the motion.`);

    const length = GROUPS * PHASES * space.size;
    if (space.kind !== "box") {
      this.values = new Int32Array(length);
      for (let row = 0; row < GROUPS * PHASES; row++)
        space.fill(this.values, row * space.size, new RandomStream(seed, row, 0, streams.sampledAction));
      return;
    }

    this.values = new Float32Array(length);
    for (let group = 0; group < GROUPS; group++) {
      const random = new RandomStream(seed, group, 0, streams.sampledAction);
      for (let phase = 0; phase < PHASES; phase++) {
        for (let i = 0; i < space.size; i++) {
          const low = Math.max(-1e3, space.low[i] > -Infinity ? space.low[i] : -1);
          const high = Math.min(1e3, space.high[i] < Infinity ? space.high[i] : 1);
          const u =
            motion === "random"
              ? random.uniform(phase * space.size + i)
              : 0.5 + 0.5 * Math.sin(2 * Math.PI * (phase / PHASES + random.uniform(i)));
          this.values[(group * PHASES + phase) * space.size + i] = low + (high - low) * u;
        }
      }
    }
  }

  /** Actions of all worlds of a batch in a phase, [numEnvs, size]. */
  batch(numEnvs: number, phase: number): Float32Array | Int32Array {
    const { size, values } = this;
    const out = values instanceof Float32Array ? new Float32Array(numEnvs * size) : new Int32Array(numEnvs * size);
    for (let w = 0; w < numEnvs; w++) {
      const from = ((w % GROUPS) * PHASES + (phase % PHASES)) * size;
      for (let i = 0; i < size; i++) out[w * size + i] = values[from + i];
    }
    return out;
  }
}
