// whether the boxes about two geoms are apart: tighter than their spheres where shapes are long or flat
import { mjtGeom } from "../../model/enums.ts";
import { abs, add, and, eq, gt, mul, or, sum, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { add3, column, dot3, mulMatVec, sub3, type Vec3 } from "../../trace/vector.ts";
import type { GeomPair } from "../../model/pairs.ts";
import { boxesOf, ROUNDING } from "./geom-boxes.ts";
import type { GeomFrames } from "./geom-frames.ts";
import type { ModelView } from "../view.ts";

const { PLANE } = mjtGeom;

/** Says of two geoms, the lower mjtGeom first, at indices known while tracing or only at run time. */
export type BoxTest = (geom1: Int, geom2: Int, reach: Scalar) => Bool;

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
