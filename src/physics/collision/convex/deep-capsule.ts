// a capsule whose axis enters a cylinder, which MuJoCo searches as a whole: where its own steps end
import { mjtGeom } from "../../../model/enums.ts";
import type { Bool, Scalar } from "../../../trace/scalar.ts";
import { add3, scale3, ZERO3, type Vec3 } from "../../../trace/vector.ts";
import { boundingRadius } from "../colliders/near.ts";
import type { Shape } from "../colliders/types.ts";
import { locate, type Finder } from "./distance.ts";
import { marginSearch } from "./margin-search.ts";
import { polytope } from "./polytope.ts";
import type { ConvexOptions, ConvexShape } from "./types.ts";

/** What the steps found; nothing where they do not decide. */
export interface Deep {
  readonly hit: Bool;
  /** m, global. */
  readonly dist: Scalar;
  readonly pos: Vec3;
  readonly normal: Vec3;
}

const NOTHING: Finder = () => ({
  hit: false,
  distance: 0,
  normal: [0, 0, 1],
  a: ZERO3,
  b: ZERO3,
  turns: 0,
  isFace: false,
  triangle: [
    [0, 0, 0],
    [0, 0, 0],
  ],
});

/** The search of a capsule and a cylinder without a margin, where `where`. */
export function deepCapsule(options: ConvexOptions, where: Bool): (capsule: Shape, cylinder: Shape) => Deep {
  const find = marginSearch(NOTHING, { ...options, capsules: true }, polytope(), where);
  const shape = (of: Shape, type: number): ConvexShape => ({ ...of, type, radius: boundingRadius(type, of.size) });
  return (capsule, cylinder) => {
    const found = locate(shape(capsule, mjtGeom.CAPSULE), shape(cylinder, mjtGeom.CYLINDER), 0, find);
    return { ...found, pos: scale3(add3(found.from, found.to), 0.5) };
  };
}
