// which geoms stay where their bodies are put
import { type Model } from "../model/model.ts";
import { steadyBodies } from "./collision/steady-geoms.ts";

/** Fixed geoms up to which their frames are kept where there is room: a read need not ask whether a geom is one of them. */
const MOST_KEPT = 128;
/** Fewer fixed geoms than these are as all others. */
export const FEWEST_FIXED = 32;

/**
 * Geoms that nothing moves but where their bodies are put, which worlds may do each for itself; none if they are few, or
 * if worlds turn bodies or move geoms in them. `own`: fields that worlds have numbers of their own of.
 */
export function fixedIds(model: Model, own: { has(field: string): boolean }): readonly number[] {
  if (own.has("body_quat") || own.has("geom_pos")) return [];
  const { geom_bodyid, body_weldid, ngeom } = model;
  const still = Array.from({ length: ngeom }, (_, g) => g).filter((g) => body_weldid[geom_bodyid[g]] === 0);
  if (still.length < FEWEST_FIXED) return [];
  const { turns } = steadyBodies(model);
  const fixed = still.filter((g) => !turns[geom_bodyid[g]]);
  return fixed.length < FEWEST_FIXED ? [] : fixed;
}

/** Of these, those whose frames are not kept beside others: where there is room for them, and they are not many, none. */
export function leftOutIds(model: Model, own: { has(field: string): boolean }, hasRoom: boolean): readonly number[] {
  const fixed = fixedIds(model, own);
  return hasRoom && fixed.length <= MOST_KEPT ? [] : fixed;
}
