// the expanding polytope (EPA) of overlapping shapes: triangles around the origin, in bounded arrays
import {
  array,
  breakIf,
  increase,
  loop,
  variable,
  when,
  type LocalArray,
  type Variable,
} from "../../../trace/control.ts";
import { current } from "../../../trace/graph.ts";
import {
  add,
  and,
  band,
  bor,
  div,
  eq,
  firstTrailingBit,
  ge,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  not,
  or,
  select,
  shl,
  shr,
  sqrt,
  sub,
  toI32,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import { add3, cross, dot3, scale3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { vector } from "./registers.ts";
import type { Vertex } from "./simplex.ts";

/** Vertices of a polytope at most: as many as MuJoCo's default of 35 iterations makes, and some more. */
export const MOST_VERTICES = 64;
/** Sets of vertices are words of 32 bits; the second words come after all first ones. */
const [WORD, WORD_BITS] = [32, 5];
const WORDS = Math.ceil(MOST_VERTICES / WORD);
/** Bits of a vertex in a face. */
export const ID = 6;
/** A closed polytope has twice as many faces, less four; rounding may add some. */
const MOST_FACES = 2 * MOST_VERTICES;
/** MuJoCo's own steps use no place again: in float64 there are as many as six a step. */
export const mostFaces = (): number => (current().exact ? 6 : 2) * MOST_VERTICES;
/** Corners of clipped polygons at most, for the memory of a lane: MuJoCo has no bound of faces of up to 420 corners. */
const MOST_CORNERS = 512;
/** Height above a face, in sizes of the pair, from which it is seen. */
export const SEEN = 1e-7;
/** Faces this near to the nearest one, in distance and by cosine, are one face of the shapes. */
const LEVEL = 1e-6;
const ALIGNED = 0.999;
/** No face is that far; one that is gone is farther. */
const FAR = 1e30;
const GONE = 2e30;

const triple = (name: string, length: number): LocalArray[] => [0, 1, 2].map((k) => array(`${name}${k}`, length));
const read = (from: readonly LocalArray[], i: Int): Vec3 => from.map((x) => x.get(i)) as unknown as Vec3;
const write = (to: readonly LocalArray[], i: Int, v: Vec3): void => v.forEach((x, k) => to[k].set(i, x));

/** The words of the sets of `made` vertices: all first ones, then the second ones where there are any. */
function eachCell(made: Int, visit: (word: Int, from: Int, cell: Int) => void): void {
  const isLong = gt(made, WORD);
  const label = "horizon";
  // worlds of a vector share both indices, so that what is read lies side by side
  if (current().roomy) {
    const words = select(isLong, WORDS, 1, "i32");
    loop(words, (word) => loop(made, (from) => visit(word, from, add(mul(word, MOST_VERTICES), from)), { label }));
    return;
  }
  loop(
    select(isLong, mul(WORDS, made), made, "i32"),
    (i) => {
      const word = select(ge(i, made), 1, 0, "i32");
      const from = sub(i, mul(word, made));
      visit(word, from, add(mul(word, MOST_VERTICES), from));
    },
    { label },
  );
}

/** Whether a face goes, and what is done after that of each. */
interface Judged {
  readonly isSeen: Bool;
  after(): void;
}

/** Removes the faces that go, in their order. */
function eachSeen(faces: Int, judge: (face: Int) => Judged, remove: (face: Int) => void): void {
  const label = "seen";
  if (!current().roomy) {
    const visit = (i: Int) => {
      const { isSeen, after } = judge(i);
      when(isSeen, () => remove(i));
      after();
    };
    loop(faces, visit, { label });
    return;
  }
  // all worlds ask of the same face, whose numbers lie side by side; then each removes its own next one
  const gone = variable("epa_gone", 0, "u32");
  loop(
    toI32(shr(toU32(add(faces, WORD - 1)), WORD_BITS)),
    (word) => {
      const first = mul(word, WORD);
      gone.set(0);
      loop(
        min(sub(faces, first), WORD),
        (k) => {
          const { isSeen, after } = judge(add(first, k));
          gone.set(bor(gone.get(), select(isSeen, shl(1, toU32(k)), 0, "u32")));
          after();
        },
        { label },
      );
      loop(WORD, () => {
        const rest = gone.get();
        breakIf(eq(rest, 0));
        gone.set(band(rest, sub(rest, 1)));
        remove(add(first, firstTrailingBit(rest)));
      });
    },
    { label: "seen_words" },
  );
}

export interface Polytope {
  readonly vertices: Variable;
  /** Scratch of the search, which a manifold may use after it. */
  readonly w: readonly LocalArray[];
  readonly a: readonly LocalArray[];
  /** Room for faces: three numbers and one of each, and its corners. */
  readonly room: { readonly out: readonly LocalArray[]; readonly square: LocalArray; readonly corners: LocalArray };
  /** Which corners of both shapes the vertices of the nearest face are (`Core.corner`). */
  triangle(): readonly [a: Vec3, b: Vec3];
  /** Starts from a triangle, seen from both sides. */
  begin(corners: readonly Vertex[]): void;
  /** Unit normal and distance of the face that is nearest, signed. */
  normal(): Vec3;
  distance(): Scalar;
  /** Adds a vertex and finds the nearest face. */
  expand(v: Vertex, seen: Scalar): void;
  /** Whether a vertex is there already. */
  holds(w: Vec3): Bool;
  /** False where faces are lost: then the nearest one is the last that was. */
  sound(): Bool;
  /** Of the faces level with the nearest one that which is in front of the origin: its points of A and of B. */
  front(): { normal: Vec3; distance: Scalar; a: Vec3; b: Vec3 };
}

/** A polytope, with room for a `polygon` of this many corners. */
export function polytope(polygon = 0): Polytope {
  const vertices = variable("epa_vertices", 0, "i32");
  const room = Math.min(Math.max(MOST_VERTICES, polygon), MOST_CORNERS);
  const w = triple("epa_w", room);
  const a = triple("epa_a", room);
  const ids = [0, 1].map((side) => array(`epa_id${side}`, MOST_VERTICES));
  const faces = variable("epa_faces", 0, "i32");
  const normals = triple("epa_n", mostFaces());
  const distances = array("epa_d", mostFaces());
  const corners = array("epa_corners", mostFaces(), "u32");
  // by vertex those that edges of faces which went lead to, and those that they come from
  const [edges, back] = ["edges", "back"].map((name) => array(`epa_${name}`, WORDS * MOST_VERTICES, "u32"));
  const nearest = variable("epa_nearest", 0, "i32");
  const least = variable("epa_least", 0);
  const born = variable("epa_born", 0, "i32");
  // places of faces that are gone
  const free = array("epa_free", MOST_FACES, "i32");
  const freed = variable("epa_freed", 0, "i32");
  const repeats = variable("epa_repeats", 0, "i32");
  const broken = variable("epa_broken", 0, "i32");

  const pack = (i: Int, j: Int, k: Int): Int => bor(bor(toU32(i), shl(toU32(j), ID)), shl(toU32(k), 2 * ID));
  const corner = (packed: Int, k: number): Int => toI32(band(shr(packed, ID * k), 2 ** ID - 1));
  const put = (face: Int, normal: Vec3, distance: Scalar, packed: Int): void => {
    write(normals, face, normal);
    distances.set(face, distance);
    corners.set(face, packed);
  };
  const offer = (face: Int, distance: Scalar): void => {
    const nearer = lt(distance, least.get());
    nearest.set(select(nearer, face, nearest.get(), "i32"));
    least.set(select(nearer, distance, least.get()));
  };

  return {
    vertices,
    w,
    a,
    room: { out: normals, square: distances, corners },
    begin(three) {
      three.forEach((v, i) => {
        write(w, i, v.w);
        write(a, i, v.a);
        ids.forEach((x, side) => x.set(i, v.ids[side]));
      });
      const [p, q, r] = three.map((v) => v.w);
      const n = cross(sub3(q, p), sub3(r, p));
      const unit = scale3(n, div(1, max(sqrt(dot3(n, n)), 1e-30)));
      const distance = dot3(unit, p);
      put(0, unit, distance, pack(0, 1, 2));
      put(1, scale3(unit, -1), sub(0, distance), pack(0, 2, 1));
      vertices.set(3);
      faces.set(2);
      freed.set(0);
      broken.set(0);
      const first = lt(distance, 0);
      nearest.set(select(first, 0, 1, "i32"));
      least.set(select(first, distance, sub(0, distance)));
    },
    normal: () => read(normals, nearest.get()),
    distance: () => least.get(),
    sound: () => eq(broken.get(), 0),
    holds(v) {
      repeats.set(0);
      loop(vertices.get(), (i) => {
        const x = read(w, i);
        const same = and(eq(x[0], v[0]), and(eq(x[1], v[1]), eq(x[2], v[2])));
        repeats.set(select(same, 1, repeats.get(), "i32"));
      });
      return eq(repeats.get(), 1);
    },
    expand(v, seen) {
      const made = vertices.get();
      write(w, made, v.w);
      write(a, made, v.a);
      ids.forEach((x, side) => x.set(made, v.ids[side]));
      vertices.set(add(made, 1));

      // what sees the vertex goes, whatever rounding says of the face it came from
      distances.set(nearest.get(), -FAR);
      least.set(FAR);
      const judge = (i: Int): Judged => {
        const distance = distances.get(i);
        const height = sub(dot3(read(normals, i), v.w), distance);
        const isSeen = gt(height, seen);
        return { isSeen, after: () => offer(i, select(isSeen, GONE, distance)) };
      };
      const remove = (i: Int): void => {
        const packed = corners.get(i);
        const ends = [0, 1, 2].map((k) => corner(packed, k));
        const bits = ends.map((x) => shl(1, band(toU32(x), WORD - 1)));
        const words = ends.map((x) => mul(toI32(shr(toU32(x), WORD_BITS)), MOST_VERTICES));
        const note = (to: LocalArray, from: Int, k: number) => {
          const cell = add(words[k], from);
          to.set(cell, bor(to.get(cell), bits[k]));
        };
        ends.forEach((from, k) => {
          note(edges, from, (k + 1) % 3);
          note(back, from, (k + 2) % 3);
        });
        distances.set(i, GONE);
        free.set(freed.get(), i);
        increase(freed, 1);
      };
      eachSeen(faces.get(), judge, remove);

      // edges between what went and what stays
      born.set(0);
      eachCell(made, (word, from, cell) => {
        const inner = band(edges.get(cell), back.get(cell));
        const bits = variable("epa_bits", sub(edges.get(cell), inner), "u32");
        for (const x of [edges, back]) x.set(cell, 0);
        const start = read(w, from);
        loop(WORD, () => {
          const rest = bits.get();
          breakIf(eq(rest, 0));
          bits.set(band(rest, sub(rest, 1)));
          const to = add(mul(word, WORD), firstTrailingBit(rest));
          const last = freed.get();
          const isFree = gt(last, 0);
          when(or(isFree, lt(faces.get(), MOST_FACES)), () => {
            const n = cross(sub3(read(w, to), start), sub3(v.w, start));
            const length = sqrt(dot3(n, n));
            const unit = scale3(n, div(1, max(length, 1e-30)));
            // a triangle without area is kept for its edges
            const distance = select(gt(length, 1e-12), dot3(unit, start), FAR);
            const face = select(isFree, free.get(max(sub(last, 1), 0)), faces.get(), "i32");
            put(face, unit, distance, pack(from, to, made));
            offer(face, distance);
            increase(faces, select(isFree, 0, 1, "i32"));
            freed.set(sub(last, select(isFree, 1, 0, "i32")));
            increase(born, 1);
          });
        });
      });
      const lost = or(lt(born.get(), 3), not(lt(sub(faces.get(), freed.get()), MOST_FACES)));
      broken.set(select(or(lost, not(lt(least.get(), FAR))), 1, 0, "i32"));
    },
    triangle() {
      const packed = corners.get(nearest.get());
      return ids.map((x) => [0, 1, 2].map((k) => x.get(corner(packed, k)))) as unknown as readonly [Vec3, Vec3];
    },
    front() {
      const normal = vector("front_normal", read(normals, nearest.get()));
      const nearestNormal = normal.get();
      const limit = add(least.get(), LEVEL);
      const within = variable("front_within", -FAR);
      const face = variable("front_face", nearest.get(), "i32");
      const weights = vector("front_l", [1, 0, 0]);
      loop(
        faces.get(),
        (i) => {
          const n = read(normals, i);
          const distance = distances.get(i);
          when(and(le(distance, limit), gt(dot3(n, nearestNormal), ALIGNED)), () => {
            const packed = corners.get(i);
            const [p, q, r] = [0, 1, 2].map((k) => sub3(read(w, corner(packed, k)), scale3(n, distance)));
            const parts = [dot3(cross(q, r), n), dot3(cross(r, p), n), dot3(cross(p, q), n)];
            const inverse = div(1, max(add(add(parts[0], parts[1]), parts[2]), 1e-30));
            const l = scale3(parts as unknown as Vec3, inverse);
            const inner = min(l[0], min(l[1], l[2]));
            const better = gt(inner, within.get());
            within.set(select(better, inner, within.get()));
            weights.setIf(better, l);
            face.set(select(better, i, face.get(), "i32"));
          });
        },
        { label: "level" },
      );
      const packed = corners.get(face.get());
      const positive = weights.get().map((x) => max(x, 0)) as unknown as Vec3;
      const l = scale3(positive, div(1, add(add(positive[0], positive[1]), positive[2])));
      const mix = (of: readonly LocalArray[]) =>
        [0, 1, 2].map((k) => scale3(read(of, corner(packed, k)), l[k])).reduce(add3);
      const onA = mix(a);
      return {
        normal: read(normals, face.get()),
        distance: distances.get(face.get()),
        a: onA,
        b: sub3(onA, mix(w)),
      };
    },
  };
}
