// corners of what two flat faces share, or an edge and a face (multiccd without a margin)
import { breakIf, increase, loop, variable, when } from "../../../trace/control.ts";
import {
  abs,
  add,
  and,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  max,
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
import {
  add3,
  addScaled3,
  cross,
  dot3,
  lengthSquared,
  MINVAL,
  neg3,
  select3,
  sub3,
  type Vec3,
} from "../../../trace/vector.ts";
import { unit } from "./directions.ts";
import { CAP_CORNERS, facesOf, type Placed } from "./faces.ts";
import { KEPT_BITS } from "./kept-corners.ts";
import { ALONG, meeting, MOST_FACES, OPPOSED } from "./meeting.ts";
import { NONE, type Found } from "./record.ts";
import { largestQuadrilateral } from "./quadrilateral.ts";
import { cornerAt, vector, type Corners } from "./registers.ts";

/** A corner this far out of a side is inside of it, where float32 does not tell less; MuJoCo's own is mjMINVAL. */
const INSIDE = 1e-7;
/** What is left of a polygon is above a corner if it is this near to that in the face's plane. */
const ABOVE = 1e-6;
/** More edges than lead on from a corner, and a rank behind all others. */
const MOST_EDGES = 1 << 16;
const UNRANKED = MOST_FACES * MOST_EDGES;

/** Corners of a cap are this near to its rim, as a share of the square of its radius; places between them are not. */
const RIM = 1 - 1e-4;
/**
 * Of a cap of which all is left the corners 0, 4, 8 and 12 are kept: several quadrilaterals have one area, of which the last
 * place of float64 picks one, this one most often.
 */
const CAP_KEPT = [0, 4, 8, 12].reduce((word, corner, k) => word | (corner << (KEPT_BITS * k)), 0);

const put = (of: Corners, i: Int, v: Vec3): void => v.forEach((x, k) => of[k].set(i, x));

/** Where faces are clipped in float64: in the world, by the steps that MuJoCo takes, as its rounding picks among areas that tie. */
export interface World {
  readonly pair: Placed;
  /** Leads there from the frame of the first shape and units of the pair. */
  place(v: Vec3): Vec3;
}

/**
 * Calls `emit` with each corner (distance, position, normal, in the frame of the first shape and units of the pair, or in
 * the `world`), or never where no faces meet. Returns whether an edge of the first shape lies along a face of the second
 * and none of it is over that: then MuJoCo has the deepest points of one shape for those of the other.
 */
export function manifold(
  pair: Placed,
  deepest: Found,
  buffers: readonly [Corners, Corners],
  emit: (dist: Scalar, pos: Vec3, normal: Vec3) => void,
  world?: World,
): Bool {
  const faces = facesOf(pair);
  const {
    list,
    counts,
    touching,
    known,
    ends: corners,
    meets,
    about,
    byCaps,
    capOnSide,
    out,
  } = meeting(pair, faces, deepest, buffers);

  // two faces that meet: the first of the second shape for the first of the first
  const found = variable("faces_meet", 0, "i32");
  found.set(0);
  const chosen = [0, 1].map((side) => variable(`face${side}`, 0, "i32"));
  loop(counts.get(0), (i) => {
    breakIf(ne(found.get(), 0));
    const first = list.get(i);
    const mine = faces.normal(0, first);
    loop(counts.get(1), (j) => {
      const second = list.get(add(j, MOST_FACES));
      const meet = and(lt(dot3(mine, faces.normal(1, second)), -OPPOSED), eq(found.get(), 0));
      chosen[0].set(select(meet, first, chosen[0].get(), "i32"));
      chosen[1].set(select(meet, second, chosen[1].get(), "i32"));
      found.set(select(meet, 1, found.get(), "i32"));
    });
  });

  // or an edge of one that lies along a face of the other
  const [c0, c1] = [touching.get(0), touching.get(1)];
  const edgeOf = variable("edge_of", -1, "i32");
  const firstsEdge = and(lt(c0, 3), le(c0, c1));
  edgeOf.set(select(ne(found.get(), 0), -1, select(firstsEdge, 0, select(lt(c1, 3), 1, -1, "i32"), "i32"), "i32"));
  const missed = variable("edge_missed", 0, "i32");
  missed.set(0);
  // the cap of a cylinder on another's side, whose cap is beside it
  const isRound = and(faces.isCylinder(0), faces.isCylinder(1));
  when(and(eq(edgeOf.get(), 0), and(isRound, not(byCaps))), () => {
    const { beside, met } = capOnSide(0);
    const lies = and(beside, met);
    missed.set(select(and(lies, not(faces.cylinder(0, out(0)).side)), 1, 0, "i32"));
  });
  const ends = [vector("edge_from"), vector("edge_to")];
  when(ge(edgeOf.get(), 0), () => {
    const side = edgeOf.get();
    const other = sub(1, side);
    // of the faces the first that some edge lies along, of the edges the first that does
    const rank = variable("edge_rank", UNRANKED, "i32");
    rank.set(UNRANKED);
    const offer = (order: Int, p: Vec3, q: Vec3) => {
      const along = unit(sub3(q, p));
      loop(counts.get(other), (j) => {
        const face = list.get(add(mul(other, MOST_FACES), j));
        const mine = add(mul(j, MOST_EDGES), order);
        const normal = faces.normal(other, face);
        // no edge lies along a face that looks the other way, but a cap that MuJoCo's corners are on
        const faced = or(byCaps, gt(dot3(normal, out(other)), 0));
        const lies = and(lt(abs(dot3(along, normal)), ALONG), faced);
        const better = and(lies, lt(mine, rank.get()));
        rank.set(select(better, mine, rank.get(), "i32"));
        ends[0].setIf(better, p);
        ends[1].setIf(better, q);
        chosen[0].set(select(better, face, chosen[0].get(), "i32"));
        found.set(select(better, 2, found.get(), "i32"));
      });
    };
    const p = vector("edge_p");
    const q = vector("edge_q");
    const round = faces.isCylinder(side);
    const generator = faces.cylinder(side, out(side), deepest.rim);
    // at its cap the first one's edge is a generator too, the one that the search ends at
    const isOwn = or(byCaps, or(deepest.rim?.is ?? false, not(faces.isCylinder(1))));
    const offers = or(generator.side, and(eq(side, 0), isOwn));
    when(round, () =>
      when(offers, () => {
        offer(0, ...generator.ends);
        // a cap that a corner is deep in: MuJoCo's search ends at some place of the rim, whose generator is seldom over the face
        const flush = and(generator.flush, eq(found.get(), 2));
        const astray = deepest.rim ? and(flush, not(deepest.rim.is)) : flush;
        missed.set(select(astray, 1, missed.get(), "i32"));
        found.set(select(astray, 0, found.get(), "i32"));
      }),
    );
    const single = eq(touching.get(side), 1);
    // from a corner an edge of each face about it leads on, from an edge itself
    const near = about(side);
    const straight = and(and(known, not(single)), not(round));
    when(straight, () => {
      offer(0, ...corners(side));
    });
    loop(select(or(round, straight), 0, near.count, "i32"), (i) => {
      const face = near.face(i);
      const n = faces.corners(side, face);
      loop(n, (k) => {
        const next = select(eq(add(k, 1), n), 0, add(k, 1), "i32");
        p.set(faces.corner(side, face, k));
        q.set(faces.corner(side, face, next));
        when(and(meets(side, face, k), or(single, meets(side, face, next))), () => {
          q.setIf(single, faces.edgeEnd(side, face, p.get(), q.get()));
          offer(i, p.get(), q.get());
        });
      });
    });
  });

  when(ne(found.get(), 0), () => {
    const { normal, corner: cornerOf } = world ? facesOf(world.pair) : faces;
    const [start, end] = ends.map((of) => (world ? world.place(of.get()) : of.get()));
    const isEdge = eq(found.get(), 2);
    const reference = select(isEdge, sub(1, edgeOf.get()), 0, "i32");
    const face = chosen[0].get();
    const up = normal(reference, face);
    const corner = (k: Int) => cornerOf(reference, face, k);
    const [polygon, clipped] = buffers;
    const room = polygon[0].length;
    const count = variable("polygon_n", 0, "i32");
    count.set(select(isEdge, 2, min(faces.corners(1, chosen[1].get()), room), "i32"));
    loop(count.get(), (k) => {
      const edge = select3(eq(k, 0), start, end);
      put(polygon, k, select3(isEdge, edge, cornerOf(1, chosen[1].get(), k)));
    });

    const sides = faces.corners(reference, face);
    const all = variable("polygon_all", 0, "i32");
    // nothing is cut off, where which corners are kept is known before
    const whole = faces.kept && variable("polygon_whole", 1, "i32");
    all.set(count.get());
    whole?.set(1);
    const made = variable("clipped_n", 0, "i32");
    const inside = current().exact ? MINVAL : INSIDE;
    const push = (cond: Bool, v: Vec3) =>
      when(and(cond, lt(made.get(), room)), () => {
        put(clipped, made.get(), v);
        increase(made, 1);
      });
    loop(
      sides,
      (e) => {
        const from = corner(e);
        // two rounded steps that cancel but for their rounding, as MuJoCo has them
        const upright = world ? sub3(add3(from, up), from) : up;
        const inward = unit(cross(sub3(corner(select(eq(add(e, 1), sides), 0, add(e, 1), "i32")), from), upright));
        const height = (x: Vec3) => dot3(inward, sub3(x, from));
        made.set(0);
        loop(count.get(), (i) => {
          const next = select(eq(add(i, 1), count.get()), 0, add(i, 1), "i32");
          const [p, q] = [cornerAt(polygon, i), cornerAt(polygon, next)];
          const [dp, dq] = [height(p), height(q)];
          const [inP, inQ] = [gt(dp, -inside), gt(dq, -inside)];
          const cuts = or(and(inP, not(inQ)), and(inQ, not(inP)));
          const along = sub3(q, p);
          if (world) {
            const rise = dot3(inward, along);
            const t = div(sub(dot3(inward, from), dot3(inward, p)), select(cuts, rise, 1));
            push(and(cuts, and(ge(t, 0), le(t, 1))), addScaled3(p, t, along));
          } else push(cuts, addScaled3(p, min(max(div(dp, select(cuts, sub(dp, dq), 1)), 0), 1), along));
          push(inQ, q);
          whole?.set(select(inQ, whole.get(), 0, "i32"));
        });
        loop(made.get(), (i) => put(polygon, i, cornerAt(clipped, i)));
        count.set(made.get());
      },
      { label: "clip" },
    );

    // what is below the face
    const mayBeRound = !current().exact && faces.isCylinder(0) !== false;
    const base = corner(0);
    made.set(0);
    const rim = variable("cap_rim", NONE);
    if (mayBeRound) rim.set(select(faces.isCylinder(0), NONE, 0));
    loop(count.get(), (i) => {
      const p = cornerAt(polygon, i);
      if (mayBeRound) rim.set(min(rim.get(), add(square(p[0]), square(p[1]))));
      push(le(dot3(sub3(p, base), up), 0), p);
    });
    const kept = made.get();
    missed.set(select(and(eq(kept, 0), and(isEdge, eq(edgeOf.get(), 0))), 1, missed.get(), "i32"));
    const contact = (p: Vec3) => {
      const dist = dot3(sub3(p, base), up);
      // along the second shape's face, or the first's where the second has the edge
      const along = select3(
        eq(edgeOf.get(), 1),
        normal(0, face),
        neg3(normal(1, select(isEdge, face, chosen[1].get(), "i32"))),
      );
      const back = select(eq(edgeOf.get(), 0), -0.5, 0.5);
      emit(dist, addScaled3(p, mul(back, abs(dist)), along), along);
    };
    const chooses = and(not(isEdge), gt(kept, 4));
    const keptOf = (): Int => {
      const known = variable("kept_corners", -1, "i32");
      known.set(-1);
      // each side that it was held against has moved its first corner on by one
      const isWhole = and(ne(whole!.get(), 0), eq(kept, all.get()));
      when(and(chooses, isWhole), () => known.set(faces.kept!(1, chosen[1].get(), sides)));
      // or it is cut along all sides of the first face: what is left has that one's corners, the other way round
      when(and(chooses, and(not(isWhole), eq(kept, sides))), () => {
        const isAbove = (i: Int, k: Int): Bool => {
          const apart = sub3(cornerAt(clipped, i), corner(k));
          return lt(lengthSquared(addScaled3(apart, neg(dot3(apart, up)), up)), ABOVE * ABOVE);
        };
        const start = variable("kept_start", -1, "i32");
        start.set(-1);
        loop(sides, (k) => start.set(select(isAbove(0, k), k, start.get(), "i32")));
        const same = variable("kept_same", 0, "i32");
        same.set(0);
        loop(select(ge(start.get(), 0), sides, 0, "i32"), (i) => {
          const back = sub(start.get(), i);
          const isSame = isAbove(i, select(lt(back, 0), add(back, sides), back, "i32"));
          increase(same, select(isSame, 1, 0, "i32"));
        });
        when(eq(same.get(), sides), () => known.set(faces.kept!(0, face, start.get(), true)));
      });
      return known.get();
    };
    const known = whole && keptOf();
    // all of a cap is left: its corners and no others
    const isCap = and(eq(kept, CAP_CORNERS), gt(rim.get(), mul(RIM, square(pair.a.half[0]))));
    const keptAs = mayBeRound ? select(isCap, CAP_KEPT, known ?? -1, "i32") : known;
    const four = largestQuadrilateral(clipped, kept, chooses, keptAs);
    const two = farthest(clipped, kept, and(isEdge, gt(kept, 2)));
    loop(min(kept, 4), (i) => {
      const chosenCorner = select(isEdge, two(i), four(i), "i32");
      breakIf(and(isEdge, ge(i, 2)));
      contact(cornerAt(clipped, chosenCorner));
    });
  });
  return ne(missed.get(), 0);
}

/** The two corners that are farthest apart; the first two unless `chooses`. */
function farthest(of: Corners, count: Int, chooses: Bool): (i: Int) => Int {
  const ends = [0, 1].map((k) => variable(`farthest${k}`, k, "i32"));
  ends.forEach((e, k) => e.set(k));
  when(chooses, () => {
    const most = variable("farthest_length", -1);
    most.set(-1);
    loop(count, (i) => {
      loop(i, (j) => {
        const length = lengthSquared(sub3(cornerAt(of, i), cornerAt(of, j)));
        const more = gt(length, most.get());
        most.set(select(more, length, most.get()));
        ends[0].set(select(more, j, ends[0].get(), "i32"));
        ends[1].set(select(more, i, ends[1].get(), "i32"));
      });
    });
  });
  return (i) => select(eq(i, 0), ends[0].get(), ends[1].get(), "i32");
}
