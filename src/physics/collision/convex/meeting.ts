// which corners and faces of two shapes meet where they are deepest (mjc_ccd's multicontact)
import { array, increase, loop, variable, when, type LocalArray } from "../../../trace/control.ts";
import {
  abs,
  add,
  and,
  eq,
  ge,
  gt,
  idiv,
  le,
  lt,
  min,
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
import { current } from "../../../trace/graph.ts";
import { cross, dot3, scale3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { unit } from "./directions.ts";
import { LEVEL, type Faces, type Placed } from "./faces.ts";
import { lastTriangle } from "./last-triangle.ts";
import type { Found } from "./record.ts";
import { vector, type Corners } from "./registers.ts";

/** Normals of faces that meet, and an edge that lies on a face: mjFACE_TOL and mjEDGE_TOL. */
export const OPPOSED = 0.996;
export const ALONG = 0.0888;
/** Faces that may meet at a corner, of each side. */
export const MOST_FACES = 16;
/** Polygons that two corners of MuJoCo's triangle share, among which it looks for the third (meshNormals). */
const PAIRED_FACES = 2;
/** A corner this near to the plane of contact, in sizes of the pair, is on it. */
const TOUCHING = 1e-6;
/** Corners within this are at one height by all that float32 tells. */
const TIED = 1e-7;
/** Squares of sines that differ by less are the same. */
const LEVEL_SQUARE = 1e-12;

/** What the name of a corner on the upper cap of a cylinder is at least (`Core.corner`). */
const UPPER = 4;

/** Sines of a cylinder's side to the plane of contact beyond which all corners of MuJoCo's triangle are on one cap: they are about 0.01 rad apart. */
const CLEAR = 0.02;

/** Of side 0 and 1. */
export interface Meeting {
  /** The faces, `MOST_FACES` places a side, how many they are, and how many corners touch: 1, 2 or 3 and more. */
  readonly list: LocalArray;
  readonly counts: LocalArray;
  readonly touching: LocalArray;
  /** Whether the corners are those of a triangle that the search ended with; the first two of them. */
  readonly known: Bool;
  ends(side: Int): [Vec3, Vec3];
  /** Whether the corner of a face is one that touches. */
  meets(side: Int, face: Int, k: Int): Bool;
  /** Faces about a corner that touches. */
  about(side: Int): { count: Int; face(i: Int): Int };
  /** Whether two cylinders meet by the caps that the corners of MuJoCo's triangle are on. */
  readonly byCaps: Bool;
  /** The cap of a cylinder on the other's side: whether it is what is met, not its rim, and how that side lies. */
  capOnSide(cap: 0 | 1): { met: Bool; beside: Bool; level: Bool };
  /** The normal out of a side. */
  out(side: Int): Vec3;
}

/**
 * Where the search of boxes and hulls ended at a face of their difference, its triangle names the corners that meet, as in
 * MuJoCo: of fine hulls many more are level with it. Otherwise those are taken that are as deep.
 */
export function meeting(pair: Placed, faces: Faces, found: Found, scratch: readonly Corners[]): Meeting {
  const { normal, a, b } = found;
  const { rim } = found;
  const last = lastTriangle(pair, facing(faces, found), scratch, rim ? not(rim.is) : true);
  const isFace = rim ? or(last.known, rim.is) : last.known;
  const triangle = rim
    ? last.triangle.map((of, side) => of.map((id, k) => select(rim.is, found.triangle[side][k], id, "i32")))
    : last.triangle;
  const out = (side: Int): Vec3 => normal.map((x) => mul(x, select(eq(side, 0), 1, -1))) as unknown as Vec3;
  const heights = [dot3(normal, a), neg(dot3(normal, b))];
  const onPlane = (side: Int, corner: Vec3, within: Scalar = TOUCHING): Bool =>
    gt(dot3(out(side), corner), sub(select(eq(side, 0), heights[0], heights[1]), within));
  const bySide = (side: Int, x: Int, y: Int): Int => select(eq(side, 0), x, y, "i32");
  const capOnSide = (cap: 0 | 1) => {
    const [axis, up] = [faces.normal(cap, 0), faces.normal(1 - cap, 0)];
    const slant = cross(normal, axis);
    const met = lt(add(dot3(slant, slant), LEVEL_SQUARE), square(dot3(normal, up)));
    const tilt = abs(dot3(axis, up));
    return { met, beside: lt(tilt, ALONG), level: lt(square(tilt), LEVEL_SQUARE) };
  };

  const own = rim?.is ?? false;
  const isRound = and(faces.isCylinder(0), faces.isCylinder(1));
  const isClear = (side: Int) => gt(abs(dot3(normal, faces.normal(side, 0))), CLEAR);
  const byCaps = isRound === false ? false : and(isRound, or(own, and(isClear(0), isClear(1))));

  // where faces lie on each other, which of a triangle's corners belong to no polygon is rounding alone
  const bare = [0, 1].flatMap((side) => triangle[side].map((id) => faces.isBare(side, id))).reduce(or);
  const level = ["corners", "bare", "vertex"].map((name) => array(`level_${name}_of`, 2, "i32"));
  when(or(not(isFace), bare), () => {
    const within = select(isFace, TIED, LEVEL);
    loop(faces.hasHull ? 2 : 0, (side) => {
      const at = faces.level(side, out(side), (corner) => onPlane(side, corner, within));
      [at.corners, at.bare, at.vertex].forEach((x, k) => level[k].set(side, x));
    });
  });
  const flush = and(gt(level[0].get(0), 2), gt(level[0].get(1), 2));
  const isKnown = variable("triangle_known", 0, "i32");
  isKnown.set(select(and(isFace, not(and(bare, flush))), 1, 0, "i32"));
  const known = eq(isKnown.get(), 1);

  // how many corners a triangle has of each side, and which is the second
  const [first, second, third] = [0, 1, 2].map((k) => (side: Int) => bySide(side, triangle[0][k], triangle[1][k]));
  const cornersOf = (side: Int): { count: Int; second: Int } => {
    const [u, v, w] = [first(side), second(side), third(side)];
    const repeats = or(eq(w, u), eq(w, v));
    const otherwise = select(repeats, 2, 3, "i32");
    const count = select(eq(u, v), select(eq(u, w), 1, 2, "i32"), otherwise, "i32");
    return { count, second: select(eq(u, v), w, v, "i32") };
  };
  const meets = (side: Int, face: Int, k: Int): Bool => {
    const on = variable("corner_meets", 0, "i32");
    const is = (cond: Bool) => on.set(select(cond, 1, 0, "i32"));
    when(
      known,
      () => {
        const id = faces.cornerId(side, face, k);
        is(or(eq(id, first(side)), or(eq(id, second(side)), eq(id, third(side)))));
      },
      () => is(onPlane(side, faces.corner(side, face, k))),
    );
    return eq(on.get(), 1);
  };

  // a corner on a face, or an edge on an edge: then MuJoCo looks among the polygons that all of these are corners of
  const isPlain = and(not(known), le(add(level[0].get(0), level[0].get(1)), 4));
  const about = (side: Int) => {
    const faced = faces.about(side, select(known, first(side), level[2].get(side), "i32"));
    const none = and(isPlain, gt(level[1].get(side), 0));
    return { count: select(none, 0, faced.count, "i32"), face: faced.face };
  };

  // in float32 the order of a triangle's corners is not MuJoCo's
  const ordered = current().exact;
  const list = array("meeting_faces", 2 * MOST_FACES, "i32");
  const counts = array("meeting_count", 2, "i32");
  const touching = array("meeting_corners", 2, "i32");
  loop(2, (side) => {
    const corners = variable("triangle_corners", 0, "i32");
    corners.set(cornersOf(side).count);
    const most = variable("most_corners", 1, "i32");
    const count = variable("faces_found", 0, "i32");
    const push = (face: Int) => {
      list.set(add(mul(side, MOST_FACES), count.get()), face);
      increase(count, 1);
    };
    when(
      faces.isCylinder(side),
      () => {
        const round = faces.cylinder(side, out(side));
        // a cap that the first cylinder's side lies on is a face where an end of that is deepest, not the rim; if level, where both may be
        const { met, level: lies } = capOnSide(1);
        const holds = and(eq(side, 1), or(met, and(lies, le(pair.a.half[2], pair.b.half[0]))));
        most.set(select(round.side, 2, select(holds, 3, 1, "i32"), "i32"));
        list.set(mul(side, MOST_FACES), round.face);
        count.set(select(round.cap, 1, 0, "i32"));
        // MuJoCo names the corners of its triangle by the cap that they are on
        const [cap, ...others] = [first, second, third].map((of) => idiv(of(side), UPPER));
        const isOne = or(not(own), others.map((of) => eq(of, cap)).reduce(and));
        when(byCaps, () => {
          most.set(select(isOne, 1, 2, "i32"));
          list.set(mul(side, MOST_FACES), select(own, cap, round.face, "i32"));
          count.set(select(isOne, 1, 0, "i32"));
        });
      },
      () => {
        most.set(select(known, corners.get(), 1, "i32"));
        // three corners are one face's, two those of two faces at most, whichever way these look
        const left = variable("faces_left", MOST_FACES, "i32");
        const fewest = select(eq(corners.get(), 3), 1, select(eq(corners.get(), 2), 2, MOST_FACES, "i32"), "i32");
        left.set(select(known, fewest, MOST_FACES, "i32"));
        const along = variable("face_along", -1, "i32");
        along.set(-1);
        // the third corner is looked for among two polygons of the first two: more lie along an almost straight row of corners
        const pairs = ordered && variable("faces_of_pair", 0, "i32");
        if (pairs) pairs.set(0);
        const near = about(side);
        loop(
          near.count,
          (i) => {
            const face = near.face(i);
            const upright = dot3(faces.normal(side, face), out(side));
            along.set(select(and(gt(upright, OPPOSED), lt(along.get(), 0)), face, along.get(), "i32"));
            when(or(known, gt(upright, 0)), () => {
              const here = variable("corners_here", 0, "i32");
              here.set(0);
              loop(faces.corners(side, face), (k) => {
                increase(here, select(meets(side, face, k), 1, 0, "i32"));
                if (pairs) increase(pairs, select(eq(faces.cornerId(side, face, k), second(side)), 1, 0, "i32"));
              });
              if (pairs) {
                const isLate = and(and(known, eq(corners.get(), 3)), gt(pairs.get(), PAIRED_FACES));
                when(and(isLate, not(faces.isBox(side))), () => here.set(0));
              }
              const some = min(here.get(), 3);
              when(and(gt(some, most.get()), not(known)), () => {
                most.set(some);
                count.set(0);
              });
              when(and(eq(some, most.get()), and(lt(count.get(), MOST_FACES), gt(left.get(), 0))), () => {
                push(face);
                left.set(sub(left.get(), select(known, 1, 0, "i32")));
              });
            });
          },
          { label: "faces" },
        );
        // corners of a box that are no face's, or no edge's: then the face that the normal is
        const whole = select(eq(corners.get(), 3), 1, select(eq(corners.get(), 2), 2, 3, "i32"), "i32");
        when(and(and(known, faces.isBox(side)), ne(count.get(), whole)), () => {
          list.set(mul(side, MOST_FACES), along.get());
          count.set(select(ge(along.get(), 0), 1, 0, "i32"));
        });
      },
    );
    counts.set(side, count.get());
    touching.set(side, most.get());
  });

  const ends = (side: Int): [Vec3, Vec3] => [
    faces.cornerOf(side, first(side)),
    faces.cornerOf(side, cornersOf(side).second),
  ];
  return { list, counts, touching, known, ends, meets, about, byCaps, capOnSide, out };
}

/** The normal of the face that the search ended at, which of those level with it is not always the one it gives. */
function facing(faces: Faces, { normal, isFace, triangle }: Found): Vec3 {
  const of = vector("facing", normal);
  of.set(normal);
  when(isFace, () => {
    const [p, q, r] = [0, 1, 2].map((k) => sub3(faces.cornerOf(0, triangle[0][k]), faces.cornerOf(1, triangle[1][k])));
    const n = cross(sub3(q, p), sub3(r, p));
    const out = unit(scale3(n, select(lt(dot3(n, normal), 0), -1, 1)));
    of.setIf(gt(dot3(out, normal), OPPOSED), out);
  });
  return of.get();
}
