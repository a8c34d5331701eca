// numbers at equal distances, of which worlds draw one

/** How many of low, low + step, ... are not above high; a step that rounding puts there is. */
export const gridCount = ([low, high, step]: readonly [low: number, high: number, step: number]): number =>
  Math.floor((high - low) / step + 1e-6) + 1;
