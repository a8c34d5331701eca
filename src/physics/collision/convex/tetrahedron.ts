// the sides of the tetrahedron in which MuJoCo's search looks for the origin
import { div, eq, lt, max, or, select, type Bool, type Int, type Scalar } from "../../../trace/scalar.ts";
import { cross, dot3, norm3, scale3, select3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { cornerAt, type Corners } from "./registers.ts";

/** MuJoCo's mjMINVAL, in units of the pair. */
export const TINY = 1e-15;
const FAR = 1e30;

/** Corners of a tetrahedron's faces, each opposite to one of its own. */
const FACES = [
  [2, 1, 3],
  [0, 2, 3],
  [1, 0, 3],
  [0, 1, 2],
];

/** A face: the corner opposite to it, its unit normal, and how far it is from the origin along that. */
interface Side {
  readonly k: Int;
  readonly out: Vec3;
  readonly dist: Scalar;
}

const nearer = (p: Side, q: Side): Side => {
  const first = lt(p.dist, q.dist);
  return {
    k: select(first, p.k, q.k, "i32"),
    out: select3(first, p.out, q.out),
    dist: select(first, p.dist, q.dist),
  };
};

/** The face of the first four vertices that is nearest to the origin, signed, and whether the origin is on one of them. */
export function nearestSide(w: Corners): { least: Side; none: Bool } {
  const sides = FACES.map((corners, k) => {
    const [v1, v2, v3] = corners.map((i) => cornerAt(w, i));
    const across = cross(sub3(v3, v1), sub3(v2, v1));
    const norm = norm3(across);
    const thin = lt(norm, TINY);
    const out = scale3(across, div(1, max(norm, 1e-30)));
    return { k, out, dist: select(thin, FAR, dot3(out, v1)) };
  });
  const least = nearer(nearer(sides[0], sides[1]), nearer(sides[2], sides[3]));
  const none = sides.map((side) => eq(side.dist, 0)).reduce<Bool>(or, false);
  return { least, none };
}
