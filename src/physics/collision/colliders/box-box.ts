// box against box
import { array, breakIf, loop, variable, when, type LocalArray, type Variable } from "../../../trace/control.ts";
import {
  abs,
  add,
  and,
  clamp,
  div,
  eq,
  ge,
  gt,
  idiv,
  le,
  lt,
  max,
  mul,
  ne,
  neg,
  not,
  or,
  select,
  square,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import { add3, addScaled3, dot3, scale3, sub3, MINVAL, type Mat3, type Vec3 } from "../../../trace/vector.ts";
import { cycle, edgeNormal, separate, slack, type Separation } from "./box-axes.ts";
import type { Candidate, Collider, Shape } from "./types.ts";

/** A quadrilateral that four half-planes clip has at most eight corners. */
const MAX_CONTACTS = 8;
/** Room for corners that rounding adds (MuJoCo's mjBOXBOX_MAXVERT). */
const MAX_CORNERS = 12;

/** Contacts as they are found: how many, their distances and places, and the normal that they share. */
interface Found {
  readonly count: Variable;
  readonly dist: LocalArray;
  readonly pos: readonly LocalArray[];
  readonly normal: readonly Variable[];
}

/** Corners of a polygon: x and y in the reference face, z above it. */
interface Polygon {
  readonly count: Variable;
  readonly corners: readonly LocalArray[];
}

const polygon = (name: string): Polygon => ({
  count: variable(`${name}_n`, 0, "i32"),
  corners: ["x", "y", "z"].map((c) => array(`${name}_${c}`, MAX_CORNERS)),
});

const corner = (p: Polygon, k: Int): Vec3 => p.corners.map((c) => c.get(k)) as unknown as Vec3;

/** Adds a corner if `cond` holds and there is room. */
function push(p: Polygon, cond: Bool, values: Vec3): void {
  when(and(cond, lt(p.count.get(), MAX_CORNERS)), () => {
    const n = p.count.get();
    p.corners.forEach((c, k) => c.set(n, values[k]));
    p.count.set(add(n, 1));
  });
}

/** Cuts off what lies outside |x| <= sx, |y| <= sy, side by side (Sutherland-Hodgman). */
function clip(p: Polygon, sx: Scalar, sy: Scalar): void {
  const out = polygon("clipped");
  loop(4, (side) => {
    const alongX = lt(side, 2);
    const sign = select(or(eq(side, 0), eq(side, 2)), 1, -1);
    const limit = select(alongX, sx, sy);
    const height = (c: Vec3) => sub(mul(sign, select(alongX, c[0], c[1])), limit);
    const n = p.count.get();
    out.count.set(0);
    loop(n, (k) => {
      const last = eq(add(k, 1), n);
      const [from, to] = [corner(p, k), corner(p, select(last, 0, add(k, 1), "i32"))];
      const [d, e] = [height(from), height(to)];
      push(out, le(d, 0), from);
      const crosses = or(and(lt(d, 0), gt(e, 0)), and(gt(d, 0), lt(e, 0)));
      const t = div(d, select(crosses, sub(d, e), 1));
      push(out, crosses, from.map((x, c) => add(x, mul(t, sub(to[c], x)))) as unknown as Vec3);
    });
    loop(out.count.get(), (k) => p.corners.forEach((c, i) => c.set(k, out.corners[i].get(k))));
    p.count.set(out.count.get());
  });
}

/** The contacts of a face: the other box's face that is most opposed to it, clipped to its sides. */
function faceContacts(a: Shape, b: Shape, s: Separation, margin: Scalar, found: Found): void {
  const own = (x: readonly Scalar[], y: readonly Scalar[]) => x.map((v, k) => select(s.first, v, y[k]));
  const at = own(a.pos, b.pos) as unknown as Vec3;
  const offset = sub3(own(b.pos, a.pos) as unknown as Vec3, at);
  const reference = cycle(own(a.mat, b.mat) as unknown as Mat3, own(a.size, b.size) as unknown as Vec3, s.face);
  const [up, x, y] = reference.axes;
  const [height, sx, sy] = reference.size;

  // the incident face
  const mat = own(b.mat, a.mat) as unknown as Mat3;
  const slopes = [0, 1, 2].map((k) => abs(dot3(up, [mat[k], mat[3 + k], mat[6 + k]])));
  const second = gt(slopes[1], slopes[0]);
  const third = gt(slopes[2], max(slopes[0], slopes[1]));
  const which = select(third, 2, select(second, 1, 0, "i32"), "i32");
  const incident = cycle(mat, own(b.size, a.size) as unknown as Vec3, which);
  const above = select(ge(dot3(up, offset), 0), 1, -1);
  const side = select(gt(mul(above, dot3(up, incident.axes[0])), 0), -1, 1);
  const center = addScaled3(offset, mul(side, incident.size[0]), incident.axes[0]);
  const [du, dv] = [1, 2].map((k) => scale3(incident.axes[k], incident.size[k]));
  const local = (v: Vec3): Vec3 => [dot3(x, v), dot3(y, v), mul(above, dot3(up, v))];
  const middle = local(center);
  const [u, v] = [local(du), local(dv)];

  const p = polygon("corner");
  p.count.set(4);
  [
    [1, 1],
    [-1, 1],
    [-1, -1],
    [1, -1],
  ].forEach(([su, sv], k) => {
    p.corners.forEach((c, i) => {
      const base = i === 2 ? sub(middle[i], height) : middle[i];
      c.set(k, add(add(base, mul(su, u[i])), mul(sv, v[i])));
    });
  });
  clip(p, sx, sy);

  // every corner within the margin, but not twice
  const accepted = polygon("accepted");
  const near2 = mul(slack().duplicate, add(square(sx), square(sy)));
  loop(p.count.get(), (k) => {
    const [px, py, pz] = corner(p, k);
    const repeats = variable("repeats", 0, "i32");
    loop(accepted.count.get(), (q) => {
      const [qx, qy] = corner(accepted, q);
      const same = lt(add(square(sub(qx, px)), square(sub(qy, py))), near2);
      repeats.set(select(same, 1, repeats.get(), "i32"));
      breakIf(same);
    });
    push(accepted, and(le(pz, margin), eq(repeats.get(), 0)), [px, py, pz]);
  });

  const out = mul(above, select(s.first, 1, -1));
  found.normal.forEach((n, c) => n.set(mul(out, up[c])));
  loop(accepted.count.get(), (k) => {
    breakIf(ge(k, MAX_CONTACTS));
    const [px, py, pz] = corner(accepted, k);
    const rise = mul(above, add(height, mul(0.5, pz)));
    const pos = add3(at, addScaled3(addScaled3(scale3(x, px), py, y), rise, up));
    found.dist.set(k, pz);
    found.pos.forEach((f, c) => f.set(k, pos[c]));
    found.count.set(add(k, 1));
  });
}

/** The contact of two edges: midway between the nearest points of the edges that lie farthest out. */
function edgeContact(a: Shape, b: Shape, s: Separation, found: Found): void {
  const { sign } = slack();
  const offset = sub3(b.pos, a.pos);
  const [e, e1, e2] = s.edges.a.axes;
  const [f, f1, f2] = s.edges.b.axes;
  const [length1, ...size1] = s.edges.a.size;
  const [length2, ...size2] = s.edges.b.size;
  const raw = edgeNormal(s.edges.a, s.edges.b);
  const towards = select(lt(dot3(raw, offset), 0), -1, 1);
  const axis = scale3(raw, towards);

  // a side that the axis runs along supports it at both corners: then the nearer one counts
  const along1 = [dot3(axis, e1), dot3(axis, e2)];
  const along2 = [dot3(axis, f1), dot3(axis, f2)];
  const doubtful = (along: readonly Scalar[]) => {
    const first = lt(abs(along[0]), sign);
    return [first, and(not(first), lt(abs(along[1]), sign))];
  };
  const [flips1, flips2] = [doubtful(along1), doubtful(along2)];
  const b12 = dot3(e, f);
  const denom = max(add(square(dot3(e1, f)), square(dot3(e2, f))), MINVAL);

  const best = variable("best", 1e30);
  const w1 = [0, 1, 2].map((k) => variable(`witness1_${k}`, 0));
  const w2 = [0, 1, 2].map((k) => variable(`witness2_${k}`, 0));
  loop(4, (q) => {
    const [flip1, flip2] = [ge(q, 2), ne(sub(q, mul(2, idiv(q, 2))), 0)];
    breakIf(or(and(flip1, not(or(flips1[0], flips1[1]))), and(flip2, not(or(flips2[0], flips2[1])))));
    const at = (along: readonly Scalar[], size: readonly Scalar[], k: number, flip: Bool) => {
      const out = select(ge(along[k], 0), size[k], neg(size[k]));
      return select(flip, neg(out), out);
    };
    const c1 = add3(
      scale3(e1, at(along1, size1, 0, and(flip1, flips1[0]))),
      scale3(e2, at(along1, size1, 1, and(flip1, flips1[1]))),
    );
    const c2 = sub3(
      sub3(offset, scale3(f1, at(along2, size2, 0, and(flip2, flips2[0])))),
      scale3(f2, at(along2, size2, 1, and(flip2, flips2[1]))),
    );
    // nearest points of the two segments
    const gap = sub3(c2, c1);
    const [alongE, alongF] = [dot3(e, gap), dot3(f, gap)];
    const first = clamp(div(sub(alongE, mul(b12, alongF)), denom), neg(length1), length1);
    const t = clamp(sub(mul(b12, first), alongF), neg(length2), length2);
    const u = clamp(add(alongE, mul(b12, t)), neg(length1), length1);
    const [p1, p2] = [addScaled3(c1, u, e), addScaled3(c2, t, f)];
    const apart = sub3(p2, p1);
    const apart2 = dot3(apart, apart);
    when(lt(apart2, best.get()), () => {
      best.set(apart2);
      w1.forEach((w, k) => w.set(p1[k]));
      w2.forEach((w, k) => w.set(p2[k]));
    });
  });
  const [p1, p2] = [w1, w2].map((w) => w.map((x) => x.get()) as unknown as Vec3);
  const dist = dot3(sub3(p2, p1), axis);
  const pos = addScaled3(a.pos, 0.5, add3(p1, p2));
  found.normal.forEach((n, k) => n.set(axis[k]));
  found.dist.set(0, dist);
  found.pos.forEach((f_, k) => f_.set(0, pos[k]));
  found.count.set(select(gt(dist, s.tolerance), 0, 1, "i32"));
}

/**
 * Contacts of two boxes (mjc_BoxBox): up to eight where a face of one meets the other, one where two edges do, in
 * runtime loops.
 */
export const boxBox: Collider = (a, b, margin) => {
  const found: Found = {
    count: variable("box_contacts", 0, "i32"),
    dist: array("box_dist", MAX_CONTACTS),
    pos: [0, 1, 2].map((c) => array(`box_pos${c}`, MAX_CONTACTS)),
    normal: [0, 1, 2].map((c) => variable(`box_normal${c}`, c === 0 ? 1 : 0)),
  };
  const s = separate(a, b, margin);
  when(not(s.apart), () => {
    when(
      s.isEdge,
      () => edgeContact(a, b, s, found),
      () => faceContacts(a, b, s, margin, found),
    );
  });
  const normal = found.normal.map((n) => n.get()) as unknown as Vec3;
  const count = found.count.get();
  return Array.from({ length: MAX_CONTACTS }, (_, k): Candidate => {
    const pos = found.pos.map((p) => p.get(k)) as unknown as Vec3;
    return { dist: found.dist.get(k), pos, normal, exists: gt(count, k) };
  });
};
