// axes that patterns of points and rays turn with
import { add, div, ge, max, mul, neg, select, sqrt, square } from "../../../trace/scalar.ts";
import type { Mat3 } from "../../../trace/vector.ts";

/** A rotation about the vertical that has the x axis where `mat` has it, seen from above. */
export function headingOf(mat: Mat3): Mat3 {
  const [x, y] = [mat[0], mat[3]];
  const size = sqrt(add(square(x), square(y)));
  const points = ge(size, 1e-6);
  const inverse = div(1, max(size, 1e-6));
  const [c, n] = [select(points, mul(x, inverse), 1), select(points, mul(y, inverse), 0)];
  return [c, neg(n), 0, n, c, 0, 0, 0, 1];
}

export const WORLD_AXES: Mat3 = [1, 0, 0, 0, 1, 0, 0, 0, 1];
