// the distance of two geoms, or of the nearest of two bodies' (mjSENS_GEOMDIST and its like, mj_geomDistance)
import { loop, table, variable } from "../../trace/control.ts";
import { and, lt, mul, select, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { addScaled3, normalize3, sub3, ZERO3, type Vec3 } from "../../trace/vector.ts";
import { mjtGeom, mjtSensor } from "../../model/enums.ts";
import { distancePairs, isMeasured } from "../../model/pairs.ts";
import { colliderName, colliders } from "../collision/colliders/index.ts";
import { planeMesh } from "../collision/colliders/plane-mesh.ts";
import { framesOf } from "../collision/geom-frames.ts";
import { convexDistance } from "../collision/convex/index.ts";
import { vector } from "../collision/convex/registers.ts";
import { convexShapes, searchOptions } from "../collision/pair-colliders.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Distance up to the sensor's cutoff, the direction from the first geom to the second, or the segment between them. */
export function geomDistance(m: ModelView, d: WorldData, i: number): readonly Scalar[] {
  const { model } = m;
  const cutoff = model.sensor_cutoff[i];
  const [dist, from, to] = [variable("distance", cutoff), vector("distance_from"), vector("distance_to")];
  const ends = (nearer: Bool, d: Scalar, a: Vec3, b: Vec3) => {
    from.setIf(nearer, a);
    to.setIf(nearer, b);
    dist.set(select(nearer, d, dist.get(), "f32"));
  };
  dist.set(cutoff);
  from.set(ZERO3);
  to.set(ZERO3);
  const frames = framesOf(m, d);
  const shape = (g: Int) => ({ geom: g, pos: frames.pos(g), mat: frames.mat(g), size: m.geom_size.vec3(g) });
  const { hullOf, convex } = convexShapes(m);
  const typeOf = (g: number) => model.geom_type[g];

  const pairs = distancePairs(model, i);
  for (const [g1, g2] of pairs) {
    if (isMeasured(model, g1, g2) !== "formula") continue;
    const flips = typeOf(g1) > typeOf(g2);
    const [a, b] = flips ? [g2, g1] : [g1, g2];
    const all =
      typeOf(b) === mjtGeom.MESH && typeOf(a) === mjtGeom.PLANE
        ? planeMesh(shape(a), { ...shape(b), hull: hullOf!(b) }, cutoff)
        : colliders[colliderName(typeOf(a), typeOf(b))!].collide(shape(a), shape(b), cutoff);
    for (const c of all) {
      const half = mul(flips ? -0.5 : 0.5, c.dist);
      const nearer = and(c.exists, lt(c.dist, dist.get()));
      ends(nearer, c.dist, addScaled3(c.pos, mul(-1, half), c.normal), addScaled3(c.pos, half, c.normal));
    }
  }

  // one search for all pairs, in a runtime loop
  const searched = pairs.filter(([g1, g2]) => isMeasured(model, g1, g2) === "search");
  const kinds = [0, 1].map((end) => [...new Set(searched.map((p) => typeOf(p[end])))]);
  const search = (g1: Int, g2: Int) => {
    const [a, b] = [g1, g2].map((g, end) => convex(shape(g), kinds[end]));
    const found = convexDistance(a, b, dist.get(), searchOptions(model));
    ends(and(found.hit, lt(found.dist, dist.get())), found.dist, found.from, found.to);
  };
  if (searched.length === 1) search(...searched[0]);
  else if (searched.length > 1) {
    frames.copy();
    const [first, second] = [0, 1].map((end) =>
      table(
        `distance_geom${end}`,
        searched.map((p) => p[end]),
        "i32",
      ),
    );
    loop(searched.length, (k) => search(first(k), second(k)), { label: "distances" });
  }

  switch (model.sensor_type[i]) {
    case mjtSensor.GEOMDIST:
      return [dist.get()];
    case mjtSensor.GEOMNORMAL:
      return normalize3(sub3(to.get(), from.get()), ZERO3).unit;
    default:
      return [...from.get(), ...to.get()];
  }
}
