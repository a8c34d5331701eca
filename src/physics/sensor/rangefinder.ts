// rangefinders: what a ray along a site's z axis meets, or the rays of all pixels of a camera (mjSENS_RANGEFINDER)
import { array, loop, table } from "../../trace/control.ts";
import { add, ge, mul, neg, select, type Int, type Scalar } from "../../trace/scalar.ts";
import { addScaled3, column, mulMatVec, normalize3, select3, ZERO3, type Vec3 } from "../../trace/vector.ts";
import { mjtProjection, mjtRayDataField, mjtSensor } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { isImage } from "../../model/long-sensors.ts";
import { indexedFrames, isManyRays, RayCaster } from "../ray/cast.ts";
import type { ModelView, WorldData } from "../view.ts";

/** Readings of rangefinders by sensor, without cutoff. */
export type Ranges = ReadonlyMap<number, readonly Scalar[]>;

/** Casts the rays of those sensors that are rangefinders at sites. Reads geom_xpos, geom_xmat, site_xpos, site_xmat. */
export function rangefinders(m: ModelView, d: WorldData, sensors: readonly number[]): Ranges {
  const { model } = m;
  const own = sensors.filter((i) => model.sensor_type[i] === mjtSensor.RANGEFINDER && !isImage(model, i));
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
      // a site has no image plane: depth is distance
      return [sensor, fieldsOf(model.sensor_intprm[3 * sensor], dist.get(i), origin, direction, n, 1)];
    }),
  );
}

/** Casts a ray for each pixel of the cameras of sensors, and writes each number at its place in the sensor. */
export function castImages(
  m: ModelView,
  d: WorldData,
  sensors: readonly number[],
  write: (sensor: number, place: Int, value: Scalar) => void,
): void {
  if (sensors.length === 0) return;
  const { model } = m;
  const caster = new RayCaster(m, d);
  for (const sensor of sensors) {
    const spec = model.sensor_intprm[3 * sensor];
    const camera = model.sensor_objid[sensor];
    const [width, height] = [model.cam_resolution[2 * camera], model.cam_resolution[2 * camera + 1]];
    const stride = model.sensor_dim[sensor] / (width * height);
    const [pos, mat] = [d.cam_xpos.vec3(camera), d.cam_xmat.mat3(camera)];
    const isParallel = model.cam_projection[camera] === mjtProjection.ORTHOGRAPHIC;
    const { x, y } = pixelCentres(model, camera);
    const [xAt, yAt] = [table("pixel_x", x), table("pixel_y", y)];
    loop(height, (row) =>
      loop(width, (col) => {
        const across: Vec3 = [xAt(col), yAt(row), 0];
        const ahead: Vec3 = isParallel ? [0, 0, -1] : normalize3([across[0], across[1], -1]).unit;
        const origin = isParallel ? addScaled3(pos, 1, mulMatVec(mat, across)) : pos;
        const direction = mulMatVec(mat, ahead);
        const hit = caster.cast({ origin, direction, exclude: model.cam_bodyid[camera] });
        const values = fieldsOf(spec, hit.dist, origin, direction, hit.normal, neg(ahead[2]));
        const start = mul(add(mul(row, width), col), stride);
        values.forEach((value, k) => write(sensor, add(start, k), value));
      }),
    );
  }
}

/** Where a camera's pixels lie: right and up of its axis, at distance 1 where it is perspective, else in m. */
function pixelCentres(model: Model, camera: number): { readonly x: number[]; readonly y: number[] } {
  const pixels = [model.cam_resolution[2 * camera], model.cam_resolution[2 * camera + 1]];
  const isParallel = model.cam_projection[camera] === mjtProjection.ORTHOGRAPHIC;
  const size = [model.cam_sensorsize[2 * camera], model.cam_sensorsize[2 * camera + 1]];
  const intrinsic = model.cam_intrinsic.subarray(4 * camera, 4 * camera + 4);
  const fovy = model.cam_fovy[camera];
  const [x, y] = pixels.map((count, k) => {
    const isMeasured = !isParallel && size[0] !== 0 && size[1] !== 0;
    const open = (0.5 / Math.tan((fovy * Math.PI) / 360)) * pixels[1];
    const focal = isParallel ? count / fovy : isMeasured ? (intrinsic[k] / size[k]) * count : open;
    const centre = isMeasured ? (intrinsic[2 + k] / size[k]) * count : count / 2;
    return Array.from({ length: count }, (_, i) => (i + 0.5 - centre) / focal);
  });
  return { x, y: y.map((v) => -v) };
}

/**
 * The fields that a sensor reports, in MuJoCo's order; zeros, and -1 for distances, if nothing is met. `ahead` is how
 * far the ray goes along the image's axis in a length of its own.
 */
function fieldsOf(
  spec: number,
  dist: Scalar,
  origin: Vec3,
  direction: Vec3,
  normal: Vec3,
  ahead: Scalar,
): readonly Scalar[] {
  const hit = ge(dist, 0);
  const ifHit = (v: Vec3): Vec3 => select3(hit, v, ZERO3);
  const F = mjtRayDataField;
  const values: Readonly<Record<number, () => readonly Scalar[]>> = {
    [F.DIST]: () => [dist],
    [F.DIR]: () => ifHit(direction),
    [F.ORIGIN]: () => origin,
    [F.POINT]: () => ifHit(addScaled3(origin, dist, direction)),
    [F.NORMAL]: () => ifHit(normal),
    [F.DEPTH]: () => [select(hit, mul(dist, ahead), -1)],
  };
  return Object.values(F).flatMap((bit) => (spec & (1 << bit) ? values[bit]() : []));
}
