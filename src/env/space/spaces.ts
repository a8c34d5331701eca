// action and observation spaces, as in `gymnasium.spaces`: Box (float32), Discrete and MultiDiscrete (int32), each for one
// world; `BatchedSpace` is for a row of worlds. Values are flat typed arrays, row-major.
//
// Validation of host values refuses what no kernel may see: another shape, another kind of number, NaN and infinity,
// integers out of range. A finite value outside of a Box is accepted, as Gymnasium does; MuJoCo clamps controls itself.
import { show } from "../../core/show.ts";
import { CorralError } from "../../core/errors.ts";
import { badOption, onlyOptions } from "../../core/options.ts";
import { RandomStream, streams } from "../../core/rng.ts";
import { isInside } from "./host-values.ts";

export type Space = Box | Discrete | MultiDiscrete;
export type SpaceValues = Float32Array | Int32Array;
/** The array that values of a space come in. */
export type ValuesOf<S extends Space> = S extends Box ? Float32Array : Int32Array;

export interface SampleOptions {
  /** Which draw of this seed: another number, other values. Default 0. */
  readonly draw?: number;
}

export interface BoxOptions {
  /** Lower bounds: one for all entries or one each; -Infinity is allowed. */
  readonly low: number | ArrayLike<number>;
  /** Upper bounds: one for all entries or one each; Infinity is allowed. */
  readonly high: number | ArrayLike<number>;
  /** Shape of one value. Default: one axis, as long as the bounds. */
  readonly shape?: readonly number[];
}

/** A product of closed intervals, float32. Throws `bad-space` for bounds that cannot be. */
export class Box {
  readonly kind = "box";
  readonly dtype = "float32";
  readonly shape: readonly number[];
  readonly size: number;
  readonly low: Float32Array;
  readonly high: Float32Array;

  constructor(options: BoxOptions) {
    if (typeof options !== "object" || options === null)
      throw badSpace(
        `Box got ${String(options)}. Pass { low, high, shape }, such as { low: -1, high: 1, shape: [3] }.`,
      );
    const { low, high, shape } = options;
    for (const [name, bound] of Object.entries({ low, high }))
      if (typeof bound !== "number" && typeof (bound as ArrayLike<number> | undefined)?.length !== "number")
        throw badSpace(`Box has ${name} ${show(bound)}. Pass a number, or one for each entry.`);
    const bounds = [low, high].find((bound) => typeof bound !== "number") as ArrayLike<number>;
    this.shape = checkShape(shape ?? [bounds?.length ?? 1]);
    this.size = this.shape.reduce((product, length) => product * length, 1);
    this.low = broadcast("low", low, this.size);
    this.high = broadcast("high", high, this.size);
    const crossed = this.low.findIndex((bound, i) => bound > this.high[i]);
    if (crossed >= 0) {
      throw badSpace(`Box entry ${crossed} has low ${this.low[crossed]} above high ${this.high[crossed]}. Swap them.`);
    }
  }

  /** Flat index of the first value that is not finite as a float32, or -1. */
  firstBad(values: ArrayLike<number>): number {
    for (let i = 0; i < values.length; i++) {
      const x = Math.fround(values[i]);
      if (x - x !== 0) return i;
    }
    return -1;
  }

  /** What the entry of a value must be. */
  expects(): string {
    return "a finite float32";
  }

  /** One value: shape, kind of number and bounds. */
  contains(values: unknown): boolean {
    return isInside(this, 1, values, (x, i) => x >= this.low[i % this.size] && x <= this.high[i % this.size]);
  }

  /**
   * A random value, the same for the same (seed, draw): uniform where both bounds are finite, exponential from a single
   * bound, standard normal without any.
   */
  sample(seed: number | bigint, options: SampleOptions = {}): Float32Array {
    const draw = drawOf(options);
    return this.fill(new Float32Array(this.size), 0, new RandomStream(seed, 0, draw, streams.sampledAction));
  }

  /** Writes one sample to `out` from `offset` on; entry i takes words 2i and 2i + 1 of the stream. */
  fill(out: Float32Array, offset: number, random: RandomStream): Float32Array {
    for (let i = 0; i < this.size; i++) {
      const low = this.low[i];
      const high = this.high[i];
      const [below, above] = [low > -Infinity, high < Infinity];
      const exponential = () => -Math.log(1 - random.uniform(2 * i));
      if (below && above) out[offset + i] = between(low, high, random.uniform(2 * i));
      else if (below) out[offset + i] = low + exponential();
      else if (above) out[offset + i] = high - exponential();
      else out[offset + i] = random.normal(2 * i);
    }
    return out;
  }

  toString(): string {
    const same = (x: Float32Array) =>
      x.every((v) => v === x[0]) ? shortest(x[0]) : `[${Array.from(x, shortest).join(", ")}]`;
    return `Box(${same(this.low)}, ${same(this.high)}, [${this.shape.join(", ")}], float32)`;
  }
}

/** Throws `bad-counter` for what no draw of a seed is counted by. */
export function assertDraw(draw: number): void {
  if (!(Number.isInteger(draw) && draw >= 0 && draw < 2 ** 32))
    throw badOption("draw", draw, "pass an integer from 0 to 4294967295", "bad-counter");
}

/** @throws CorralError bad-option, bad-counter, unknown-option */
function drawOf(options: SampleOptions): number {
  onlyOptions("sample", options, ["draw"]);
  const { draw = 0 } = options;
  assertDraw(draw);
  return draw;
}

/** The integers start to start + n - 1. Throws `bad-space` unless they are 32-bit integers. */
export class Discrete {
  readonly kind = "discrete";
  readonly dtype = "int32";
  readonly shape: readonly number[] = [];
  readonly size = 1;
  readonly n: number;
  readonly start: number;
  /** The controls of each discrete action, if it has any: rows of equal length. */
  readonly controls: readonly ArrayLike<number>[] | undefined;

  constructor(n: number, start = 0, controls?: readonly ArrayLike<number>[]) {
    checkCount("n", n, start);
    this.n = n;
    this.start = start;
    this.controls = controls;
  }

  /** Flat index of the first value that is no integer of this space, or -1. */
  firstBad(values: ArrayLike<number>): number {
    const end = this.start + this.n;
    for (let i = 0; i < values.length; i++) {
      const x = values[i];
      if (!(x >= this.start && x < end && x === Math.trunc(x))) return i;
    }
    return -1;
  }

  /** What the entry of a value must be. */
  expects(): string {
    return `an integer from ${this.start} to ${this.start + this.n - 1}`;
  }

  /** One value: an integer in range. */
  contains(values: unknown): boolean {
    return isInside(this, 1, typeof values === "number" ? [values] : values, () => true);
  }

  /** A random value, uniform, the same for the same (seed, draw). */
  sample(seed: number | bigint, options: SampleOptions = {}): Int32Array {
    const draw = drawOf(options);
    return this.fill(new Int32Array(1), 0, new RandomStream(seed, 0, draw, streams.sampledAction));
  }

  /** Writes one sample to `out` at `offset`; takes word 0 of the stream. */
  fill(out: Int32Array, offset: number, random: RandomStream): Int32Array {
    out[offset] = this.start + random.integer(0, this.n);
    return out;
  }

  toString(): string {
    return this.start === 0 ? `Discrete(${this.n})` : `Discrete(${this.n}, start ${this.start})`;
  }
}

/** A product of Discrete spaces: entry i is one of 0 to nvec[i] - 1. Throws `bad-space` for counts that are not positive. */
export class MultiDiscrete {
  readonly kind = "multi-discrete";
  readonly dtype = "int32";
  readonly shape: readonly number[];
  readonly size: number;
  readonly nvec: Int32Array;

  constructor(nvec: ArrayLike<number>) {
    if (typeof (nvec as ArrayLike<number> | undefined | null)?.length !== "number" || typeof nvec === "string")
      throw badSpace(`MultiDiscrete got ${show(nvec)}. Pass a list of counts, such as [3, 2].`);
    this.shape = checkShape([nvec.length]);
    this.size = nvec.length;
    for (let i = 0; i < nvec.length; i++) checkCount(`nvec[${i}]`, nvec[i], 0);
    this.nvec = Int32Array.from(nvec);
  }

  /** Flat index of the first value that is no integer of its entry's range, or -1. */
  firstBad(values: ArrayLike<number>): number {
    for (let i = 0, entry = 0; i < values.length; i++) {
      const x = values[i];
      if (!(x >= 0 && x < this.nvec[entry] && x === Math.trunc(x))) return i;
      if (++entry === this.size) entry = 0;
    }
    return -1;
  }

  /** What the given entry of a value must be. */
  expects(entry: number): string {
    return `an integer from 0 to ${this.nvec[entry] - 1}`;
  }

  /** One value: as many integers as nvec has, each in its range. */
  contains(values: unknown): boolean {
    return isInside(this, 1, values, () => true);
  }

  /** A random value, uniform in each entry, the same for the same (seed, draw). */
  sample(seed: number | bigint, options: SampleOptions = {}): Int32Array {
    const draw = drawOf(options);
    return this.fill(new Int32Array(this.size), 0, new RandomStream(seed, 0, draw, streams.sampledAction));
  }

  /** Writes one sample to `out` from `offset` on; entry i takes word i of the stream. */
  fill(out: Int32Array, offset: number, random: RandomStream): Int32Array {
    for (let i = 0; i < this.size; i++) out[offset + i] = random.integer(i, this.nvec[i]);
    return out;
  }

  toString(): string {
    return `MultiDiscrete([${this.nvec.join(", ")}])`;
  }
}

/** The shortest decimal that reads back as the same float32. */
function shortest(x: number): string {
  for (let digits = 1; digits < 9; digits++) {
    const text = Number(x.toPrecision(digits));
    if (Math.fround(text) === x) return String(text);
  }
  return String(x);
}

/** Uniform in [low, high] without overflow of the difference. */
function between(low: number, high: number, u: number): number {
  return low * (1 - u) + high * u;
}

function broadcast(name: string, bound: number | ArrayLike<number>, size: number): Float32Array {
  const values = typeof bound === "number" ? new Float32Array(size).fill(bound) : Float32Array.from(bound);
  if (values.length !== size) {
    throw badSpace(`Box has ${size} entries and ${values.length} values of ${name}. Pass one number or ${size}.`);
  }
  const bad = values.findIndex((x) => Number.isNaN(x) || x === (name === "low" ? Infinity : -Infinity));
  if (bad >= 0)
    throw badSpace(`Box entry ${bad} has ${name} ${values[bad]}. Pass a number, or an infinity that leaves room.`);
  return values;
}

function checkShape(shape: readonly number[]): readonly number[] {
  if (shape.length > 0 && shape.every((length) => Number.isSafeInteger(length) && length > 0)) return [...shape];
  throw badSpace(
    `shape is [${shape.join(", ")}]; every axis has a positive length. Pass such a shape, [1] for one number.`,
  );
}

function checkCount(name: string, n: number, start: number): void {
  const fits = Number.isInteger(n) && n >= 1 && Number.isInteger(start) && start >= -(2 ** 31) && start + n <= 2 ** 31;
  if (fits) return;
  throw badSpace(
    `${name} is ${n}${start === 0 ? "" : ` and start ${start}`}; the values have to be at least one, and 32-bit integers. Pass a positive integer.`,
  );
}

/** A space or batch that cannot be. */
export function badSpace(text: string): CorralError {
  return new CorralError("bad-space", text);
}
