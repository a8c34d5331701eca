// the touch sensor: normal forces of contacts whose line of force meets a site's volume
import {
  add,
  and,
  div,
  eq,
  ge,
  gt,
  isNode,
  le,
  lt,
  max,
  min,
  mul,
  neg,
  or,
  select,
  sqrt,
  square,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { variable } from "../../trace/control.ts";
import { dot3, mulMatTVec, neg3, row, select3, sub3, type Vec3 } from "../../trace/vector.ts";
import { mjtGeom } from "../../model/enums.ts";
import type { Contacts } from "../constraint/constraint-forces.ts";
import type { WorldData, ModelView } from "../view.ts";

/** The times in which a ray p + t v is inside an unbounded quadric a t² + 2 b t + c <= 0; empty if hi < lo. */
function inside(a: Scalar, b: Scalar, c: Scalar): { lo: Scalar; hi: Scalar } {
  const flat = lt(a, 1e-12);
  const disc = sub(square(b), mul(a, c));
  const root = sqrt(max(disc, 0));
  const inverse = div(1, max(a, 1e-12));
  const misses = lt(disc, 0);
  // along the axis the ray is inside for ever, or never
  const within = le(c, 0);
  const lo = select(flat, select(within, -1e10, 1), select(misses, 1, mul(sub(neg(b), root), inverse)));
  const hi = select(flat, select(within, 1e10, 0), select(misses, 0, mul(sub(root, b), inverse)));
  return { lo, hi };
}

/** The times in which a ray is between -h and h along one axis. */
function slab(p: Scalar, v: Scalar, h: Scalar): { lo: Scalar; hi: Scalar } {
  const tiny = lt(max(v, neg(v)), 1e-12);
  const safe = select(tiny, 1, v);
  const [s, t] = [div(sub(neg(h), p), safe), div(sub(h, p), safe)];
  const within = le(max(p, neg(p)), h);
  return {
    lo: select(tiny, select(within, -1e10, 1), min(s, t)),
    hi: select(tiny, select(within, 1e10, 0), max(s, t)),
  };
}

const meets = (...spans: { lo: Scalar; hi: Scalar }[]): Bool => {
  const lo = spans.map((s) => s.lo).reduce(max, 0);
  const hi = spans.map((s) => s.hi).reduce(min);
  return ge(hi, lo);
};

/** Whether the ray from p along the unit vector v meets a volume centred at the origin (mju_rayGeom >= 0). */
export function rayMeets(type: number, size: readonly number[], p: Vec3, v: Vec3): Bool {
  const ball = (q: Vec3, r: number) => inside(dot3(v, v), dot3(q, v), sub(dot3(q, q), r * r));
  const round = (r: number) => {
    const flat = (a: Vec3, b: Vec3) => add(mul(a[0], b[0]), mul(a[1], b[1]));
    return inside(flat(v, v), flat(p, v), sub(flat(p, p), r * r));
  };
  switch (type) {
    case mjtGeom.SPHERE:
      return meets(ball(p, size[0]));
    case mjtGeom.CAPSULE: {
      const end = (z: number): Vec3 => [p[0], p[1], sub(p[2], z)];
      const side = meets(round(size[0]), slab(p[2], v[2], size[1]));
      return or(side, or(meets(ball(end(size[1]), size[0])), meets(ball(end(-size[1]), size[0]))));
    }
    case mjtGeom.ELLIPSOID: {
      const [q, w] = [p, v].map((x) => x.map((c, k) => mul(c, 1 / size[k])) as unknown as Vec3);
      return meets(inside(dot3(w, w), dot3(q, w), sub(dot3(q, q), 1)));
    }
    case mjtGeom.CYLINDER:
      return meets(round(size[0]), slab(p[2], v[2], size[1]));
    default:
      return meets(...[0, 1, 2].map((k) => slab(p[k], v[k], size[k])));
  }
}

/** The touch sensor of a site (mjSENS_TOUCH), N. */
export function touch(m: ModelView, d: WorldData, contacts: Contacts, site: number): Scalar {
  const { model } = m;
  const body = model.site_bodyid[site];
  const size = Array.from({ length: 3 }, (_, k) => model.site_size[3 * site + k]);
  const mat = d.site_xmat.mat3(site);
  const pos = d.site_xpos.vec3(site);
  const total = variable("touch", 0);
  const is = (b: Int): Bool => (isNode(b) ? eq(b, body) : b === body);
  contacts.each((c) => {
    const normal = row(c.frame, 0);
    const ray = select3(is(c.body2), neg3(normal), normal);
    const hit = rayMeets(model.site_type[site], size, mulMatTVec(mat, sub3(c.pos, pos)), mulMatTVec(mat, ray));
    const counts = and(and(or(is(c.body1), is(c.body2)), gt(c.force[0], 0)), hit);
    total.set(add(total.get(), select(counts, c.force[0], 0)));
  });
  return total.get();
}
