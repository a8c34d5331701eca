// polynomials of the traced program
import { add, mul, type Scalar } from "./scalar.ts";

/** c[0] + c[1] x + c[2] x² + ... */
export function polynomial(x: Scalar, c: readonly number[]): Scalar {
  let s: Scalar = c[c.length - 1];
  for (let i = c.length - 2; i >= 0; i--) s = add(mul(s, x), c[i]);
  return s;
}
