// the distance of two geoms, or of the nearest of two bodies' (mjSENS_GEOMDIST and its like, mj_geomDistance)
import { and, lt, mul, select, type Scalar } from "../../trace/scalar.ts";
import { addScaled3, normalize3, select3, sub3, ZERO3, type Vec3 } from "../../trace/vector.ts";
import { mjtSensor } from "../../model/enums.ts";
import { distancePairs } from "../../model/pairs.ts";
import { colliderName, colliders } from "../collision/colliders/index.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Distance up to the sensor's cutoff, the direction from the first geom to the second, or the segment between them. */
export function geomDistance(m: ModelView, d: WorldData, i: number): readonly Scalar[] {
  const { model } = m;
  const cutoff = model.sensor_cutoff[i];
  let dist: Scalar = cutoff;
  let [from, to]: [Vec3, Vec3] = [ZERO3, ZERO3];
  const shape = (g: number) => ({ pos: d.geom_xpos.vec3(g), mat: d.geom_xmat.mat3(g), size: m.geom_size.vec3(g) });
  for (const [g1, g2] of distancePairs(model, i)) {
    const flips = model.geom_type[g1] > model.geom_type[g2];
    const [a, b] = flips ? [g2, g1] : [g1, g2];
    const name = colliderName(model.geom_type[a], model.geom_type[b]);
    // planes have no distance from one another
    if (!name) continue;
    const { collide } = colliders[name];
    for (const c of collide(shape(a), shape(b), cutoff)) {
      const nearer = and(c.exists, lt(c.dist, dist));
      const half = mul(flips ? -0.5 : 0.5, c.dist);
      from = select3(nearer, addScaled3(c.pos, mul(-1, half), c.normal), from);
      to = select3(nearer, addScaled3(c.pos, half, c.normal), to);
      dist = select(nearer, c.dist, dist);
    }
  }
  switch (model.sensor_type[i]) {
    case mjtSensor.GEOMDIST:
      return [dist];
    case mjtSensor.GEOMNORMAL:
      return normalize3(sub3(to, from), ZERO3).unit;
    default:
      return [...from, ...to];
  }
}
