// the parts of the search, and how one leads to another

/** What the loop does with the support point of a turn. */
export const MODE = { GJK: 0, WIDEN: 1, EXPAND: 2, CHECK: 3, AXES: 4, NEWTON: 5, DONE: 6 } as const;
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
