// the parts of the search, and how one leads to another
import { current } from "../../../trace/graph.ts";

/** What the loop does with the support point of a turn. */
export const MODE = { GJK: 0, WIDEN: 1, EXPAND: 2, CHECK: 3, AXES: 4, NEWTON: 5, DONE: 6, RESUMED: 7 } as const;
/** What follows when a part of the search has ended; earlier ones may lead to later ones. */
export const NEXT = {
  NONE: 0,
  INSIDE: 1,
  DESCENDED: 2,
  POLISHED: 3,
  CONCLUDE: 4,
  IMPROVE: 5,
  DESCEND: 6,
  AXES: 7,
  FINISH: 8,
  WIDEN: 9,
} as const;
/** Whence GJK looks: the origin, a point outside of A - B, the origin from farther away. */
export const GOAL = { ORIGIN: 0, DESCENT: 1, AWAY: 2 } as const;

/** Turns of the loop: the longest search of 80,000 took 205 in float32. In float64 rounding ends none early: all parts to their ends. */
export const mostTurns = (): number => (current().exact ? 1400 : 320);
export const GJK_TURNS = 40;
export const NEWTON_TURNS = 8;
export const DESCENTS = 12;
/** How far outside of A - B a descent looks from: contracts best between 0.01 and 0.03. */
export const OUTSIDE = 0.03;
/** What rounding leaves of a distance, and of a distance that is certain. */
export const ROUNDING = 1e-7;
const ROUNDING_OF_FLOAT64 = 1e-12;
export const CERTAIN = 1e-5;
/** Separated by more than this is separated, whatever a margin says. */
export const SLACK = 3e-5;
/** Nearer than this the directions of GJK are not to be trusted. */
export const NEAR = 2e-3;
/** Overlaps less deep than this are looked at from a second direction. */
export const SHALLOW = 2e-3;
/** Distance across the normal of witnesses that face each other. */
export const FACING = 2e-6;
/** Relative shift of the origin that parts shapes which overlap by less than a tenth. */
export const AWAY = 1 / 9;
/** Where bounds of the polytope meet. */
export const CLOSED = 3e-6;

/** What rounding leaves of a distance in what a kernel computes in. */
export const roundingOf = (): number => (current().exact ? ROUNDING_OF_FLOAT64 : ROUNDING);
