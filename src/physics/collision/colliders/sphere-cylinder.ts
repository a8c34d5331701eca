// sphere against cylinder
import { abs, add, and, div, gt, lt, max, mul, neg, not, or, select, sqrt, sub } from "../../../trace/scalar.ts";
import { add3, addScaled3, column, cross, dot3, scale3, select3, sub3, MINVAL } from "../../../trace/vector.ts";
import { spherePair } from "./sphere-pair.ts";
import type { Collider } from "./types.ts";

/** The sphere against the cylinder's side, cap or rim, whichever is nearest (mjc_SphereCylinder). */
export const sphereCylinder: Collider = (a, b) => {
  const axis = column(b.mat, 2);
  const [radius, half] = b.size;
  const radius1 = a.size[0];
  const offset = sub3(b.pos, a.pos);
  const height = neg(dot3(axis, offset));
  const top = gt(height, 0);

  // from the sphere's centre to the nearest point of the axis
  const toAxis = addScaled3(offset, height, axis);
  const distance2 = dot3(toAxis, toAxis);
  const distance = sqrt(distance2);

  // inside both extents, the way out is the shorter one
  const beside = lt(abs(height), half);
  const over = lt(distance, radius);
  const capCloser = lt(sub(half, abs(height)), sub(radius, distance));
  const side = and(beside, or(not(over), not(capCloser)));
  const cap = and(over, or(not(beside), capCloser));

  // a point on the rim is a sphere of no radius
  const rim = add3(
    addScaled3(offset, select(top, half, neg(half)), axis),
    scale3(toAxis, neg(div(radius, max(distance, MINVAL)))),
  );
  const across = cross(column(a.mat, 2), axis);
  const round = spherePair({
    center: a.pos,
    offset: select3(side, toAxis, rim),
    radii: [radius1, select(side, radius, 0)],
    across,
  });

  const dist = sub(sub(abs(height), half), radius1);
  const normal = scale3(axis, select(top, -1, 1));
  const flat = { dist, pos: addScaled3(a.pos, add(mul(dist, 0.5), radius1), normal), normal };
  return [
    {
      dist: select(cap, flat.dist, round.dist),
      pos: select3(cap, flat.pos, round.pos),
      normal: select3(cap, flat.normal, round.normal),
      exists: true,
    },
  ];
};
