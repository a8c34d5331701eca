// the random numbers by which PGS shuffles its blocks: PCG32 from a fixed seed, as MuJoCo draws them
import { variable } from "../../trace/control.ts";
import { mulHigh } from "../../trace/philox.ts";
import { band, bor, bxor, eq, select, shl, shr, uadd, umul, type Int } from "../../trace/scalar.ts";

const MULTIPLIER = { high: 0x5851f42d, low: 0x4c957f2d };

/** A stream of u32 at run time. */
export interface Pcg32 {
  restart(): void;
  next(): Int;
}

export function pcg32(): Pcg32 {
  const high = variable("pcg_high", 0, "u32");
  const low = variable("pcg_low", 0, "u32");
  return {
    restart() {
      // what the first step from 0 leaves
      high.set(0);
      low.set(1);
    },
    next() {
      const [h, l] = [high.get(), low.get()];
      const product = umul(l, MULTIPLIER.low);
      const carried = uadd(uadd(mulHigh(l, MULTIPLIER.low), umul(l, MULTIPLIER.high)), umul(h, MULTIPLIER.low));
      const next = uadd(product, 1);
      low.set(next);
      high.set(uadd(carried, select(eq(next, 0), 1, 0, "u32")));
      // of the state before: (state >> 18 ^ state) >> 27, turned by its upper five bits
      const mixedLow = bxor(l, bor(shr(l, 18), shl(h, 14)));
      const mixedHigh = bxor(h, shr(h, 18));
      const word = bor(shr(mixedLow, 27), shl(mixedHigh, 5));
      const turn = shr(h, 27);
      return bor(shr(word, turn), shl(word, band(uadd(bxor(turn, 0xffffffff), 1), 31)));
    },
  };
}
