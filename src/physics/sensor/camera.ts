// where a camera sees a site (mjSENS_CAMPROJECTION)
import { abs, add, div, lt, mul, select, type Scalar } from "../../trace/scalar.ts";
import { mulMatTVec, sub3, MINVAL } from "../../trace/vector.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Pixel coordinates of a site in a camera's image: right and down from its upper left corner. */
export function cameraProjection(m: ModelView, d: WorldData, camera: number, site: number): Scalar[] {
  const { model } = m;
  const two = (values: ArrayLike<number>, width = 2) => [values[width * camera], values[width * camera + 1]];
  const [width, height] = two(model.cam_resolution);
  const size = two(model.cam_sensorsize);
  const focal = two(model.cam_intrinsic, 4);
  const open = (0.5 / Math.tan((model.cam_fovy[camera] * Math.PI) / 360)) * height;
  const [fx, fy] = size[0] && size[1] ? [(focal[0] / size[0]) * width, (focal[1] / size[1]) * height] : [open, open];

  const offset = sub3(d.site_xpos.vec3(site), d.cam_xpos.vec3(camera));
  const [x, y, z] = mulMatTVec(d.cam_xmat.mat3(camera), offset);
  const depth = select(lt(abs(z), MINVAL), select(lt(z, 0), -MINVAL, MINVAL), z);
  return [add(mul(-fx, div(x, depth)), 0.5 * width), add(mul(fy, div(y, depth)), 0.5 * height)];
}
