// what a call returned, on the host: rows of a GPU arena, and the columns that users read
import type { BatchRegion } from "../../batch/batch.ts";
import type { Plan } from "../../memory/plan.ts";

export type Floats = Float32Array | Float64Array;

export const floats = (length: number, double: boolean): Floats =>
  double ? new Float64Array(length) : new Float32Array(length);

/** One row-major arena of all shards, read into one array. */
export class HostRows {
  readonly numEnvs: number;
  /** Numbers of a row, and how many of them are used. */
  readonly stride: number;
  readonly used: number;
  readonly data: Floats;
  readonly regions: readonly BatchRegion[];

  constructor(plan: Plan, arena: string, used: number, double: boolean) {
    const stride = plan.arenas.find((a) => a.name === arena)!.bytesPerWorld / 4;
    this.numEnvs = plan.numEnvs;
    this.stride = stride;
    this.used = used;
    this.data = floats(plan.numEnvs * stride, double);
    this.regions = plan.shards.map(({ index, firstWorld, worlds }) => ({
      arena,
      shard: index,
      into: this.data.subarray(firstWorld * stride, (firstWorld + worlds) * stride),
    }));
  }

  /** One column as numbers. */
  column(word: number, out: { [i: number]: number }): void {
    const { data, stride, numEnvs } = this;
    for (let world = 0, at = word; world < numEnvs; world++, at += stride) out[world] = data[at];
  }

  /** The used part of every row, without gaps. */
  compact(out: Floats): void {
    const { data, stride, used, numEnvs } = this;
    if (stride === used) return out.set(data);
    for (let world = 0; world < numEnvs; world++) {
      const from = world * stride;
      for (let i = 0, to = world * used; i < used; i++) out[to + i] = data[from + i];
    }
  }
}
