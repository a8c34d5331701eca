// which geoms rays see (ray_eliminate of mj_ray), known from the model alone
import { mjtGeom } from "./enums.ts";
import type { Model } from "./model.ts";

/** The groups of geoms that MuJoCo has (mjNGROUP). */
export const GEOM_GROUPS = 6;

/** Which geoms rays see, as mj_ray takes it. */
export interface RayFilter {
  /** Whether geoms of each group are seen; groups beyond the ends count as the ends. Default: all. */
  readonly groups?: readonly boolean[];
  /** Whether geoms of bodies that are welded to the world are seen. Default true. */
  readonly statics?: boolean;
}

/** Kinds of geoms that rays meet. */
const MET: ReadonlySet<number> = new Set([
  mjtGeom.PLANE,
  mjtGeom.SPHERE,
  mjtGeom.CAPSULE,
  mjtGeom.ELLIPSOID,
  mjtGeom.CYLINDER,
  mjtGeom.BOX,
  mjtGeom.MESH,
  mjtGeom.HFIELD,
]);

/** The geoms that rays see, in order: those that are not transparent, of the groups and bodies asked for. */
export function seenGeoms(model: Model, { groups, statics = true }: RayFilter = {}): number[] {
  const isSeen = (g: number): boolean => {
    const material = model.geom_matid[g];
    const alpha = material < 0 ? model.geom_rgba[4 * g + 3] : model.mat_rgba[4 * material + 3];
    if (alpha === 0) return false;
    if (!statics && model.body_weldid[model.geom_bodyid[g]] === 0) return false;
    return groups?.[Math.min(GEOM_GROUPS - 1, Math.max(0, model.geom_group[g]))] ?? true;
  };
  return Array.from({ length: model.ngeom }, (_, g) => g).filter(isSeen);
}

/** Kinds (mjtGeom) among the geoms that rays see which they cannot be cast into. */
export const unmetKinds = (model: Model, filter?: RayFilter): number[] => [
  ...new Set(
    seenGeoms(model, filter)
      .map((g) => model.geom_type[g])
      .filter((type) => !MET.has(type)),
  ),
];
