// whether the boxes about two geoms are apart: tighter than their spheres where shapes are long or flat
import { mjtGeom } from "../../model/enums.ts";
import { table } from "../../trace/control.ts";
import { abs, add, and, eq, gt, mul, or, sum, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { add3, column, dot3, mulMatVec, sub3, type Vec3 } from "../../trace/vector.ts";
import type { GeomPair } from "../../model/pairs.ts";
import type { Model } from "../../model/model.ts";
import type { GeomFrames } from "./geom-frames.ts";
import type { ModelView } from "../view.ts";

/** A distance along an axis must be larger by this share of the bounding radii, which rounding cannot reach. */
export const ROUNDING = 1e-6;
/** Half size of what has no box: nothing is apart from it. */
const UNBOUNDED = 1e9;

const { PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH } = mjtGeom;
const BOXED: ReadonlySet<number> = new Set([SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH]);

/** Says of two geoms, the lower mjtGeom first, at indices known while tracing or only at run time. */
export type BoxTest = (geom1: Int, geom2: Int, reach: Scalar) => Bool;

/** Whether a geom has a box (geom_aabb). */
export const isBoxed = ({ geom_type }: Model, g: number): boolean => BOXED.has(geom_type[g]);

/** Centre and half size of the box of a geom in its frame (geom_aabb). */
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

/**
 * The test of a model's pairs: true only if the geoms are farther apart than `reach` along a face normal of one of the
 * boxes (geom_aabb), or along the normal of a plane. Never where worlds have sizes of their own.
 */
export function boxTest(m: ModelView, frames: Pick<GeomFrames, "pos" | "mat">, pairs: readonly GeomPair[]): BoxTest {
  if (m.geom_size.isOwn) return () => false;
  const { geom_type } = m.model;
  const { centre, half } = boxesOf(m);
  const hasPlanes = pairs.some((p) => geom_type[p.geom1] === PLANE);

  return (geom1, geom2, reach) => {
    const boxes = [geom1, geom2].map((g) => {
      const mat = frames.mat(g);
      const axes = [0, 1, 2].map((k) => column(mat, k));
      return { at: add3(frames.pos(g), mulMatVec(mat, centre(g))), axes, half: half(g) };
    });
    const [a, b] = boxes;
    const offset = sub3(b.at, a.at);
    const slack = add(reach, mul(ROUNDING, add(m.geom_rbound.at(geom1), m.geom_rbound.at(geom2))));
    const extent = (box: typeof a, u: Vec3) => sum(box.half.map((h, k) => mul(h, abs(dot3(box.axes[k], u)))));
    let apart: Bool = boxes
      .flatMap((box, i) => box.axes.map((u, k) => [u, box.half[k], boxes[1 - i]] as const))
      .map(([u, mine, other]) => gt(abs(dot3(offset, u)), add(add(mine, extent(other, u)), slack)))
      .reduce(or);
    if (hasPlanes) {
      const up = a.axes[2];
      const above = gt(dot3(offset, up), add(extent(b, up), slack));
      apart = or(apart, and(eq(m.geom_type.at(geom1), PLANE), above));
    }
    return apart;
  };
}
