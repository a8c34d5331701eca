import type { PhiloxCounter, PhiloxKey } from "../../src/core/rng.ts";

export interface PhiloxAnswer {
  readonly counter: PhiloxCounter;
  readonly key: PhiloxKey;
  readonly words: readonly number[];
}

/** Known answers of Random123 (`kat_vectors`, philox4x32 with 10 rounds). */
export const philoxAnswers: readonly PhiloxAnswer[] = [
  {
    counter: [0, 0, 0, 0],
    key: [0, 0],
    words: [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
  },
  {
    counter: [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
    key: [0xffffffff, 0xffffffff],
    words: [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  },
  {
    counter: [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
    key: [0xa4093822, 0x299f31d0],
    words: [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  },
];
