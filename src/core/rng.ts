// counter-based random numbers: Philox4x32-10 (Salmon et al. 2011), the twin of `src/trace/philox.ts`, from which `shaders/lib/philox.wgsl` comes.
//
// The key is the seed; the counter names a draw: (world id, episode, stream, block). A draw therefore depends on nothing
// but its own name: not on the batch size, the shard, or what other worlds drew. Bits to numbers is a separate, exact
// step, so that host and GPU agree to the bit on words and on uniforms. Normals pass through log, sin and cos and agree
// only as far as those do.
import { show } from "./show.ts";
import { CorralError } from "./errors.ts";

/** 64-bit seed as two u32: [low, high]. */
export type PhiloxKey = readonly [low: number, high: number];
/** Four u32: (world id, episode, stream, block). */
export type PhiloxCounter = readonly [world: number, episode: number, stream: number, block: number];

/** Who draws: no two purposes share numbers. Streams from `user` on are free for tasks. */
export const streams = {
  reset: 0,
  randomization: 1,
  event: 2,
  observationNoise: 3,
  actionNoise: 4,
  policy: 5,
  sampledAction: 6,
  shuffle: 7,
  initialization: 8,
  replay: 9,
  nextAction: 10,
  newAction: 11,
  actuators: 12,
  mirror: 13,
  motion: 14,
  user: 1024,
} as const;

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;
const UINT32 = 2 ** 32;
const MAX_SEED = 2n ** 64n - 1n;

/** High 32 bits of the 64-bit product of two u32, through 16-bit halves, as the GPU computes it. */
export function mulHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const low = aLow * bLow;
  const middle = aHigh * bLow + (low >>> 16);
  const carry = aLow * bHigh + (middle & 0xffff);
  return (aHigh * bHigh + (middle >>> 16) + (carry >>> 16)) >>> 0;
}

/** Four random u32 for one counter and key, written to `out` (Random123's `philox4x32`, 10 rounds). */
export function philox4x32(counter: PhiloxCounter, key: PhiloxKey, out: Uint32Array = new Uint32Array(4)): Uint32Array {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;

  for (let round = 0; round < ROUNDS; round++) {
    const high0 = mulHigh(MULTIPLIER_0, c0);
    const low0 = Math.imul(MULTIPLIER_0, c0);
    const high1 = mulHigh(MULTIPLIER_1, c2);
    const low1 = Math.imul(MULTIPLIER_1, c2);
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1 >>> 0;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0 >>> 0;
    k0 = (k0 + WEYL_0) >>> 0;
    k1 = (k1 + WEYL_1) >>> 0;
  }

  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
  return out;
}

/**
 * The key of a seed: an integer from 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1.
 * Throws `bad-seed` for anything else.
 */
export function seedKey(seed: number | bigint): PhiloxKey {
  if (typeof seed === "bigint" && seed >= 0n && seed <= MAX_SEED) {
    return [Number(seed & 0xffffffffn), Number(seed >> 32n)];
  }

  if (typeof seed === "number" && Number.isSafeInteger(seed) && seed >= 0) {
    return [seed % UINT32, Math.floor(seed / UINT32)];
  }

  throw new CorralError(
    "bad-seed",
    `seed is ${describe(seed)}; a seed is an integer from 0 to 2^53 - 1 or a bigint from 0 to 2^64 - 1. Pass such as seed: 0.`,
    { seed: typeof seed === "bigint" ? String(seed) : seed },
  );
}

/** u32 to f32 in [0, 1): the upper 24 bits times 2^-24, exact in float32 on every device. */
export function uniformFromBits(bits: number): number {
  return (bits >>> 8) * 2 ** -24;
}

/** u32 to f32 in (0, 1]: one step of 2^-24 above `uniformFromBits`, so that its logarithm is finite. */
export function positiveUniformFromBits(bits: number): number {
  return ((bits >>> 8) + 1) * 2 ** -24;
}

/**
 * u32 to an integer in [0, n), n from 1 to 2^32 - 1: the high word of bits * n. It takes exactly one word, so the next
 * draw keeps its name; no value is off its share by more than 2^-32.
 */
export function integerFromBits(bits: number, n: number): number {
  return mulHigh(bits, n);
}

/** Two standard normal draws from two u32 (Box-Muller, in float64 on the host). */
export function normalsFromBits(first: number, second: number): [number, number] {
  const radius = Math.sqrt(-2 * Math.log(positiveUniformFromBits(first)));
  const angle = 2 * Math.PI * uniformFromBits(second);
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
}

/**
 * Draws of one (seed, world id, episode, stream), by index: draw i is word i mod 4 of block floor(i / 4). Normal draws
 * 2j and 2j + 1 come from words 2j and 2j + 1. `i` is a non-negative integer below 2^34.
 */
export class RandomStream {
  readonly key: PhiloxKey;
  readonly world: number;
  readonly episode: number;
  readonly stream: number;
  readonly #words = new Uint32Array(4);
  #block = Number.NaN;

  constructor(seed: number | bigint, world: number, episode: number, stream: number) {
    this.key = seedKey(seed);
    this.world = checkUint32("world id", world);
    this.episode = checkUint32("episode", episode);
    this.stream = checkUint32("stream", stream);
  }

  /** Word i, a u32. */
  word(i: number): number {
    // a fractional index has no word
    const block = Number.isInteger(i) && i >= 0 ? Math.floor(i / 4) : i;

    if (block !== this.#block) {
      checkUint32(block === i ? "number of the draw" : "block of the draw", block);
      philox4x32([this.world, this.episode, this.stream, block], this.key, this.#words);
      this.#block = block;
    }

    return this.#words[i % 4];
  }

  /** Uniform in [0, 1). */
  uniform(i: number): number {
    return uniformFromBits(this.word(i));
  }

  /** Standard normal. */
  normal(i: number): number {
    const pair = i - (i % 2);
    return normalsFromBits(this.word(pair), this.word(pair + 1))[i % 2];
  }

  /** Uniform integer in [0, n), n at least 1. */
  integer(i: number, n: number): number {
    checkUint32("n", n);
    if (n === 0)
      throw new CorralError(
        "bad-counter",
        "n is 0, and no integer lies in [0, 0). Pass an integer from 1 to 4294967295.",
        {
          what: "n",
          value: n,
        },
      );
    return integerFromBits(this.word(i), n);
  }
}

function checkUint32(what: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value < UINT32) return value;

  throw new CorralError(
    "bad-counter",
    `${what} is ${describe(value)}; it is one 32-bit word of the random counter, an integer from 0 to 4294967295. Pass such an integer.`,
    { what, value },
  );
}

const describe = (value: unknown): string => (typeof value === "bigint" ? String(value) : show(value));
