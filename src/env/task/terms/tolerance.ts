// how near a value is to where it should be, as dm_control's rewards say it (Tassa et al. 2018)
import { cos, exp, tanh } from "../../../trace/math.ts";
import { abs, add, and, div, ge, le, lt, mul, neg, select, square, sub, type Scalar } from "../../../trace/scalar.ts";
import type { Scene } from "../task.ts";
import { isNumber, needs, needsOptions, numbers, type Source } from "./source.ts";

export type Sigmoid =
  | "gaussian"
  | "hyperbolic"
  | "long_tail"
  | "reciprocal"
  | "cosine"
  | "linear"
  | "quadratic"
  | "tanh_squared";

export interface ToleranceOptions {
  /** Where the value is as it should be; either end may be infinite. Default: [0, 0]. */
  readonly bounds?: readonly [number, number];
  /** Distance from the bounds at which `valueAtMargin` is left. Default 0: nothing is left outside of them. */
  readonly margin?: number;
  /** How it falls off. Default "gaussian". */
  readonly sigmoid?: Sigmoid;
  /** Default 0.1. 0 for cosine, linear and quadratic only. */
  readonly valueAtMargin?: number;
}

/** 1 at 0, `v` at 1. Distances are not negative. */
const SIGMOIDS: Readonly<Record<Sigmoid, (x: Scalar, v: number) => Scalar>> = {
  gaussian: (x, v) => exp(mul(square(x), Math.log(v))),
  hyperbolic: (x, v) => {
    const grown = exp(mul(x, Math.acosh(1 / v)));
    return div(2, add(grown, div(1, grown)));
  },
  long_tail: (x, v) => div(1, add(mul(square(x), 1 / v - 1), 1)),
  reciprocal: (x, v) => div(1, add(mul(abs(x), 1 / v - 1), 1)),
  cosine: (x, v) => {
    const scaled = mul(x, Math.acos(2 * v - 1) / Math.PI);
    return select(lt(scaled, 1), div(add(1, cos(mul(scaled, Math.PI))), 2), 0);
  },
  linear: (x, v) => {
    const scaled = mul(x, 1 - v);
    return select(lt(scaled, 1), sub(1, scaled), 0);
  },
  quadratic: (x, v) => {
    const scaled = mul(square(x), 1 - v);
    return select(lt(scaled, 1), sub(1, scaled), 0);
  },
  tanh_squared: (x, v) => sub(1, square(tanh(mul(x, Math.atanh(Math.sqrt(1 - v)))))),
};
const TO_ZERO: readonly string[] = ["cosine", "linear", "quadratic"];

/** 1 where a value is within bounds, less outside of them, for each number of a value. */
export const tolerance =
  (value: Source, options: ToleranceOptions = {}) =>
  (s: Scene): readonly Scalar[] => {
    const { bounds = [0, 0], margin = 0, sigmoid = "gaussian", valueAtMargin = 0.1 } = options;
    needsOptions("tolerance", options, ["bounds", "margin", "sigmoid", "valueAtMargin"]);
    const [low, high] = bounds;
    needs(low <= high, "bounds of tolerance", bounds, "low and high, low <= high; either may be infinite");
    needs(isNumber(margin) && margin >= 0, "margin of tolerance", margin, "a number of at least 0");
    needs(Object.hasOwn(SIGMOIDS, sigmoid), "sigmoid of tolerance", sigmoid, Object.keys(SIGMOIDS).join(", "));
    const least = TO_ZERO.includes(sigmoid) ? valueAtMargin >= 0 : valueAtMargin > 0;
    needs(least && valueAtMargin < 1, "valueAtMargin of tolerance", valueAtMargin, "between 0 and 1");
    return numbers(value, s, "value").map((x) => {
      const above = low === -Infinity ? true : ge(x, low);
      const below = high === Infinity ? true : le(x, high);
      if (margin === 0) return select(and(above, below), 1, 0, "f32");
      const under = low === -Infinity ? 0 : sub(low, x);
      const over = high === Infinity ? neg(1) : sub(x, high);
      const away = div(select(above, over, under, "f32"), margin);
      return select(and(above, below), 1, SIGMOIDS[sigmoid](away, valueAtMargin), "f32");
    });
  };
