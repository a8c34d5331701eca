// the polytope that MuJoCo's search grows around the origin: faces in the order that they come in, with their neighbours
import { array, breakIf, increase, loop, table, variable, when } from "../../../trace/control.ts";
import {
  add,
  and,
  band,
  bor,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  max,
  mul,
  or,
  select,
  shl,
  shr,
  sub,
  toI32,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import { add3, cross, dot3, scale3, select3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { ID, MOST_VERTICES, mostFaces, type Polytope } from "./polytope.ts";
import { cornerAt, vector, type Corners } from "./registers.ts";

/** In no list any longer, and gone. */
const [UNLISTED, GONE] = [-1, -2];
/** No face is that far. */
const FAR = 1e30;

/** What the first vertices are: a tetrahedron, a triangle and one more on either side, or an edge and three around it. */
export const FIRST = { TETRAHEDRON: 0, TRIANGLE: 1, EDGE: 2 } as const;
/** Corners of a tetrahedron's faces, then of those over both sides of a triangle, then of those around an edge. */
const CORNERS = [
  0, 1, 2, 0, 3, 1, 0, 2, 3, 3, 2, 1, 4, 0, 1, 4, 2, 0, 4, 1, 2, 3, 1, 0, 3, 0, 2, 3, 2, 1, 0, 2, 3, 0, 4, 2, 0, 3, 4,
  1, 3, 2, 1, 2, 4, 1, 4, 3,
];
/** Neighbours across edges; the last two bodies have the same. */
const NEIGHBOURS = [1, 3, 2, 2, 3, 0, 0, 3, 1, 2, 0, 1, 1, 3, 2, 2, 4, 0, 0, 5, 1, 5, 0, 4, 3, 1, 5, 4, 2, 3];

/** One after the other, of three. */
const after = (i: Int): Int => select(eq(i, 2), 0, add(i, 1), "i32");

/** Faces over the vertices of a polytope, in its room. A face's `out` leads from the origin to its plane. */
export function marginFaces(p: Polytope) {
  const { w, vertices } = p;
  const { out, square, corners } = p.room;
  const most = mostFaces();
  const across = array("own_across", 3 * most, "i32");
  const place = array("own_place", most, "i32");
  const list = array("own_list", most, "i32");
  const stack = array("own_stack", most, "i32");
  const rim = array("own_rim", most, "i32");
  const [made, listed, depth, edges] = ["made", "listed", "depth", "edges"].map((x) => variable(`own_${x}`, 0, "i32"));
  const centre = vector("own_centre");
  const broken = variable("own_broken", 0, "i32");
  const nearest = variable("own_nearest", 0, "i32");
  const least = variable("own_least", 0);

  const corner = (face: Int, k: Int): Int => toI32(band(shr(toU32(corners.get(face)), toU32(mul(ID, k))), 2 ** ID - 1));
  const write = (to: Corners, i: Int, v: Vec3) => v.forEach((x, k) => to[k].set(i, x));

  /** Adds a face, and lists it if its distance is one of an end. */
  const attach = (ends: readonly [Int, Int, Int], beside: readonly Int[], low: Scalar, high: Scalar): void => {
    const face = made.get();
    const [v1, v2, v3] = ends.map((i) => cornerAt(w, i));
    const n = cross(sub3(v1, v2), sub3(v2, v3));
    const nn = dot3(n, n);
    const foot = scale3(n, div(dot3(n, v2), max(nn, 1e-30)));
    const v = vector("own_foot", scale3(foot, select(lt(dot3(foot, sub3(v1, centre.get())), 0), -1, 1)));
    const distance = dot3(v.get(), v.get());
    write(out, face, v.get());
    square.set(face, distance);
    const packed = ends.map((i, k) => shl(toU32(i), ID * k));
    corners.set(face, bor(bor(packed[0], packed[1]), packed[2]));
    beside.forEach((x, k) => across.set(add(mul(3, face), k), x));
    broken.set(select(gt(distance, 0), broken.get(), 1, "i32"));
    place.set(face, UNLISTED);
    when(and(ge(distance, low), le(distance, high)), () => {
      place.set(face, listed.get());
      list.set(listed.get(), face);
      increase(listed, 1);
    });
    made.set(add(face, 1));
  };

  const remove = (face: Int): void => {
    const at = place.get(face);
    when(ge(at, 0), () => {
      listed.set(sub(listed.get(), 1));
      const last = list.get(listed.get());
      list.set(at, last);
      place.set(last, at);
    });
    place.set(face, GONE);
  };

  /** Removes what sees a point, from `face` on, and walks around it. */
  const open = (face: Int, point: Vec3, slack: Scalar): void => {
    remove(face);
    edges.set(0);
    stack.set(0, mul(16, face));
    depth.set(1);
    loop(
      4 * most,
      () => {
        breakIf(eq(depth.get(), 0));
        const top = variable("own_top", 0, "i32");
        top.set(sub(depth.get(), 1));
        const entry = variable("own_entry", 0, "i32");
        entry.set(stack.get(top.get()));
        const bits = toU32(entry.get());
        const turn = toI32(band(bits, 3));
        const from = toI32(shr(bits, 4));
        const begun = add(toI32(band(shr(bits, 2), 3)), turn);
        const edge = select(ge(begun, 3), sub(begun, 3), begun, "i32");
        const other = variable("own_other", 0, "i32");
        when(
          eq(turn, 3),
          () => depth.set(top.get()),
          () => {
            other.set(across.get(add(mul(3, from), edge)));
            stack.set(top.get(), add(entry.get(), 1));
            when(gt(place.get(other.get()), GONE), () => {
              const vertex = corner(from, after(edge));
              const is = (k: number) => eq(corner(other.get(), k), vertex);
              const back = select(is(0), 0, select(is(1), 1, 2, "i32"), "i32");
              const height = sub(dot3(cornerAt(out, other.get()), point), square.get(other.get()));
              when(
                gt(height, slack),
                () => {
                  stack.set(add(top.get(), 1), add(mul(16, other.get()), add(mul(4, back), 1)));
                  depth.set(add(top.get(), 2));
                  remove(other.get());
                },
                () => {
                  rim.set(edges.get(), add(mul(4, other.get()), back));
                  increase(edges, 1);
                },
              );
            });
          },
        );
      },
      { label: "horizon" },
    );
  };

  return {
    nearest,
    least,
    /** Begins with what the first vertices are (`FIRST`). */
    begin(first: Int): void {
      for (const x of [made, listed, broken]) x.set(0);
      const [isTetrahedron, isEdge] = [eq(first, FIRST.TETRAHEDRON), eq(first, FIRST.EDGE)];
      vertices.set(select(isTetrahedron, 4, 5, "i32"));
      const two = add3(cornerAt(w, 0), cornerAt(w, 1));
      const three = add3(two, cornerAt(w, 2));
      const four = scale3(add3(three, cornerAt(w, 3)), 0.25);
      centre.set(select3(isTetrahedron, four, select3(isEdge, scale3(two, 0.5), scale3(three, 1 / 3))));
      const [ends, beside] = [CORNERS, NEIGHBOURS].map((of, k) => table(`own_first${k}`, of, "i32"));
      const from = select(isTetrahedron, 0, select(isEdge, 10, 4, "i32"), "i32");
      const next = select(isTetrahedron, 0, 4, "i32");
      loop(select(isTetrahedron, 4, 6, "i32"), (f) => {
        const three = (of: typeof ends, at: Int) => [0, 1, 2].map((k) => of(add(mul(3, add(f, at)), k)));
        attach(three(ends, from) as unknown as [Int, Int, Int], three(beside, next), 0, FAR);
      });
    },
    broken: (): Bool => eq(broken.get(), 1),
    /** Whether more faces would be made than there may be in MuJoCo. */
    isBeyond: (most: number): Bool => gt(add(made.get(), edges.get()), most),
    isFull: (): Bool => or(ge(add(made.get(), edges.get()), most), ge(vertices.get(), MOST_VERTICES)),
    isOpen: (): Bool => ge(edges.get(), 3),
    /** Finds the nearest face of those listed; false where none is within a squared distance. */
    find(within: Scalar): Bool {
      const face = variable("own_face", 0, "i32");
      const low = variable("own_low", 0);
      low.set(FAR);
      loop(
        listed.get(),
        (i) => {
          const f = list.get(i);
          const nearer = lt(square.get(f), low.get());
          low.set(select(nearer, square.get(f), low.get()));
          face.set(select(nearer, f, face.get(), "i32"));
        },
        { label: "nearest" },
      );
      const is = le(low.get(), within);
      when(is, () => {
        nearest.set(face.get());
        least.set(low.get());
      });
      return is;
    },
    outward: (): Vec3 => cornerAt(out, nearest.get()),
    open,
    /** Closes the polytope over its last vertex with faces between two squared distances. */
    close(low: Scalar, high: Scalar): void {
      const [first, vertex] = [variable("own_first", 0, "i32"), variable("own_vertex", 0, "i32")];
      first.set(made.get());
      vertex.set(sub(vertices.get(), 1));
      const last = sub(edges.get(), 1);
      loop(
        edges.get(),
        (i) => {
          const bits = toU32(rim.get(i));
          const [face, edge] = [toI32(shr(bits, 2)), toI32(band(bits, 3))];
          const ends = [vertex.get(), corner(face, after(edge)), corner(face, edge)] as const;
          const beside = [select(eq(i, 0), last, sub(i, 1), "i32"), select(eq(i, last), 0, add(i, 1), "i32")];
          const [before, next] = beside.map((k) => add(first.get(), k));
          across.set(add(mul(3, face), edge), made.get());
          attach(ends, [before, face, next], low, high);
        },
        { label: "close" },
      );
    },
    /** The vertices of the nearest face. */
    corners: (): readonly Int[] => [0, 1, 2].map((k) => corner(nearest.get(), k)),
    /** Points of A and of B whose difference is the nearest face's foot. */
    witnesses(): { a: Vec3; b: Vec3 } {
      const foot = cornerAt(out, nearest.get());
      const ids = [0, 1, 2].map((k) => corner(nearest.get(), k));
      const [q, r, s] = ids.map((i) => sub3(cornerAt(w, i), foot));
      const n = cross(sub3(r, q), sub3(s, q));
      const parts = [cross(r, s), cross(s, q), cross(q, r)].map((x) => dot3(x, n));
      const total = dot3(n, n);
      const a = ids.map((i, k) => scale3(cornerAt(p.a, i), div(parts[k], select(gt(total, 0), total, 1)))).reduce(add3);
      return { a, b: sub3(a, foot) };
    },
  };
}
