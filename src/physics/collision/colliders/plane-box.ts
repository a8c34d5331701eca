// plane against box
import {
  abs,
  add,
  and,
  le,
  mul,
  ne,
  neg,
  not,
  or,
  select,
  sub,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import { add3, addScaled3, column, dot3, neg3, scale3, sub3, type Vec3 } from "../../../trace/vector.ts";
import type { Candidate, Collider } from "./types.ts";

/** A corner: its height above the box's centre along the plane's normal, and its offset from that centre. */
type Corner = readonly [Scalar, ...Vec3];

const differ = (a: Bool, b: Bool): Bool => ne(a as Scalar, b as Scalar);
const pick = (c: Bool, a: Corner, b: Corner): Corner => a.map((x, i) => select(c, x, b[i])) as never;

/**
 * The four corners below the box's centre, in the order of their index (bit k of it: the upper end of axis k)
 * (mjc_PlaneBox). Of two opposite corners that lie exactly level with the centre only the one of lower index counts,
 * where MuJoCo may take both.
 */
export const planeBox: Collider = (a, b) => {
  const normal = column(a.mat, 2);
  const half = [0, 1, 2].map((k) => scale3(column(b.mat, k), b.size[k]));
  const [gx, gy, gz] = half.map((h) => dot3(normal, h));
  const centre = dot3(sub3(b.pos, a.pos), normal);

  // corners 0 to 3, whose opposites are 7 to 4: one of each pair is below
  const heights = [sub(neg(gx), gy), sub(gx, gy), sub(gy, gx), add(gx, gy)].map((g) => sub(g, gz));
  const [hx, hy, hz] = half;
  const across = [neg3(add3(hx, hy)), sub3(hx, hy), sub3(hy, hx), add3(hx, hy)];
  const below = heights.map((h) => le(h, 0));
  const low = heights.map((h, k): Corner => {
    const corner = sub3(across[k], hz);
    const offset = corner.map((x) => select(below[k], x, neg(x))) as unknown as Vec3;
    return [neg(abs(h)), ...offset];
  });

  // those of 0 to 3 come first, upwards; the others' opposites follow downwards: they fill up from the back
  const [c0, c1, c2, c3] = low;
  const [b0, b1, b2] = below;
  const sorted = [
    pick(b0, c0, pick(b1, c1, pick(b2, c2, c3))),
    pick(and(b0, b1), c1, pick(or(and(b2, or(b0, b1)), not(or(or(b0, b1), b2))), c2, c3)),
    pick(not(or(b0, b1)), c1, pick(differ(differ(b0, b1), b2), c2, c3)),
    pick(b0, pick(b1, pick(b2, c3, c2), c1), c0),
  ];
  return sorted.map(([height, ...offset]): Candidate => {
    const dist = add(centre, height);
    return { dist, pos: addScaled3(add3(b.pos, offset), mul(dist, -0.5), normal), normal, exists: true };
  });
};
