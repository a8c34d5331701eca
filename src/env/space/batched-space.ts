// a space of many worlds at once
import { badOption, onlyOptions } from "../../core/options.ts";
import { RandomStream, streams } from "../../core/rng.ts";
import { checkValues, type HostValues, isInside } from "./host-values.ts";
import { assertDraw, badSpace, type SampleOptions, type Space, type SpaceValues, type ValuesOf } from "./spaces.ts";

export interface BatchSampleOptions extends SampleOptions {
  /** Stable id of each world, so that a world draws the same values in any batch. Default 0 to numEnvs - 1. */
  readonly worldIds?: ArrayLike<number>;
}

/** One space for each of `numEnvs` worlds: values of shape [numEnvs, ...single.shape]. */
export class BatchedSpace<S extends Space = Space> {
  readonly single: S;
  readonly numEnvs: number;
  readonly dtype: S["dtype"];
  readonly shape: readonly number[];
  readonly size: number;

  constructor(single: S, numEnvs: number) {
    if (!Number.isSafeInteger(numEnvs) || numEnvs < 1) {
      throw badSpace(`a batch of ${numEnvs} worlds; it needs at least one. Pass a positive integer as numEnvs.`);
    }
    this.single = single;
    this.numEnvs = numEnvs;
    this.dtype = single.dtype;
    this.shape = [numEnvs, ...single.shape];
    this.size = numEnvs * single.size;
  }

  /**
   * Checks values that come from the host and copies them into `out` (float32 or int32, `size` long). Nothing is written
   * unless all of them are good. Throws `bad-action`, naming the world and the entry.
   */
  write<T extends SpaceValues>(values: HostValues, out: T): T {
    out.set(checkValues(this.single, this.numEnvs, values));
    return out;
  }

  /** Throws what `write` throws, and writes nothing. */
  check(values: HostValues): void {
    checkValues(this.single, this.numEnvs, values);
  }

  /** Shape, kind of number and bounds of every world's value. */
  contains(values: unknown): boolean {
    const { single } = this;
    if (single.kind !== "box") return isInside(single, this.numEnvs, values, () => true);
    const bounded = (x: number, i: number) => x >= single.low[i % single.size] && x <= single.high[i % single.size];
    return isInside(single, this.numEnvs, values, bounded);
  }

  /** Random values for all worlds: those of a world depend on (seed, world id, draw) alone. Writes to `out` if given. */
  sample(seed: number | bigint, options: BatchSampleOptions = {}, out?: ValuesOf<S>): ValuesOf<S> {
    onlyOptions("sample", options, ["draw", "worldIds"]);
    const { draw = 0, worldIds } = options;
    assertDraw(draw);
    const single: Space = this.single;
    if (worldIds !== undefined && (typeof worldIds !== "object" || (worldIds as unknown) === null))
      throw badOption("worldIds", worldIds, "pass one id a world, or leave it out");
    if (worldIds !== undefined && worldIds.length !== this.numEnvs) {
      throw badSpace(
        `${worldIds.length} world ids for ${this.numEnvs} worlds. Pass one id a world, or none for 0 to ${this.numEnvs - 1}.`,
      );
    }
    const values: SpaceValues =
      out ?? (single.kind === "box" ? new Float32Array(this.size) : new Int32Array(this.size));
    for (let world = 0; world < this.numEnvs; world++) {
      const random = new RandomStream(seed, worldIds?.[world] ?? world, draw, streams.sampledAction);
      if (single.kind === "box") single.fill(values as Float32Array, world * single.size, random);
      else single.fill(values as Int32Array, world * single.size, random);
    }
    return values as ValuesOf<S>;
  }

  toString(): string {
    return `${this.numEnvs} × ${String(this.single)}`;
  }
}
