// hulls that lie on each other with faces of one outline, of which float32 does not tell which corners are cut off
import type { Model } from "./model-data.ts";
import { mjtGeom } from "./enums.ts";
import type { MjData } from "./mujoco.ts";

/** Corners nearer to each other than this part of a hull's size are one by what float32 tells. */
const ONE = 1e-6;
/** As many corners are kept as contacts; of faces with more it hangs on rounding which. */
const KEPT = 4;
/** Corners of a hull at the plane of contact that are looked at. */
const MOST_CORNERS = 256;

/** Two geoms, and where they touch. */
export interface Touch {
  readonly geoms: readonly [number, number];
  readonly pos: readonly number[];
  readonly normal: readonly number[];
  readonly dist: number;
}

/** Corners of a hull that are as near to the plane of a contact as it is deep, and the hull's size. */
function cornersAt(model: Model, data: MjData, geom: number, { pos, normal, dist }: Touch) {
  const { mesh, vert, vertadr, vertnum } = model.hulls!;
  const hull = mesh[model.geom_dataid[geom]];
  const [at, axes] = [data.geom_xpos as Float64Array, data.geom_xmat as Float64Array];
  const corners: number[][] = [];
  let size = 0;
  for (let v = vertadr[hull]; v < vertadr[hull] + vertnum[hull]; v++) {
    const own = vert.subarray(3 * v, 3 * v + 3);
    size = Math.max(size, Math.hypot(...own));
    const place = [0, 1, 2].map((k) => {
      const row = 9 * geom + 3 * k;
      return at[3 * geom + k] + axes[row] * own[0] + axes[row + 1] * own[1] + axes[row + 2] * own[2];
    });
    corners.push(place);
  }
  const height = (p: readonly number[]) => Math.abs(normal.reduce((sum, n, k) => sum + n * (p[k] - pos[k]), 0));
  const near = corners.filter((p) => height(p) < Math.abs(dist) + ONE * size);
  return { size, corners: near.slice(0, MOST_CORNERS) };
}

/** Whether more corners of one hull than are kept lie over corners of the other. */
export function areTwins(model: Model, data: MjData, touch: Touch): boolean {
  const { geoms, normal } = touch;
  if (!model.hulls || geoms.some((g) => model.geom_type[g] !== mjtGeom.MESH)) return false;
  const [mine, theirs] = geoms.map((geom) => cornersAt(model, data, geom, touch));
  const one = ONE * Math.min(mine.size, theirs.size);
  const isOver = (p: readonly number[], q: readonly number[]) => {
    const apart = p.map((x, k) => x - q[k]);
    const height = normal.reduce((sum, n, k) => sum + n * apart[k], 0);
    return Math.hypot(...apart.map((x, k) => x - height * normal[k])) < one;
  };
  return mine.corners.filter((p) => theirs.corners.some((q) => isOver(p, q))).length > KEPT;
}
