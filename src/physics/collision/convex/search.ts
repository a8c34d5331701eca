// the search for the least overlap of two convex shapes: one loop, one support point a turn
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
  sqrt,
  sub,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  add3,
  dot3,
  mulMatTVec,
  mulMatVec,
  neg3,
  norm3,
  scale3,
  select3,
  sub3,
  ZERO3,
  type Vec3,
} from "../../../trace/vector.ts";
import { MOST_VERTICES, SEEN, type Polytope } from "./polytope.ts";
import { aside, axisOf, direction, lateral, unit } from "./directions.ts";
import type { Frame } from "./kinks.ts";
import { lineOf, newtonStep, type Line } from "./newton.ts";
import {
  GOAL,
  MODE,
  NEXT,
  mostTurns,
  NEWTON_TURNS,
  DESCENTS,
  OUTSIDE,
  roundingOf,
  CERTAIN,
  NEAR,
  SHALLOW,
  FACING,
  AWAY,
  CLOSED,
} from "./phases.ts";
import { keep, NONE, type Best, type Found } from "./record.ts";
import { searched, searchState, type Searched, type SearchState } from "./search-state.ts";
import { holds, insert, largest, reduce, widens, witnesses } from "./simplex.ts";
import { idsOf, supportPoint, type Core } from "./support.ts";
import { facingPoints, ontoFaces } from "./onto-faces.ts";
import type { ConvexOptions } from "./types.ts";

// everything below is in units of the pair's size, the sum of the two radii, and in the frame of the first shape.
// h(n) is the support function of A - B: how far apart the shapes must move along n to touch. The signed distance is the
// most that -h(n) takes over all directions, and the contact normal is where it takes it.

/** Searches. `reach` is that of the cores; `second` is the second shape's frame in the first's. */
export function search(a: Core, b: Core, second: Frame, reach: Scalar, options: ConvexOptions, p: Polytope): Found {
  const pair = searched(a, b, second, reach, options);
  let line: Line;
  const state = searchState(second.offset, () => (line = lineOf(a, b, second.rot, second.offset)));
  loop(
    mostTurns(),
    () => {
      breakIf(eq(state.mode.get(), MODE.DONE));
      searchTurn(pair, line, state, p);
    },
    { label: "search" },
  );
  const place = atBest(a, b, second, state.best, () => eq(state.hit.get(), 1));
  return { ...place, turns: state.turns.get(), ...state.face.found() };
}

/** What a search found, from its best direction, and whether it `hit`. */
export function atBest(
  a: Core,
  b: Core,
  second: Frame,
  best: Best,
  hit: () => Bool,
): Pick<Found, "hit" | "distance" | "normal" | "a" | "b"> {
  ontoFaces(a, b, second, best);
  const [onA, onB] = facingPoints(a, b, best);
  return { hit: hit(), distance: neg(best.h.get()), normal: best.normal.get(), a: onA, b: onB };
}

/**
 * One support point, and what it is for. `park` runs before what follows the first GJK, and may put it off: a search goes on
 * from what is next if its mode is `RESUMED`.
 */
export function searchTurn(pair: Searched, line: Line, state: SearchState, p: Polytope, park?: () => void): void {
  const { a, b, rot, offset, curved, discrete, limit, cut } = pair;
  const { mode, goal, next, d, count, turns, hit, s, target, length, previous, stuck } = state;
  const { seed, tried, best, gap, descents, polished, rolls, last, face } = state;
  const rounding = roundingOf();
  const start = (to: number, along: Vec3) => {
    mode.set(to);
    count.set(0);
    d.set(along);
  };
  const after = (what: number, then: () => void) => when(eq(next.get(), what), then);

  increase(turns, 1);
  if (!park) next.set(NEXT.NONE);
  else when(ne(mode.get(), MODE.RESUMED), () => next.set(NEXT.NONE));
  const n = d.get();
  const onA = supportPoint(a, n);
  const onB = add3(mulMatVec(rot, supportPoint(b, neg3(mulMatTVec(rot, n)))), offset);
  const w = sub3(onA, onB);
  const h = dot3(n, w);
  const point = { w, a: onA, ids: discrete === false ? ZERO3 : idsOf(a, b) };
  const mine = mode.get();
  const times = count.get();
  count.set(add(times, 1));

  when(eq(mine, MODE.GJK), () => {
    const goes = variable("goes", 1, "i32");
    const stops = (what: number) => {
      goes.set(0);
      next.set(what);
    };
    const from = goal.get();
    const fresh = eq(s.count.get(), 0);
    const low = sub(dot3(n, target.get()), h);
    const known = holds(s, w);
    const exact = add(mul(10 * rounding, length.get()), rounding);
    const close = le(sub(length.get(), low), exact);
    const there = or(or(close, known), or(eq(stuck.get(), 1), ge(times, limit)));
    const settled = and(not(fresh), there);
    const faces = witnesses(s);

    when(and(eq(from, GOAL.ORIGIN), not(fresh)), () => {
      when(settled, () => {
        const doubtful = and(le(low, 0), gt(sub(length.get(), low), CERTAIN));
        const sure = select(lt(low, mul(0.5, length.get())), max(low, 0), length.get());
        seed.h.set(select(doubtful, NONE, sub(h, 10 * rounding)));
        seed.n.set(n);
        keep(best, select(curved, NONE, neg(sure)), n, faces.a, faces.b);
        const near = lt(length.get(), NEAR);
        last.set(select(or(doubtful, near), 0, 1, "i32"));
        best.h.set(select(near, NONE, best.h.get()));
        stops(NEXT.AXES);
        const apart = select(curved, NEXT.IMPROVE, NEXT.FINISH, "i32");
        next.set(select(doubtful, NEXT.WIDEN, select(near, NEXT.AXES, apart, "i32"), "i32"));
      });
      when(gt(low, cut), () => {
        stops(NEXT.NONE);
        mode.set(MODE.DONE);
      });
    });
    when(and(eq(from, GOAL.AWAY), settled), () => {
      seed.n.set(n);
      // nothing is gained if the shapes overlap there too
      stops(NEXT.FINISH);
      next.set(select(gt(low, 0), NEXT.IMPROVE, NEXT.FINISH, "i32"));
    });
    when(and(eq(from, GOAL.DESCENT), or(fresh, settled)), () => {
      const k = descents.get();
      descents.set(add(k, 1));
      const moved = norm3(sub3(n, unit(target.get())));
      when(and(settled, le(h, add(tried.h.get(), 3 * rounding))), () => keep(tried, h, n, faces.a, faces.b));
      target.set(scale3(n, add(h, OUTSIDE)));
      previous.set(NONE);
      stuck.set(0);
      count.set(0);
      const ended = and(settled, or(lt(moved, 10 * rounding), ge(k, DESCENTS)));
      when(ended, () => stops(NEXT.DESCENDED));
    });

    when(eq(goes.get(), 1), () => {
      when(not(known), () => insert(s, point));
      const nearest = reduce(s, target.get());
      const l = sqrt(nearest.distance2);
      when(
        nearest.inside,
        () => next.set(NEXT.INSIDE),
        () =>
          when(
            lt(nearest.distance2, previous.get()),
            () => {
              previous.set(nearest.distance2);
              nearest.commit();
              length.set(l);
              when(
                le(l, 0.1 * rounding),
                () => next.set(NEXT.INSIDE),
                () => d.set(scale3(nearest.x, div(-1, max(l, 1e-30)))),
              );
            },
            () => stuck.set(1),
          ),
      );
    });
  });

  // points that make a triangle
  when(eq(mine, MODE.WIDEN), () => {
    when(widens(s, w), () => insert(s, point));
    next.set(NEXT.WIDEN);
  });

  when(eq(mine, MODE.EXPAND), () => {
    consider();
    const closed = lt(sub(h, p.distance()), select(discrete, 0, CLOSED));
    const stop = variable("epa_stop", 0, "i32");
    stop.set(select(or(closed, ge(p.vertices.get(), MOST_VERTICES)), 1, 0, "i32"));
    when(eq(stop.get(), 0), () => {
      when(
        p.holds(w),
        () => stop.set(1),
        () => {
          p.expand(point, select(discrete, 0, SEEN));
          when(
            p.sound(),
            () => d.set(p.normal()),
            () => stop.set(2),
          );
        },
      );
    });
    when(ne(stop.get(), 0), () => next.set(NEXT.AXES));
    if (curved !== true)
      when(and(eq(stop.get(), 1), not(curved)), () => {
        const front = p.front();
        if (discrete !== false) face.keep(p.triangle());
        keep(best, front.distance, front.normal, front.a, front.b);
        start(MODE.CHECK, front.normal);
        next.set(NEXT.NONE);
      });
  });

  // the support of the polytope's nearest face says whether it is one of the shapes
  when(eq(mine, MODE.CHECK), () => {
    consider();
    const certain = le(abs(sub(h, best.h.get())), FACING);
    best.h.set(select(certain, best.h.get(), NONE));
    face.confirm(and(certain, discrete));
    next.set(select(certain, NEXT.FINISH, NEXT.AXES, "i32"));
  });

  when(eq(mine, MODE.AXES), () => {
    consider();
    when(
      lt(times, 12),
      () => d.set(axisOf(add(times, 1), rot, offset)),
      () => next.set(NEXT.IMPROVE),
    );
  });

  if (curved !== false)
    when(eq(mine, MODE.NEWTON), () => {
      const onLine = and(line.exists, eq(rolls.get(), 1));
      const facing = line.facing(onA, onB);
      const [pa, pb] = [select3(onLine, facing[0], onA), select3(onLine, facing[1], onB)];
      const slope = sub3(sub3(pa, pb), scale3(n, h));
      const off = norm3(slope);
      const better = and(le(h, add(tried.h.get(), FACING)), le(off, max(gap.get(), 10 * rounding)));
      when(better, () => {
        gap.set(min(gap.get(), off));
        keep(tried, h, n, pa, pb);
      });
      const step = newtonStep({ a, b, rot, line }, onLine, n, h, slope);
      when(
        or(or(ge(times, NEWTON_TURNS), lt(step.length, 0.1 * rounding)), not(step.descends)),
        () => next.set(NEXT.POLISHED),
        () => d.set(step.to),
      );
    });

  park?.();

  // what follows
  after(NEXT.INSIDE, () => {
    const from = goal.get();
    const otherwise = select(eq(from, GOAL.DESCENT), NEXT.DESCENDED, NEXT.FINISH, "i32");
    next.set(select(eq(from, GOAL.ORIGIN), NEXT.WIDEN, otherwise, "i32"));
    when(eq(from, GOAL.ORIGIN), () => count.set(0));
  });
  after(NEXT.WIDEN, () => {
    const points = s.count.get();
    when(
      ge(points, 3),
      () => {
        p.begin(largest(s));
        start(MODE.EXPAND, p.normal());
      },
      () => {
        const k = select(eq(mine, MODE.WIDEN), times, -1, "i32");
        const edge = direction(sub3(s.w[1].get(), s.w[0].get()));
        const along = aside(select3(eq(points, 2), edge, [1, 0, 0]), k);
        when(
          ge(k, 3),
          () => next.set(NEXT.AXES),
          () => {
            mode.set(MODE.WIDEN);
            count.set(add(k, 1));
            d.set(along);
          },
        );
      },
    );
  });
  after(NEXT.AXES, () => start(MODE.AXES, [1, 0, 0]));
  after(NEXT.DESCENDED, () => {
    polished.set(1);
    gap.set(lateral(tried.a.get(), tried.b.get(), tried.normal.get()));
    start(MODE.NEWTON, tried.normal.get());
    next.set(select(curved, NEXT.NONE, NEXT.CONCLUDE, "i32"));
  });
  after(NEXT.POLISHED, () => {
    const faces = or(eq(polished.get(), 1), lt(gap.get(), FACING));
    next.set(select(faces, NEXT.CONCLUDE, NEXT.DESCEND, "i32"));
    if (line.exists === false) return;
    const roll = and(line.exists, and(not(faces), eq(rolls.get(), 0)));
    rolls.set(select(roll, 1, 0, "i32"));
    when(roll, () => {
      gap.set(NONE);
      start(MODE.NEWTON, line.across(tried.normal.get()));
      next.set(NEXT.NONE);
    });
  });
  after(NEXT.CONCLUDE, () => {
    when(lt(tried.h.get(), best.h.get()), () =>
      keep(best, tried.h.get(), tried.normal.get(), tried.a.get(), tried.b.get()),
    );
    // a shallow overlap may have two sides
    const again = and(eq(last.get(), 0), lt(best.h.get(), SHALLOW));
    next.set(select(again, NEXT.NONE, NEXT.FINISH, "i32"));
    when(again, () => {
      last.set(1);
      look(GOAL.AWAY, scale3(offset, AWAY), direction(offset));
    });
  });
  after(NEXT.IMPROVE, () => {
    polished.set(0);
    rolls.set(0);
    tried.h.set(NONE);
    gap.set(NONE);
    start(MODE.NEWTON, seed.n.get());
    next.set(select(curved, NEXT.NONE, NEXT.DESCEND, "i32"));
  });
  after(NEXT.DESCEND, () => {
    descents.set(0);
    tried.h.set(NONE);
    look(GOAL.DESCENT, [0, 0, 0], seed.n.get());
  });
  after(NEXT.FINISH, () => {
    mode.set(MODE.DONE);
    hit.set(1);
  });

  function consider(): void {
    const less = lt(h, seed.h.get());
    seed.h.set(select(less, h, seed.h.get()));
    seed.n.setIf(less, n);
  }

  function look(from: number, at: Vec3, along: Vec3): void {
    start(MODE.GJK, along);
    goal.set(from);
    s.count.set(0);
    target.set(at);
    previous.set(NONE);
    stuck.set(0);
  }
}
