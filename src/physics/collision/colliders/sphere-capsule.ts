// sphere against capsule
import { clamp, neg, square } from "../../../trace/scalar.ts";
import { addScaled3, column, cross, dot3, sub3 } from "../../../trace/vector.ts";
import { spherePair } from "./sphere-pair.ts";
import type { Collider } from "./types.ts";

/** The sphere against the nearest point of the capsule's segment (mjc_SphereCapsule). */
export const sphereCapsule: Collider = (a, b) => {
  const axis = column(b.mat, 2);
  const [radius, half] = b.size;
  const offset = sub3(b.pos, a.pos);
  const along = clamp(neg(dot3(axis, offset)), neg(half), half);
  const across = cross(column(a.mat, 2), axis);
  const radii = [a.size[0], radius] as const;
  return [spherePair({ center: a.pos, offset: addScaled3(offset, along, axis), radii, across, reach2: square(half) })];
};
