// sphere against sphere
import { column, cross, sub3 } from "../../../trace/vector.ts";
import { spherePair } from "./sphere-pair.ts";
import type { Collider } from "./types.ts";

/** mjc_SphereSphere */
export const sphereSphere: Collider = (a, b) => {
  const across = cross(column(a.mat, 2), column(b.mat, 2));
  return [spherePair({ center: a.pos, offset: sub3(b.pos, a.pos), radii: [a.size[0], b.size[0]], across })];
};
