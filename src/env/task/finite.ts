// numbers of a task that are not finite stay so: drivers lose a NaN in minima, bounds and bits, and the checks with it
import { CorralError } from "../../core/errors.ts";
import { show } from "../../core/show.ts";
import {
  bitcastF32,
  bitcastU32,
  band,
  bor,
  clamp,
  ge,
  isFinite32,
  isNode,
  select,
  type Bool,
  type Scalar,
} from "../../trace/scalar.ts";

const INFINITY_BITS = 0x7f800000;
const NAN_BITS = 0x7fc00000;

/** Whether a float is NaN, by its bits: drivers assume it away. */
export const isNaN32 = (x: Scalar): Bool => ge(band(bitcastU32(x), 0x7fffffff), INFINITY_BITS + 1);

/** x in [low, high]; if it is not finite, x itself. */
export const clipped = (x: Scalar, low: number, high: number): Scalar =>
  select(isFinite32(x), clamp(x, low, high), x, "f32");

/** The same function, and NaN if an argument is NaN. */
export const keepingNaN =
  <A extends readonly Scalar[]>(f: (...args: A) => Scalar) =>
  (...args: A): Scalar =>
    args.reduce((y, x) => (isNode(x) ? select(isNaN32(x), x, y, "f32") : y), f(...args));

/** The same function of x, and NaN if its first argument is not in the domain. Throws `trace-non-finite` for a number that is not. */
export const undefinedUnless =
  <A extends readonly [Scalar, ...Scalar[]]>(inDomain: (x: Scalar) => Bool, f: (...args: A) => Scalar) =>
  (...args: A): Scalar => {
    const [x] = args;
    // what folds such a number takes the nearest of the domain
    if (inDomain(x) === false)
      throw new CorralError("trace-non-finite", `of ${show(x)} it has no value. Write another number.`, { x });
    const y = f(...args);
    return isNode(x) ? select(inDomain(x), y, bitcastF32(bor(bitcastU32(x), NAN_BITS)), "f32") : y;
  };
