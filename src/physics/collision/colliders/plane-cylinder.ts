// plane against cylinder
import { add, div, gt, lt, max, mul, neg, select, sqrt, sub, type Scalar } from "../../../trace/scalar.ts";
import {
  add3,
  addScaled3,
  column,
  cross,
  dot3,
  scale3,
  select3,
  sub3,
  MINVAL,
  type Vec3,
} from "../../../trace/vector.ts";
import { MINVAL2, type Candidate, type Collider } from "./types.ts";

/**
 * The lowest point of the lower rim, the point of the upper rim beside it, and two that complete an equilateral
 * triangle on the lower rim (mjc_PlaneCylinder).
 */
export const planeCylinder: Collider = (a, b) => {
  const normal = column(a.mat, 2);
  const [radius, half] = b.size;
  const upright = column(b.mat, 2);
  const flip = gt(dot3(normal, upright), 0);
  const axis = upright.map((x) => select(flip, neg(x), x)) as unknown as Vec3;
  const centre = dot3(sub3(b.pos, a.pos), normal);

  // the steepest way down across the axis; a disk level with the plane takes its own x axis
  const down = cross(axis, cross(axis, normal));
  const length2 = dot3(down, down);
  const unit = scale3(down, div(1, max(sqrt(length2), MINVAL)));
  const radial = scale3(select3(lt(length2, MINVAL2), column(b.mat, 0), unit), radius);

  const lowest = dot3(radial, normal);
  const rim = scale3(axis, half);
  const rise = mul(dot3(axis, normal), half);
  const sideways = scale3(cross(radial, axis), Math.sqrt(3) / 2);
  const contact = (dist: Scalar, offset: Vec3): Candidate => {
    return { dist, pos: addScaled3(add3(b.pos, offset), mul(dist, -0.5), normal), normal, exists: true };
  };

  const bottom = add(centre, rise);
  const third = sub(bottom, mul(lowest, 0.5));
  const inner = addScaled3(rim, -0.5, radial);
  return [
    contact(add(bottom, lowest), add3(radial, rim)),
    contact(add(sub(centre, rise), lowest), sub3(radial, rim)),
    contact(third, add3(inner, sideways)),
    contact(third, sub3(inner, sideways)),
  ];
};
