// numbers that a host passes to a device which holds them as float32

/** The largest float32. */
const MOST = 3.4028234663852886e38;

/** How a device holds floats. */
export type FloatPrecision = "f32" | "f64";

/** Whether a number is finite as a device holds it: 1e300 is infinity in float32. */
export const isHeld = (x: number, precision: FloatPrecision = "f32"): boolean =>
  Number.isFinite(precision === "f32" ? Math.fround(x) : x);

/** The place of the first number that is not finite as a device holds it; -1 if all are. */
export const firstNotHeld = (values: ArrayLike<number>, precision: FloatPrecision = "f32"): number =>
  Array.prototype.findIndex.call(values, (x: number) => typeof x !== "number" || !isHeld(x, precision));

/** Numbers as a device holds them. */
export const asHeld = (values: ArrayLike<number>, precision: FloatPrecision): ArrayLike<number> =>
  precision === "f64" || values instanceof Float32Array ? values : Float32Array.from(values);

/** What such a number must be, after "it must be". */
export const heldText = (x: unknown, precision: FloatPrecision = "f32"): string =>
  typeof x === "object" && x !== null
    ? "a number. Pass one flat list, row after row"
    : precision === "f32" && typeof x === "number" && Number.isFinite(x)
      ? `within ±${MOST}, which float32 holds. Pass a smaller one`
      : "finite";

/** Words as the float32 that they hold, in the same memory, wherever in a buffer they lie. */
export const floatsOf = <B extends ArrayBufferLike>(words: Uint32Array<B>): Float32Array<B> =>
  new Float32Array(words.buffer, words.byteOffset, words.length);
