// where a robot stands: the height of the floor, and of what of it is lowest
import { mjtGeom } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { geomPairs } from "../model/pairs.ts";
import { isBelow } from "./motors.ts";
import { collides, geoms } from "./touching.ts";

/** World positions and matrices of geoms, as MuJoCo has them. */
export interface Places {
  readonly geom_xpos: Float64Array;
  readonly geom_xmat: Float64Array;
}

/** Whether a geom is of the world: of its body, or of one that is fixed to it. */
const isOfWorld = (model: Model, g: number): boolean => model.body_weldid[model.geom_bodyid[g]] === 0;

/** Whether something of the world can be stood on. */
export const hasGround = (model: Model): boolean =>
  geoms(model).some(
    (g) =>
      isOfWorld(model, g) &&
      ([mjtGeom.PLANE, mjtGeom.HFIELD, mjtGeom.BOX] as number[]).includes(model.geom_type[g]) &&
      collides(model, g),
  );

/** Whether anything of a body, or below it, may touch something of the world. */
export const meetsGround = (model: Model, root: number): boolean => {
  const isOwn = (g: number) => isBelow(model, model.geom_bodyid[g], root);
  return geomPairs(model).some(
    ({ geom1: a, geom2: b }) => (isOwn(a) && isOfWorld(model, b)) || (isOwn(b) && isOfWorld(model, a)),
  );
};

/** Height of the level plane that is the floor (m); undefined where there is none. */
export function floorOf(model: Model, { geom_xpos, geom_xmat }: Places): number | undefined {
  const level = geoms(model).filter(
    (g) =>
      isOfWorld(model, g) && collides(model, g) && model.geom_type[g] === mjtGeom.PLANE && geom_xmat[9 * g + 8] > 0.999,
  );
  return level.length > 0 ? Math.max(...level.map((g) => geom_xpos[3 * g + 2])) : undefined;
}

/** How far a geom reaches from its middle against an axis of the world, or along it (m); axes are 0, 1 and 2. */
export function reachOf(model: Model, g: number, { geom_xmat }: Places, axis: number, along = false): number {
  const [x, y, z] = [0, 1, 2].map((k) => geom_xmat[9 * g + 3 * axis + k]);
  const [a, b, c] = model.geom_size.subarray(3 * g, 3 * g + 3);
  if (model.geom_type[g] === mjtGeom.SPHERE) return a;
  if (model.geom_type[g] === mjtGeom.CAPSULE) return a + b * Math.abs(z);
  if (model.geom_type[g] === mjtGeom.CYLINDER) return b * Math.abs(z) + a * Math.sqrt(Math.max(0, 1 - z * z));
  if (model.geom_type[g] === mjtGeom.ELLIPSOID) return Math.hypot(a * x, b * y, c * z);
  // boxes are their own bounding boxes; meshes have theirs, about a middle of its own
  const box = model.geom_aabb.subarray(6 * g, 6 * g + 6);
  const sign = along ? 1 : -1;
  return [x, y, z].reduce((sum, r, k) => sum + Math.abs(r) * box[3 + k] + sign * r * box[k], 0);
}

/** Height of the lowest point of what can touch of a body and all below it (m); undefined where nothing can. */
export function lowestOf(model: Model, root: number, places: Places): number | undefined {
  const own = geoms(model).filter((g) => collides(model, g) && isBelow(model, model.geom_bodyid[g], root));
  if (own.length === 0) return undefined;
  return Math.min(...own.map((g) => places.geom_xpos[3 * g + 2] - reachOf(model, g, places, 2)));
}
