// whether a point is inside a site (mju_insideGeom)
import { abs, add, and, clamp, div, lt, square, sub, sum, type Bool } from "../../trace/scalar.ts";
import { mulMatTVec, sub3, type Vec3 } from "../../trace/vector.ts";
import { mjtGeom } from "../../model/enums.ts";
import type { WorldData, ModelView } from "../view.ts";

export function insideSite(m: ModelView, d: WorldData, site: number, point: Vec3): Bool {
  const { model } = m;
  const [a, b, c] = Array.from(model.site_size.subarray(3 * site, 3 * site + 3));
  const local = mulMatTVec(d.site_xmat.mat3(site), sub3(point, d.site_xpos.vec3(site)));
  const [x, y, z] = local;
  const across = add(square(x), square(y));
  switch (model.site_type[site]) {
    case mjtGeom.CAPSULE:
      return lt(add(across, square(sub(z, clamp(z, -b, b)))), a * a);
    case mjtGeom.ELLIPSOID:
      return lt(sum([div(x, a), div(y, b), div(z, c)].map(square)), 1);
    case mjtGeom.CYLINDER:
      return and(lt(abs(z), b), lt(across, a * a));
    case mjtGeom.BOX:
      return and(lt(abs(x), a), and(lt(abs(y), b), lt(abs(z), c)));
    default:
      return lt(add(across, square(z)), a * a);
  }
}
