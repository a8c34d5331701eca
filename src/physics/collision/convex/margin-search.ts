// the search of boxes, hulls, cylinders and ellipsoids by MuJoCo's own steps (mjc_ccd): which place of flat and round sides it ends at hangs on them
import { array, breakIf, increase, loop, variable, when, type LocalArray } from "../../../trace/control.ts";
import {
  abs,
  add,
  and,
  band,
  div,
  eq,
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
  sqrt,
  square,
  sub,
  toF32,
  toI32,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  add3,
  addScaled3,
  cross,
  dot3,
  mulMatTVec,
  mulMatVec,
  neg3,
  norm3,
  scale3,
  sub3,
  ZERO3,
  type Vec3,
} from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { unit } from "./directions.ts";
import type { Finder } from "./distance.ts";
import { aroundEdge, passes, turnedOn } from "./edge-start.ts";
import { FIRST, marginFaces } from "./margin-faces.ts";
import { marginSupport } from "./margin-support.ts";
import { MOST_VERTICES, type Polytope } from "./polytope.ts";
import { faceRecord, keep, record } from "./record.ts";
import { cornerAt, vector } from "./registers.ts";
import { insert, reduce, simplex } from "./simplex.ts";
import { idsOf, type Core } from "./support.ts";
import { nearestSide, TINY } from "./tetrahedron.ts";
import type { ConvexOptions } from "./types.ts";

/** What the search has found so far: nothing that decides, that shapes are apart, or where they meet. */
const [OPEN, APART, MET] = [0, 1, 2];
const MODE = { POINTS: 0, TETRAHEDRON: 1, FACES: 2, DONE: 3, TRIANGLE: 4, EDGE: 5 } as const;
const NEXT = { NONE: 0, TETRAHEDRON: 1, BEGIN: 2, FACE: 3 } as const;

const FAR = 1e30;

/** MuJoCo has room for so many faces an iteration. */
const FACES_A_STEP = 6;

/** Whether both are boxes or hulls without a margin, and take these steps: another search need only tell whether they meet. */
export const isFlatPair = (a: Core, b: Core, reach: Scalar, options: ConvexOptions): Bool =>
  options.flats ? and([a, b].map((core) => core.is(mjtGeom.BOX, mjtGeom.MESH)).reduce(and), le(reach, 0)) : false;

/**
 * MuJoCo's steps where boxes, hulls and cylinders have a margin, where a cylinder beside any of them has none, and in float64
 * where boxes and hulls have none, of ellipsoids, and of what MuJoCo shrinks where its core is in another. Else, or where these do not decide, another search: one that `isMade` says whether shapes meet at all. `undecided` runs where
 * these were begun and do not decide.
 */
export function marginSearch(
  otherwise: Finder,
  options: ConvexOptions,
  p: Polytope,
  where: Bool,
  isMade = false,
  undecided?: () => void,
): Finder {
  const support = marginSupport();
  return (a, b, frame, reach) => {
    const [first, second] = [a, b].map((core) => core.is(mjtGeom.BOX, mjtGeom.MESH, mjtGeom.CYLINDER));
    const isRound = options.rounds ? and(a.is(mjtGeom.CYLINDER), second) : false;
    const round = and(isRound, le(reach, 0));
    // MuJoCo has no tolerance for these: its search ends where a pair of corners is met again
    const flat = isFlatPair(a, b, reach, options);
    const named = or(round, flat);
    const isOval = options.ovals ? and(a.is(mjtGeom.ELLIPSOID), or(second, b.is(mjtGeom.ELLIPSOID))) : false;
    const inCylinder = options.capsules ? and(a.is(mjtGeom.CAPSULE), b.is(mjtGeom.CYLINDER)) : false;
    const sunk = options.shrunk
      ? and(a.is(mjtGeom.SPHERE, mjtGeom.CAPSULE), b.is(mjtGeom.ELLIPSOID, mjtGeom.MESH))
      : false;
    const isDeep = or(inCylinder, sunk);
    // the whole sphere or capsule, whose core is a point or a segment, and what is left for a margin
    const swell = isDeep === false ? 0 : select(isDeep, a.rounding, 0);
    const margin = isDeep === false ? reach : sub(reach, swell);
    // the other search tells whether a core is in the other shape, which alone has its half of the margin then
    const made = isMade || sunk !== false ? otherwise(a, b, frame, reach) : undefined;
    const inside = sunk === false ? false : and(sunk, le(made!.distance, mul(0.5, margin)));
    const deep = or(and(inCylinder, le(margin, 0)), inside);
    const own = and(
      and(where, made?.hit ?? true),
      or(or(and(and(first, second), gt(reach, 0)), or(named, isOval)), deep),
    );
    if (own === false) return made ?? otherwise(a, b, frame, reach);
    // which corners the vertices of the polytope are
    const ids = named === false ? [] : [0, 1].map((side) => array(`own_id${side}`, MOST_VERTICES));
    const { rot, offset } = frame;
    const tolerance = mul(select(flat, TINY, options.tolerance), a.perSize);
    const state = variable("own_state", OPEN, "i32");
    const mode = variable("own_mode", MODE.POINTS, "i32");
    const next = variable("own_next", NEXT.NONE, "i32");
    const d = vector("own_d");
    const x = vector("own_x");
    const edge = vector("own_edge");
    const [length, upper] = ["length", "upper"].map((name) => variable(`own_${name}`, 0));
    const [turns, worst] = ["turns", "worst"].map((name) => variable(`own_${name}`, 0, "i32"));
    const s = simplex();
    const faces = marginFaces(p);
    const end = (as: Int) => {
      state.set(as);
      mode.set(MODE.DONE);
    };
    const put = (i: Int, w: Vec3, onA: Vec3, corners: Vec3) => {
      w.forEach((v, k) => p.w[k].set(i, v));
      onA.forEach((v, k) => p.a[k].set(i, v));
      ids.forEach((of, side) => of.set(i, corners[side]));
    };
    const names = () => (named === false ? ZERO3 : idsOf(a, b));

    // with no room for more faces MuJoCo ends too
    const isBeyond = (): Bool =>
      flat === false ? false : and(flat, faces.isBeyond(FACES_A_STEP * options.iterations));
    const isMet = (): Bool => {
      if (flat === false) return false;
      const again = variable("own_again", 0, "i32");
      again.set(0);
      const [onA, onB] = names();
      loop(select(flat, p.vertices.get(), 0, "i32"), (i) => {
        const is = and(eq(ids[0].get(i), onA), eq(ids[1].get(i), onB));
        again.set(select(is, 1, again.get(), "i32"));
      });
      return eq(again.get(), 1);
    };
    const take = (k: number) => put(k, s.w[k].get(), s.a[k].get(), s.ids[k].get());
    const takeThree = () => [0, 1, 2].forEach(take);
    // boxes and hulls of one centre have the origin on an edge up to rounding, where a face around it may hold it too
    const isEdge = (near: Bool): Bool => (flat === false ? near : and(near, not(flat)));
    const beginAround = () => {
      [0, 1].forEach(take);
      const { axis, first } = aroundEdge(a.shape.mat, sub3(s.w[1].get(), s.w[0].get()));
      edge.set(axis);
      d.set(first);
      worst.set(2);
      mode.set(MODE.EDGE);
    };

    const turn = () => {
      const n = d.get();
      const half = mul(0.5, margin);
      const onA = addScaled3(support(a, 0, n), isDeep === false ? half : add(half, swell), n);
      const far = add3(mulMatVec(rot, support(b, 1, neg3(mulMatTVec(rot, n)))), offset);
      const w = sub3(sub3(onA, far), scale3(n, mul(-1, half)));
      const mine = mode.get();
      next.set(NEXT.NONE);
      increase(turns, 1);

      when(eq(mine, MODE.POINTS), () => {
        when(
          gt(dot3(x.get(), w), 0),
          () => end(APART),
          () =>
            when(
              eq(s.count.get(), 3),
              () => {
                takeThree();
                put(3, w, onA, names());
                next.set(NEXT.TETRAHEDRON);
              },
              () => {
                insert(s, { w, a: onA, ids: names() });
                const found = reduce(s, ZERO3, true);
                found.commit();
                x.set(found.x);
                const before = length.get();
                length.set(norm3(x.get()));
                const near = lt(length.get(), tolerance);
                when(
                  and(near, eq(s.count.get(), 3)),
                  () => {
                    takeThree();
                    const [p0, p1, p2] = s.w.map((v) => v.get());
                    d.set(unit(cross(sub3(p2, p0), sub3(p1, p0))));
                    worst.set(3);
                    mode.set(MODE.TRIANGLE);
                  },
                  () =>
                    when(
                      or(near, lt(abs(sub(length.get(), before)), TINY)),
                      () => when(and(isEdge(near), eq(s.count.get(), 2)), beginAround, () => end(OPEN)),
                      () => d.set(scale3(x.get(), div(-1, length.get()))),
                    ),
                );
              },
            ),
        );
      });

      when(eq(mine, MODE.TRIANGLE), () => {
        put(worst.get(), w, onA, names());
        d.set(neg3(n));
        next.set(select(eq(worst.get(), 4), NEXT.BEGIN, NEXT.NONE, "i32"));
        worst.set(4);
      });

      when(eq(mine, MODE.EDGE), () => {
        put(worst.get(), w, onA, names());
        d.set(turnedOn(edge.get(), n));
        when(eq(worst.get(), 4), () => {
          const [from, to, ...around] = [0, 1, 2, 3, 4].map((i) => cornerAt(p.w, i));
          when(
            passes([from, to], around),
            () => next.set(NEXT.BEGIN),
            () => end(OPEN),
          );
        });
        increase(worst, 1);
      });

      when(eq(mine, MODE.TETRAHEDRON), () => {
        when(
          lt(dot3(n, w), 0),
          () => end(APART),
          () => {
            put(worst.get(), w, onA, names());
            // the other two change places, so that faces keep their sides
            const [i, j] = [1, 2].map((k) => toI32(band(toU32(add(worst.get(), k)), 3)));
            const swap = [p.w, p.a].map((of) => [cornerAt(of, i), cornerAt(of, j)].map((v) => vector("own_swap", v)));
            const [idsI, idsJ] = [i, j].map((at) => vector("own_swap", numbersAt(ids, at)));
            put(j, swap[0][0].get(), swap[1][0].get(), idsI.get());
            put(i, swap[0][1].get(), swap[1][1].get(), idsJ.get());
            next.set(NEXT.TETRAHEDRON);
          },
        );
      });

      when(eq(mine, MODE.FACES), () => {
        const low = faces.least.get();
        const lower = sqrt(low);
        const height = div(dot3(faces.outward(), w), lower);
        upper.set(min(upper.get(), height));
        when(
          or(lt(sub(upper.get(), lower), tolerance), isMet()),
          () => end(MET),
          () => {
            const at = p.vertices.get();
            put(at, w, onA, names());
            p.vertices.set(add(at, 1));
            faces.open(faces.nearest.get(), w, mul(TINY, square(a.perSize)));
            when(
              not(faces.isOpen()),
              () => end(OPEN),
              () =>
                when(
                  or(faces.isFull(), isBeyond()),
                  () => end(select(isBeyond(), MET, OPEN, "i32")),
                  () => {
                    faces.close(low, square(upper.get()));
                    next.set(NEXT.FACE);
                    when(faces.broken(), () => end(OPEN));
                  },
                ),
            );
          },
        );
      });

      when(and(eq(next.get(), NEXT.TETRAHEDRON), ne(mode.get(), MODE.DONE)), () => {
        const { least, none } = nearestSide(p.w);
        worst.set(least.k);
        d.set(least.out);
        mode.set(MODE.TETRAHEDRON);
        when(
          none,
          () => end(OPEN),
          () => when(gt(least.dist, 0), () => next.set(NEXT.BEGIN)),
        );
      });
      when(eq(next.get(), NEXT.BEGIN), () => {
        const three = select(eq(mine, MODE.TRIANGLE), FIRST.TRIANGLE, FIRST.TETRAHEDRON, "i32");
        faces.begin(select(eq(mine, MODE.EDGE), FIRST.EDGE, three, "i32"));
        upper.set(FAR);
        turns.set(0);
        mode.set(MODE.FACES);
        next.set(NEXT.FACE);
        when(faces.broken(), () => end(OPEN));
      });
      when(and(eq(next.get(), NEXT.FACE), eq(mode.get(), MODE.FACES)), () => {
        // out of iterations MuJoCo 3.14 has the face before the last
        const more = lt(turns.get(), max(1, options.iterations - 1));
        when(
          and(more, faces.find(square(min(upper.get(), 1e10)))),
          () => d.set(scale3(faces.outward(), div(1, sqrt(faces.least.get())))),
          // of a cylinder made to touch rounding may leave no face, and the last one is anywhere
          () => end(select(and(isRound, more), OPEN, MET, "i32")),
        );
      });
    };

    const found = record("own_found");
    const hit = variable("own_hit", 0, "i32");
    const face = faceRecord();
    const rim = named === false ? undefined : ([vector("own_rim0"), vector("own_rim1")] as const);
    state.set(OPEN);
    when(own, () => {
      mode.set(MODE.POINTS);
      turns.set(0);
      s.count.set(0);
      x.set(neg3(offset));
      length.set(norm3(offset));
      d.set(scale3(offset, div(1, max(length.get(), 1e-30))));
      loop(
        2 * options.iterations,
        () => {
          breakIf(eq(mode.get(), MODE.DONE));
          turn();
        },
        { label: "margin" },
      );
      when(ne(mode.get(), MODE.DONE), () => state.set(OPEN));
      if (undecided) when(eq(state.get(), OPEN), undecided);
    });
    when(
      eq(state.get(), OPEN),
      () => {
        const other = made ?? otherwise(a, b, frame, reach);
        hit.set(select(other.hit, 1, 0, "i32"));
        keep(found, neg(other.distance), other.normal, other.a, other.b);
        face.confirm(other.isFace);
        face.keep(other.triangle.map((corners) => corners.map(toF32)) as never);
      },
      () => {
        const out = faces.outward();
        const depth = norm3(out);
        const points = faces.witnesses();
        hit.set(select(eq(state.get(), MET), 1, 0, "i32"));
        const normal = scale3(out, div(1, max(depth, 1e-30)));
        const onA = isDeep === false ? points.a : addScaled3(points.a, neg(swell), normal);
        keep(found, sub(depth, reach), normal, onA, points.b);
        if (rim) {
          const corners = faces.corners();
          const at = corners.map((i) => numbersAt(ids, i));
          face.keep([0, 1].map((side) => at.map((of) => of[side])) as never);
          const onA = cornerAt(p.a, corners[0]);
          rim[0].set(onA);
          rim[1].set(mulMatTVec(rot, sub3(sub3(onA, cornerAt(p.w, corners[0])), offset)));
        }
        face.confirm(named);
      },
    );
    return {
      hit: eq(hit.get(), 1),
      distance: neg(found.h.get()),
      normal: found.normal.get(),
      a: found.a.get(),
      b: found.b.get(),
      turns: turns.get(),
      ...face.found(),
      ...(rim && { rim: { is: and(named, eq(state.get(), MET)), at: [rim[0].get(), rim[1].get()] } }),
    };
  };
}

const numbersAt = (of: readonly LocalArray[], i: Int): Vec3 =>
  of.length === 0 ? ZERO3 : [of[0].get(i), of[1].get(i), 0];
