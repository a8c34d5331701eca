import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  RandomStream,
  integerFromBits,
  mulHigh,
  normalsFromBits,
  philox4x32,
  positiveUniformFromBits,
  seedKey,
  streams,
  uniformFromBits,
} from "../../../src/core/rng.ts";
import { philoxAnswers } from "../../support/philox-answers.ts";

const hex = (words: Iterable<number>) => [...words].map((word) => word.toString(16).padStart(8, "0")).join(" ");

describe("philox4x32", () => {
  test.each(philoxAnswers)("known answer of Random123 for counter $counter", (answer) => {
    expect(hex(philox4x32(answer.counter, answer.key))).toBe(hex(answer.words));
  });

  test("mulHigh is the high word of the product", () => {
    const uint32 = fc.oneof(fc.nat(0xffffffff), fc.constantFrom(0, 1, 0xffff, 0x10000, 0xffffffff));
    fc.assert(
      fc.property(uint32, uint32, (a, b) => {
        expect(mulHigh(a, b)).toBe(Number((BigInt(a) * BigInt(b)) >> 32n));
      }),
    );
  });

  test("writes into the given array", () => {
    const out = new Uint32Array(4);
    expect(philox4x32([1, 2, 3, 4], [5, 6], out)).toBe(out);
    expect(hex(out)).toBe(hex(philox4x32([1, 2, 3, 4], [5, 6])));
  });
});

describe("seeds", () => {
  test("are split into low and high words", () => {
    expect(seedKey(0)).toEqual([0, 0]);
    expect(seedKey(2 ** 32 + 7)).toEqual([7, 1]);
    expect(seedKey(Number.MAX_SAFE_INTEGER)).toEqual([0xffffffff, 0x1fffff]);
    expect(seedKey(0x0123456789abcdefn)).toEqual([0x89abcdef, 0x01234567]);
    expect(seedKey(7n)).toEqual(seedKey(7));
  });

  test.each([-1, 1.5, Number.NaN, Infinity, 2 ** 53, -1n, 2n ** 64n, "0", null, undefined])("%s is refused", (seed) => {
    expect(() => seedKey(seed as number)).toThrowError(/^\[bad-seed\] seed is /);
  });

  test("counters that do not fit 32 bits are refused", () => {
    expect(() => new RandomStream(0, -1, 0, 0)).toThrowError("[bad-counter] world id is -1");
    expect(() => new RandomStream(0, 0, 2 ** 32, 0)).toThrowError("[bad-counter] episode");
    expect(() => new RandomStream(0, 0, 0, 0.5)).toThrowError("[bad-counter] stream");
    expect(() => new RandomStream(0, 0, 0, 0).uniform(-8)).toThrowError("[bad-counter] number of the draw is -8");
    expect(() => new RandomStream(0, 0, 0, 0).word(0.5)).toThrowError("[bad-counter] number of the draw is 0.5");
    expect(() => new RandomStream(0, 0, 0, 0).integer(7, 0)).toThrowError("[bad-counter] n is 0");
    expect(() => new RandomStream(0, 0, 0, 0).word(2 ** 34)).toThrowError("[bad-counter] block");
  });
});

describe("bits to numbers", () => {
  test("uniforms are exact in float32 and keep to their interval", () => {
    for (const bits of [0, 0xff, 0x100, 0x7fffffff, 0x80000000, 0xfffffeff, 0xffffffff]) {
      const uniform = uniformFromBits(bits);
      const positive = positiveUniformFromBits(bits);
      expect(Math.fround(uniform)).toBe(uniform);
      expect(Math.fround(positive)).toBe(positive);
      expect(uniform >= 0 && uniform < 1).toBe(true);
      expect(positive > 0 && positive <= 1).toBe(true);
    }

    expect(uniformFromBits(0xffffffff)).toBe(1 - 2 ** -24);
    expect(positiveUniformFromBits(0)).toBe(2 ** -24);
  });

  test("normals are finite at the ends", () => {
    for (const first of [0, 0xffffffff]) {
      for (const second of [0, 0x80000000, 0xffffffff]) {
        expect(normalsFromBits(first, second).every(Number.isFinite)).toBe(true);
      }
    }
  });

  test("integers cover [0, n) and nothing else", () => {
    expect(integerFromBits(0, 5)).toBe(0);
    expect(integerFromBits(0xffffffff, 5)).toBe(4);
    expect(integerFromBits(0xffffffff, 1)).toBe(0);
  });
});

describe("a stream", () => {
  test("draws by index, in any order", () => {
    const forward = new RandomStream(3, 10, 2, streams.reset);
    const drawn = Array.from({ length: 11 }, (_, i) => [forward.uniform(i), forward.normal(i)]);
    const backward = new RandomStream(3, 10, 2, streams.reset);

    for (let i = 10; i >= 0; i--) {
      expect([backward.uniform(i), backward.normal(i)]).toEqual(drawn[i]);
    }
  });

  test("names no two purposes alike", () => {
    const ids = Object.values(streams);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
