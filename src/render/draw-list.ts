// what one picture draws: instances of shapes, in as few calls as there are shapes
import type { Crowd } from "./crowd.ts";
import type { Matrix } from "./rotation.ts";
import { OWN_LIGHT, type Lighting } from "./lights.ts";
import { glossOf, PLAIN, SHAPE, surfaceOf, type Skin } from "./scene.ts";
import { SURFACE, type Draw } from "./shapes.ts";

/** Numbers of an instance: three rows with a position, size, colour, look, skin. */
export const INSTANCE_FLOATS = 28;

export interface Packed {
  readonly instances: Float32Array<ArrayBuffer>;
  readonly draws: readonly Draw[];
  readonly crowd: Crowd | undefined;
  readonly lighting: Lighting;
}

interface Bucket extends Omit<Draw, "first" | "count"> {
  data: Float32Array<ArrayBuffer>;
  count: number;
}

/** How an instance is drawn: in checkers of a width (m), without light and shadow, and what it is made of. */
export interface Look {
  readonly skin?: Skin;
  readonly checker?: number;
  readonly flat?: boolean;
}

/** Takes instances in any order. Fill it anew for each picture: its memory is kept. */
export class DrawList {
  /** Worlds that the device places. */
  crowd: Crowd | undefined;
  lighting: Lighting = OWN_LIGHT;
  readonly #buckets = new Map<number, Bucket>();
  #packed = new Float32Array(0);

  clear(): void {
    this.crowd = undefined;
    for (const bucket of this.#buckets.values()) bucket.count = 0;
  }

  /** One instance at a place of the world: position, row-major axes, half sizes and half length, colour. */
  add(
    shape: number,
    pos: ArrayLike<number>,
    mat: Matrix,
    size: ArrayLike<number>,
    rgba: ArrayLike<number>,
    { checker = 0, flat = false, skin = PLAIN }: Look = {},
  ): void {
    const clear = rgba[3] < 1;
    const casts = !flat && !clear && shape !== SHAPE.plane;
    const surface = checker > 0 ? SURFACE.checker : surfaceOf(skin);
    // what is large and flat comes last, since most of it is behind something; and clear things after all
    const rank = 2 * Number(clear) + Number(shape === SHAPE.plane);
    const key = ((rank * 1024 + surface) * 2 + Number(casts)) * 65_536 + shape;
    let bucket = this.#buckets.get(key);
    if (!bucket) {
      bucket = { data: new Float32Array(16 * INSTANCE_FLOATS), count: 0, shape, clear, casts, surface };
      this.#buckets.set(key, bucket);
    }
    const at = bucket.count++ * INSTANCE_FLOATS;
    if (at + INSTANCE_FLOATS > bucket.data.length) {
      const more = new Float32Array(2 * bucket.data.length);
      more.set(bucket.data);
      bucket.data = more;
    }
    const { data } = bucket;
    for (let i = 0; i < 3; i++) {
      data[at + 4 * i] = mat[3 * i];
      data[at + 4 * i + 1] = mat[3 * i + 1];
      data[at + 4 * i + 2] = mat[3 * i + 2];
      data[at + 4 * i + 3] = pos[i];
    }
    for (let i = 0; i < 4; i++) {
      data[at + 12 + i] = size[i];
      data[at + 16 + i] = rgba[i];
    }
    data[at + 20] = skin.emission;
    data[at + 21] = checker;
    data[at + 22] = Number(flat);
    data[at + 23] = 0;
    data[at + 24] = skin.scale[0];
    data[at + 25] = skin.scale[1];
    data[at + 26] = skin.specular;
    data[at + 27] = glossOf(skin);
  }

  get count(): number {
    return [...this.#buckets.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** All instances behind each other, and the calls that draw them: opaque shapes, then transparent ones. */
  pack(): Packed {
    const total = this.count * INSTANCE_FLOATS;
    if (this.#packed.length < total) this.#packed = new Float32Array(Math.max(total, 2 * this.#packed.length));
    const draws: Draw[] = [];
    let first = 0;
    const keys = [...this.#buckets.keys()].toSorted((a, b) => a - b);
    for (const key of keys) {
      const { data, count, ...kind } = this.#buckets.get(key)!;
      if (count === 0) continue;
      this.#packed.set(data.subarray(0, count * INSTANCE_FLOATS), first * INSTANCE_FLOATS);
      draws.push({ ...kind, first, count });
      first += count;
    }
    return { instances: this.#packed.subarray(0, total), draws, crowd: this.crowd, lighting: this.lighting };
  }
}
