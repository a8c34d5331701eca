// what the transcendental functions of the traced program mean, on numbers: overflow and underflow are those of float32

/** The smallest normal float32: smaller values are flushed to zero by some adapters. */
export const MIN_NORMAL = 2 ** -126;
/** Largest float32. */
export const MAX_FLOAT = 3.4028234663852886e38;
/** Ends of what exp takes, float32: below, its value is no normal float32 and 0; above, it is infinite. */
export const EXP_MIN = -87.33654022216797;
export const EXP_MAX = 88.72283172607422;

export type HostFunction = "sin" | "cos" | "exp" | "log" | "pow" | "atan2" | "acos" | "asin" | "tanh";

/** What the functions mean, on numbers. */
export const hostMath: Record<HostFunction, (...x: number[]) => number> = {
  sin: Math.sin,
  cos: Math.cos,
  exp: (x: number) => (x < EXP_MIN ? 0 : x > EXP_MAX ? Infinity : Math.exp(x)),
  log: (x: number) => Math.log(Math.max(x, MIN_NORMAL)),
  pow: (x: number, y: number): number => {
    const value = Math.max(x, 0) ** y;
    return value < MIN_NORMAL ? 0 : value > MAX_FLOAT ? Infinity : value;
  },
  // zeros have no sign here
  atan2: (y: number, x: number) => Math.atan2(y + 0, x + 0),
  acos: (x: number) => Math.acos(Math.min(Math.max(x, -1), 1)),
  asin: (x: number) => Math.asin(Math.min(Math.max(x, -1), 1)),
  tanh: Math.tanh,
};
