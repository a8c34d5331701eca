// the order of samples in an epoch, without a table: twin of shaders/rl/shuffle.wgsl
import { philox4x32, seedKey, streams } from "../../core/rng.ts";

/** Half the bits of the smallest even power of two that covers `samples`. */
export function halfBits(samples: number): number {
  let half = 1;
  while (4 ** half < samples) half++;
  return half;
}

/** The keys of an epoch's shuffle. */
export function shuffleKeys(seed: number | bigint, iteration: number, epoch: number): number[] {
  return [...philox4x32([iteration, epoch, streams.shuffle, 0], seedKey(seed))];
}

function feistel(half: number, key: number): number {
  let h = Math.imul((half ^ key) >>> 0, 0x9e3779b1) >>> 0;
  h ^= h >>> 15;
  h = Math.imul(h, 0x85ebca6b) >>> 0;
  h ^= h >>> 13;
  return h >>> 0;
}

/** The sample at a position of the epoch. */
export function shuffled(position: number, samples: number, keys: readonly number[]): number {
  const half = halfBits(samples);
  const mask = 2 ** half - 1;
  let x = position;
  do {
    let left = x >>> half;
    let right = x & mask;
    for (const key of keys) [left, right] = [right, left ^ (feistel(right, key) & mask)];
    x = ((left << half) | right) >>> 0;
  } while (x >= samples);
  return x;
}
