// what a search of two shapes knows from one turn to the next
import { variable } from "../../../trace/control.ts";
import { add, and, le, or, type Bool, type Scalar } from "../../../trace/scalar.ts";
import { ZERO3, type Mat3, type Vec3 } from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { direction } from "./directions.ts";
import type { Frame } from "./kinks.ts";
import { GJK_TURNS, GOAL, MODE, NEXT, SLACK } from "./phases.ts";
import { faceRecord, NONE, record } from "./record.ts";
import { vector } from "./registers.ts";
import { simplex } from "./simplex.ts";
import { isPolyhedron, type Core } from "./support.ts";
import type { ConvexOptions } from "./types.ts";

/** Two shapes of a search: the second shape's frame in the first's, and what is known of both. */
export interface Searched {
  readonly a: Core;
  readonly b: Core;
  readonly rot: Mat3;
  readonly offset: Vec3;
  readonly curved: Bool;
  /** The difference of two has faces, one of which the search ends with. */
  readonly discrete: Bool;
  readonly limit: number;
  /** Separated by more is separated. */
  readonly cut: Scalar;
}

/** `reach` is that of the cores. */
export function searched(a: Core, b: Core, { rot, offset }: Frame, reach: Scalar, options: ConvexOptions): Searched {
  const curved = [a, b].map((c) => c.is(mjtGeom.ELLIPSOID, mjtGeom.CYLINDER)).reduce(or);
  const discrete = and(and(isPolyhedron(a.shape), isPolyhedron(b.shape)), le(reach, 0));
  const limit = Math.min(GJK_TURNS, Math.max(1, options.iterations));
  return { a, b, rot, offset, curved, discrete, limit, cut: add(reach, SLACK) };
}

/** Where a search begins; `offset` is the second shape's centre in the frame of the first. */
function beginning(offset: Vec3) {
  const mode = variable("mode", MODE.GJK, "i32");
  const goal = variable("goal", GOAL.ORIGIN, "i32");
  const next = variable("next", NEXT.NONE, "i32");
  const d = vector("d", direction(offset));
  const count = variable("mode_turns", 0, "i32");
  const turns = variable("search_turns", 0, "i32");
  const hit = variable("search_hit", 0, "i32");

  // GJK
  const s = simplex();
  s.count.set(0);
  const target = vector("target");
  const length = variable("nearest_length", 0);
  const previous = variable("nearest_before", NONE);
  const stuck = variable("stuck", 0, "i32");

  // the direction of least h so far, the best place near it, the best of several
  const seed = { h: variable("seed_h", NONE), n: vector("seed_n", FIRST_SEED) };
  const tried = record("try");
  const best = record("best");
  const gap = variable("try_gap", NONE);
  const descents = variable("descents", 0, "i32");
  const polished = variable("polished", 0, "i32");
  const rolls = variable("rolls", 0, "i32");
  return {
    mode,
    goal,
    next,
    d,
    count,
    turns,
    hit,
    s,
    target,
    length,
    previous,
    stuck,
    seed,
    tried,
    best,
    gap,
    descents,
    polished,
    rolls,
  };
}

const ending = () => ({ last: variable("last_try", 0, "i32"), face: faceRecord() });

export type SearchState = ReturnType<typeof beginning> & ReturnType<typeof ending>;

const FIRST_SEED: Vec3 = [0, 0, 1];

/** A search from its start; `between` is traced before the last of its variables. */
export function searchState(offset: Vec3, between: () => void = () => {}): SearchState {
  const first = beginning(offset);
  between();
  return { ...first, ...ending() };
}

/** Begins another search with the same variables. */
export function restart(state: SearchState, offset: Vec3): void {
  state.mode.set(MODE.GJK);
  state.goal.set(GOAL.ORIGIN);
  state.d.set(direction(offset));
  for (const x of [state.count, state.turns, state.hit, state.s.count, state.stuck, state.descents, state.polished])
    x.set(0);
  for (const x of [state.rolls, state.last, state.length]) x.set(0);
  for (const x of [state.previous, state.seed.h, state.tried.h, state.best.h, state.gap]) x.set(NONE);
  for (const x of [state.seed.n, state.tried.normal, state.best.normal]) x.set(FIRST_SEED);
  for (const x of [state.target, state.tried.a, state.tried.b, state.best.a, state.best.b]) x.set(ZERO3);
  state.face.confirm(false);
}
