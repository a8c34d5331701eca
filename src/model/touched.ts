// which geoms a tactile sensor's body can touch
import type { Model } from "./model.ts";
import { geomPairs } from "./pairs.ts";

/** Geoms, in order, that may touch those of bodies welded to `weld`. */
export function touchable(model: Model, weld: number): number[] {
  const isOwn = (g: number) => model.body_weldid[model.geom_bodyid[g]] === weld;
  const found = geomPairs(model).flatMap(({ geom1, geom2 }) => [
    ...(isOwn(geom1) ? [geom2] : []),
    ...(isOwn(geom2) ? [geom1] : []),
  ]);
  return [...new Set(found)].sort((a, b) => a - b);
}
