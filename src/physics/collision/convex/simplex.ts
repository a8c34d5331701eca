// the simplex of GJK: up to four points of A - B, and the point of it nearest to the origin
import { breakIf, loop, variable, when, type Variable } from "../../../trace/control.ts";
import { current } from "../../../trace/graph.ts";
import {
  add,
  and,
  band,
  bor,
  clamp,
  div,
  eq,
  firstTrailingBit,
  ge,
  gt,
  le,
  lt,
  max,
  mul,
  neg,
  not,
  or,
  select,
  square,
  sub,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import { add3, addScaled3, cross, dot3, scale3, select3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { vector, type VectorVariable } from "./registers.ts";

/** A point of A - B and that of A which it comes from. */
export interface Vertex {
  readonly w: Vec3;
  readonly a: Vec3;
  /** Which corners of A and of B these are (`Core.corner`), in numbers; the third is not used. */
  readonly ids: Vec3;
}

/** Slots beyond `count` repeat the first. Weights make the nearest point of the three first slots. */
export interface Simplex {
  readonly count: Variable;
  readonly w: readonly VectorVariable[];
  readonly a: readonly VectorVariable[];
  readonly ids: readonly VectorVariable[];
  readonly weight: readonly Variable[];
}

export const simplex = (): Simplex => ({
  count: variable("simplex_n", 0, "i32"),
  w: [0, 1, 2, 3].map((k) => vector(`simplex_w${k}_`)),
  a: [0, 1, 2, 3].map((k) => vector(`simplex_a${k}_`)),
  ids: [0, 1, 2, 3].map((k) => vector(`simplex_ids${k}_`)),
  weight: [0, 1, 2].map((k) => variable(`simplex_l${k}`, 0)),
});

const same = (a: Vec3, b: Vec3): Bool => and(eq(a[0], b[0]), and(eq(a[1], b[1]), eq(a[2], b[2])));

/** Whether a point is a vertex already. */
export const holds = (s: Simplex, w: Vec3): Bool =>
  and(
    gt(s.count.get(), 0),
    s.w.map((x) => same(x.get(), w)).reduce((a, b) => or(a, b)),
  );

/** Adds a vertex; a first one fills all slots. */
export function insert(s: Simplex, v: Vertex): void {
  const n = s.count.get();
  [0, 1, 2, 3].forEach((k) => {
    const here = or(eq(n, k), eq(n, 0));
    s.w[k].setIf(here, v.w);
    s.a[k].setIf(here, v.a);
    s.ids[k].setIf(here, v.ids);
  });
  s.count.set(add(n, 1));
}

/** Whether a point makes a segment of one vertex, or a triangle of two, that has a length or an area. */
export function widens(s: Simplex, w: Vec3): Bool {
  const edge = sub3(s.w[1].get(), s.w[0].get());
  const to = sub3(w, s.w[0].get());
  const wide = cross(to, edge);
  const far = gt(dot3(wide, wide), mul(1e-10, dot3(edge, edge)));
  const one = eq(s.count.get(), 1);
  return or(and(one, gt(dot3(to, to), 1e-8)), and(not(one), far));
}

/** The points of A and of B whose difference is the nearest point. */
export function witnesses(s: Simplex): { a: Vec3; b: Vec3 } {
  const mix = (of: readonly VectorVariable[]) =>
    [0, 1, 2].map((k) => scale3(of[k].get(), s.weight[k].get())).reduce(add3);
  const a = mix(s.a);
  return { a, b: sub3(a, mix(s.w)) };
}

/** The nearest point of what `reduce` found. */
export interface Nearest {
  /** From the target to the nearest point. */
  readonly x: Vec3;
  readonly distance2: Scalar;
  /** The target is inside of a tetrahedron. */
  readonly inside: Bool;
  /** Drops the vertices that do not count. */
  commit(): void;
}

/** A triangle thinner than this (squared sine) says little of its normal. */
const THIN = 1e-5;

/** Vertices 0 1 2 of face 0, 0 1 3 of 1, 0 2 3 of 2, 1 2 3 of 3. */
const corners = (f: Int, of: readonly Vec3[]): [Vec3, Vec3, Vec3] => [
  select3(eq(f, 3), of[1], of[0]),
  select3(ge(f, 2), of[2], of[1]),
  select3(eq(f, 0), of[2], of[3]),
];

/** The face that is largest. */
export function largest(s: Simplex): Vertex[] {
  const most = variable("largest_area", -1);
  const face = variable("largest", 0, "i32");
  const of = (slots: readonly VectorVariable[], f: Int) =>
    corners(
      f,
      slots.map((v) => v.get()),
    );
  loop(4, (f) => {
    const [a, b, c] = of(s.w, f);
    const normal = cross(sub3(b, a), sub3(c, a));
    const area2 = dot3(normal, normal);
    const larger = gt(area2, most.get());
    most.set(select(larger, area2, most.get()));
    face.set(select(larger, f, face.get(), "i32"));
  });
  const [onA, ids] = [of(s.a, face.get()), of(s.ids, face.get())];
  return of(s.w, face.get()).map((w, k) => ({ w, a: onA[k], ids: ids[k] }));
}

/** Squared height of a tetrahedron, in sizes of the pair, below which it is flat. */
const FLAT = 1e-12;

type Triangle = readonly [Vec3, Vec3, Vec3];
type Face = ReturnType<typeof faceOf>;

function faceOf([a, b, c]: Triangle) {
  const [ab, ac] = [sub3(b, a), sub3(c, a)];
  const normal = cross(ab, ac);
  return { ab, ac, normal, height: dot3(normal, a), area2: dot3(normal, normal) };
}

/** Whether the target is on the side that the fourth vertex is not on; flat tetrahedra have no inside, whatever rounding says. */
function isOutside(a: Vec3, opposite: Vec3, { normal, height, area2 }: Face, isAlone: Bool): Bool {
  const beyond = dot3(normal, sub3(opposite, a));
  const flat = le(square(beyond), mul(FLAT, area2));
  return or(or(isAlone, flat), le(mul(neg(height), beyond), 0));
}

/**
 * Looks at the faces that the target is outside of, in their order. Worlds of a vector have few, others each: where there is
 * room all are told first, and each world then goes on to its own next one.
 */
function eachOutside(full: Bool, at: readonly Vec3[], look: (f: Int, triangle: Triangle, face: Face) => void): void {
  const left = variable("faces_outside", toU32(1), "u32");
  when(full, () => {
    const bits = [0, 1, 2, 3].map((f) => {
      const triangle = corners(f, at);
      return select(isOutside(triangle[0], at[3 - f], faceOf(triangle), false), 1 << f, 0, "u32");
    });
    left.set(bits.reduce(bor));
  });
  loop(
    4,
    () => {
      const bits = left.get();
      breakIf(eq(bits, 0));
      left.set(band(bits, sub(bits, 1)));
      const f = firstTrailingBit(bits);
      const triangle = corners(f, at);
      look(f, triangle, faceOf(triangle));
    },
    { label: "faces" },
  );
}

/**
 * The point of the simplex that is nearest to `target`: the best over all faces it lies outside of, and their edges. `ordered`
 * keeps two vertices in their order.
 */
export function reduce(s: Simplex, target: Vec3, ordered = false): Nearest {
  const n = s.count.get();
  const at = s.w.map((w) => sub3(w.get(), target));
  const least = variable("nearest2", 1e30);
  const x = vector("nearest");
  const weights = [0, 1, 2].map((k) => variable(`nearest_l${k}`, 0));
  const face = variable("nearest_face", 0, "i32");
  const outside = variable("nearest_outside", 0, "i32");
  const full = eq(n, 4);

  const look = (f: Int, [a, b, c]: Triangle, { ab, ac, normal, height, area2 }: Face) => {
    outside.set(1);
    const offer = (better: Bool, d2: Scalar, p: Vec3, l: Vec3) => {
      least.set(select(better, d2, least.get()));
      x.setIf(better, p);
      weights.forEach((w, k) => w.set(select(better, l[k], w.get())));
      face.set(select(better, f, face.get(), "i32"));
    };
    const edge = (p: Vec3, q: Vec3, place: (l0: Scalar, l1: Scalar) => Vec3, allowed: Bool) => {
      const e = sub3(q, p);
      const length2 = dot3(e, e);
      const t = clamp(div(neg(dot3(p, e)), max(length2, 1e-30)), 0, 1);
      const point = addScaled3(p, t, e);
      const d2 = dot3(point, point);
      offer(and(allowed, lt(d2, least.get())), d2, point, place(sub(1, t), t));
    };
    const parts = [dot3(cross(b, c), normal), dot3(cross(c, a), normal), dot3(cross(a, b), normal)];
    const within = and(and(ge(parts[0], 0), ge(parts[1], 0)), and(ge(parts[2], 0), gt(area2, 1e-30)));
    const inverse = div(1, max(add(add(parts[0], parts[1]), parts[2]), 1e-30));
    const l = parts.map((p) => mul(p, inverse)) as unknown as Vec3;
    const along = mul(height, div(1, max(area2, 1e-30)));
    const mixed = add3(add3(scale3(a, l[0]), scale3(b, l[1])), scale3(c, l[2]));
    const thick = gt(area2, mul(THIN, mul(dot3(ab, ab), dot3(ac, ac))));
    const point = select3(thick, scale3(normal, along), mixed);
    const d2 = select(thick, mul(height, along), dot3(mixed, mixed));
    offer(and(within, lt(d2, least.get())), d2, point, l);
    const not3 = not(within);
    edge(a, b, (p, q) => [p, q, 0], not3);
    const more = ordered ? and(not3, gt(n, 2)) : not3;
    edge(b, c, (p, q) => [0, p, q], more);
    edge(a, c, (p, q) => [p, 0, q], more);
  };
  if (current().roomy) eachOutside(full, at, look);
  else
    loop(
      select(full, 4, 1, "i32"),
      (f) => {
        const triangle = corners(f, at);
        const known = faceOf(triangle);
        const opposite = select3(eq(f, 0), at[3], select3(eq(f, 1), at[2], select3(eq(f, 2), at[1], at[0])));
        when(isOutside(triangle[0], opposite, known, not(full)), () => look(f, triangle, known));
      },
      { label: "faces" },
    );

  return {
    x: x.get(),
    distance2: least.get(),
    inside: and(full, eq(outside.get(), 0)),
    commit() {
      const l = weights.map((w) => w.get());
      const [ka, kb, kc] = l.map((w) => gt(w, 0));
      const both = and(ka, kb);
      const all = and(both, kc);
      const second = or(both, and(or(ka, kb), kc));
      const f = face.get();
      for (const slots of [s.w, s.a, s.ids]) {
        const [a, b, c] = corners(
          f,
          slots.map((v) => v.get()),
        );
        const first = select3(ka, a, select3(kb, b, c));
        slots[0].set(first);
        slots[1].set(select3(both, b, select3(second, c, first)));
        slots[2].set(select3(all, c, first));
        slots[3].set(first);
      }
      s.weight[0].set(select(ka, l[0], select(kb, l[1], l[2])));
      s.weight[1].set(select(both, l[1], select(second, l[2], 0)));
      s.weight[2].set(select(all, l[2], 0));
      s.count.set(add(1, add(select(second, 1, 0, "i32"), select(all, 1, 0, "i32"))));
    },
  };
}
