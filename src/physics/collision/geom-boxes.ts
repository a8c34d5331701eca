// boxes about geoms (geom_aabb), in the geoms' frames and along the world's axes
import { mjtGeom } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { table } from "../../trace/control.ts";
import type { Int } from "../../trace/scalar.ts";
import type { Vec3 } from "../../trace/vector.ts";
import type { ModelView } from "../view.ts";

/** A distance along an axis must be larger by this share of the bounding radii, which rounding cannot reach. */
export const ROUNDING = 1e-6;
/** Half size of what has no box: nothing is apart from it. */
const UNBOUNDED = 1e9;

const { SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH } = mjtGeom;
const BOXED: ReadonlySet<number> = new Set([SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH]);

/** Along the world's axes: where a geom is, and half of the reach of its pairs around that. */
export interface WorldBox {
  readonly low: Vec3;
  readonly high: Vec3;
}

/** Whether a geom has a box. */
export const isBoxed = ({ geom_type }: Model, g: number): boolean => BOXED.has(geom_type[g]);

/** Centre and half size of the box of a geom. */
export function boxOf(model: Model, g: number): Record<"centre" | "half", Vec3> {
  if (!isBoxed(model, g)) return { centre: [0, 0, 0], half: [UNBOUNDED, UNBOUNDED, UNBOUNDED] };
  const [x, y, z, a, b, c] = model.geom_aabb.subarray(6 * g, 6 * g + 6);
  return { centre: [x, y, z], half: [a, b, c] };
}

/** The same at indices known only at run time. */
export function boxesOf(m: ModelView): Record<"centre" | "half", (geom: Int) => Vec3> {
  const all = Array.from({ length: m.ngeom }, (_, g) => boxOf(m.model, g));
  const of = (what: "centre" | "half", offset: number) => {
    const values = all.flatMap((box) => box[what] as readonly number[]);
    // one component a table: centres of primitives are 0
    const components = [0, 1, 2].map((k) =>
      table(
        `box_${offset}_${k}`,
        values.filter((_, i) => i % 3 === k),
      ),
    );
    return (g: Int) => components.map((read) => read(g)) as unknown as Vec3;
  };
  return { centre: of("centre", 0), half: of("half", 3) };
}
