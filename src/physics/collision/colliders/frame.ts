// the frame of a contact from its normal
import { abs, div, lt, mul, neg, select, sqrt, square, sub, type Scalar } from "../../../trace/scalar.ts";
import { cross, normalize3, type Mat3, type Vec3 } from "../../../trace/vector.ts";

/**
 * The contact frame, its axes in rows: the unit `normal`, the direction nearest to `tangent` (a unit vector) that is
 * perpendicular to it, and their cross product (mju_makeFrame). Without `tangent` the second axis leans to y, or to z
 * if the normal is within 60 degrees of y.
 */
export function makeFrame(normal: Vec3, tangent?: Vec3): Mat3 {
  if (tangent) return alongTangent(normal, tangent);
  const [x, y, z] = normal;
  const toY = lt(abs(y), 0.5);

  // e - k n for the leaning axis e, and n x e; both have the length sqrt(1 - k²), which is never short
  const k = select(toY, y, z);
  const inverse = div(1, sqrt(sub(1, square(k))));
  const scaled = mul(k, inverse);
  const along = (n: Scalar, e: Scalar) => sub(mul(e, inverse), mul(n, scaled));
  return [
    ...normal,
    along(x, 0),
    along(y, select(toY, 1, 0)),
    along(z, select(toY, 0, 1)),
    mul(select(toY, neg(z), y), inverse),
    mul(select(toY, 0, neg(x)), inverse),
    mul(select(toY, x, 0), inverse),
  ];
}

/** The direction that the second axis leans to where a collider chooses none. */
export function defaultTangent(normal: Vec3): Vec3 {
  const toY = lt(abs(normal[1]), 0.5);
  return [0, select(toY, 1, 0), select(toY, 0, 1)];
}

function alongTangent(normal: Vec3, tangent: Vec3): Mat3 {
  // n x (t x n) is perpendicular to n even where t almost is n, which t - n (n . t) is not in float32
  const { unit } = normalize3(cross(normal, cross(tangent, normal)));
  return [...normal, ...unit, ...cross(normal, unit)];
}
