// polynomials of the traced program, and what functions of either precision make of them
import { add, band, mul, ne, neg, select, square, sub, toI32, toU32, uadd, type Scalar } from "./scalar.ts";

/** c[0] + c[1] x + c[2] x² + ... */
export function polynomial(x: Scalar, c: readonly number[]): Scalar {
  let s: Scalar = c[c.length - 1];
  for (let i = c.length - 2; i >= 0; i--) s = add(mul(s, x), c[i]);
  return s;
}

/** Sine and cosine of k pi/2 + r, from sin(r) = r + r z S(z) and cos(r) = 1 - z/2 + z² C(z), z = r². */
export function turned(k: Scalar, r: Scalar, S: readonly number[], C: readonly number[]): [Scalar, Scalar] {
  const z = square(r);
  const s = add(r, mul(mul(r, z), polynomial(z, S)));
  const c = add(sub(1, mul(z, 0.5)), mul(square(z), polynomial(z, C)));

  // the quadrant swaps them and sets the signs
  const quadrant = toU32(toI32(k));
  const odd = ne(band(quadrant, 1), 0);
  const sine = select(odd, c, s);
  const cosine = select(odd, s, c);
  return [
    select(ne(band(quadrant, 2), 0), neg(sine), sine),
    select(ne(band(uadd(quadrant, 1), 2), 0), neg(cosine), cosine),
  ];
}
