// rangefinders at sites: what a ray along the site's z axis meets (mjSENS_RANGEFINDER)
import { array, table } from "../../trace/control.ts";
import { ge, select, type Int, type Scalar } from "../../trace/scalar.ts";
import { addScaled3, column, select3, ZERO3, type Vec3 } from "../../trace/vector.ts";
import { mjtRayDataField, mjtSensor } from "../../model/enums.ts";
import { indexedFrames, isManyRays, RayCaster } from "../ray/cast.ts";
import type { ModelView, WorldData } from "../view.ts";

/** Readings of rangefinders by sensor, without cutoff. */
export type Ranges = ReadonlyMap<number, readonly Scalar[]>;

/** Casts the rays of those sensors that are rangefinders. Reads geom_xpos, geom_xmat, site_xpos, site_xmat. */
export function rangefinders(m: ModelView, d: WorldData, sensors: readonly number[]): Ranges {
  const { model } = m;
  const own = sensors.filter((i) => model.sensor_type[i] === mjtSensor.RANGEFINDER);
  if (own.length === 0) return new Map();
  const caster = new RayCaster(m, d);
  const siteAt = table(
    "range_site",
    own.map((i) => model.sensor_objid[i]),
    "i32",
  );
  const sites = indexedFrames(d.site_xpos, d.site_xmat, isManyRays(own.length));
  const dist = array("range", own.length);
  const normal = [0, 1, 2].map((k) => array(`range_normal${k}`, own.length));
  const rayAt = (i: Int) => {
    const site = siteAt(i);
    const { pos, mat } = sites(site);
    return { origin: pos, direction: column(mat, 2), exclude: m.site_bodyid.at(site) };
  };
  caster.castAll(own.length, rayAt, (i, hit) => {
    dist.set(i, hit.dist);
    hit.normal.forEach((x, k) => normal[k].set(i, x));
  });
  return new Map(
    own.map((sensor, i) => {
      const { origin, direction } = rayAt(i);
      const n = normal.map((x) => x.get(i)) as unknown as Vec3;
      return [sensor, fieldsOf(model.sensor_intprm[3 * sensor], dist.get(i), origin, direction, n)];
    }),
  );
}

/** The fields that a sensor reports, in MuJoCo's order; zeros, and -1 for distances, if nothing is met. */
function fieldsOf(spec: number, dist: Scalar, origin: Vec3, direction: Vec3, normal: Vec3): readonly Scalar[] {
  const hit = ge(dist, 0);
  const ifHit = (v: Vec3): Vec3 => select3(hit, v, ZERO3);
  const F = mjtRayDataField;
  const values: Readonly<Record<number, () => readonly Scalar[]>> = {
    [F.DIST]: () => [dist],
    [F.DIR]: () => ifHit(direction),
    [F.ORIGIN]: () => origin,
    [F.POINT]: () => ifHit(addScaled3(origin, dist, direction)),
    [F.NORMAL]: () => ifHit(normal),
    // of a site, which has no image plane
    [F.DEPTH]: () => [select(hit, dist, -1)],
  };
  return Object.values(F).flatMap((bit) => (spec & (1 << bit) ? values[bit]() : []));
}
