// what pairs of geoms that are searched ask of the search, by the types of both
import { mjtGeom } from "../../model/enums.ts";
import type { PairNumbers } from "../../model/pairs.ts";

const { BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH, SPHERE } = mjtGeom;

/** Shapes whose meeting faces are clipped, and shapes that touch in one point: others are turned for further contacts. */
export const FLAT: readonly number[] = [BOX, MESH, CYLINDER];
export const POINT: readonly number[] = [SPHERE, ELLIPSOID];

/** Whether a margin of a pair is searched by MuJoCo's steps. */
export const hasSteps = ({ type1, type2 }: PairNumbers): boolean => [type1, type2].every((t) => FLAT.includes(t));

/** A cylinder with a box, a hull or another. */
export const isRound = ({ type1, type2 }: PairNumbers): boolean => type1 === CYLINDER && FLAT.includes(type2);

/** Boxes and hulls. */
export const isFlat = ({ type1, type2 }: PairNumbers): boolean =>
  [type1, type2].every((t) => FLAT.slice(0, 2).includes(t));

/** An ellipsoid with a cylinder, a box, a hull or another. */
export const isOval = ({ type1, type2 }: PairNumbers): boolean =>
  type1 === ELLIPSOID && (type2 === ELLIPSOID || FLAT.includes(type2));

/** A sphere or a capsule, which MuJoCo shrinks to its core, with an ellipsoid or a hull. */
export const isShrunk = ({ type1, type2 }: PairNumbers): boolean =>
  (type1 === SPHERE || type1 === CAPSULE) && (type2 === ELLIPSOID || type2 === MESH);

export const mayTurn = ({ type1, type2, margin, gap }: PairNumbers): boolean => {
  const types = [type1, type2];
  if (types.some((t) => POINT.includes(t))) return false;
  return margin + gap > 0 || !types.every((t) => FLAT.includes(t));
};
