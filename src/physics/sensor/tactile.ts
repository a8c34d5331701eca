// touch at the vertices of a mesh: how deep they lie in what its body touches, and how that slides (mjSENS_TACTILE)
import { array, each, loop, table, when } from "../../trace/control.ts";
import {
  abs,
  add,
  clamp,
  div,
  eq,
  gt,
  isNode,
  lt,
  max,
  min,
  mul,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { motionAt, translational } from "../../trace/spatial.ts";
import { add3, dot3, mulMatTVec, mulMatVec, norm3, sub3, type Mat3, type Vec3 } from "../../trace/vector.ts";
import { mjtGeom } from "../../model/enums.ts";
import { touchable } from "../../model/touched.ts";
import type { Contacts } from "../constraint/constraint-forces.ts";
import type { ModelView, WorldData } from "../view.ts";

/** Geoms of one kind up to this many are tested in line. */
const IN_LINE = 2;

/** How deep a point in a geom's frame lies in it, 0 outside (mjc_distance of one geom). */
function depthIn(type: number, size: Vec3, x: Vec3): Scalar {
  const out = (distance: Scalar) => max(sub(0, distance), 0);
  switch (type) {
    case mjtGeom.PLANE:
      return out(x[2]);
    case mjtGeom.SPHERE:
      return out(sub(norm3(x), size[0]));
    case mjtGeom.CAPSULE:
      return out(sub(norm3([x[0], x[1], sub(x[2], clamp(x[2], sub(0, size[1]), size[1]))]), size[0]));
    case mjtGeom.CYLINDER: {
      const side = sub(sqrt(add(square(x[0]), square(x[1]))), size[0]);
      return out(max(side, sub(abs(x[2]), size[1])));
    }
    case mjtGeom.ELLIPSOID: {
      const a = x.map((c, k) => div(c, size[k])) as unknown as Vec3;
      const b = a.map((c, k) => div(c, size[k])) as unknown as Vec3;
      const k0 = norm3(a);
      // its centre has no direction, and MuJoCo's quotient no value
      return out(div(mul(k0, sub(k0, 1)), max(norm3(b), 1e-15)));
    }
    case mjtGeom.BOX: {
      const a = x.map((c, k) => sub(abs(c), size[k]));
      const inside = lt(max(a[0], max(a[1], a[2])), 0);
      // away from the surface, so that quotients stay finite
      const within = a.map((c) => min(c, -1e-15));
      // along a direction that turns from the radial one to the normals of the faces
      const length = sqrt(sum(within.map((c, k) => square(div(size[k], c)))));
      const shares = within.map((c, k) => div(square(c), size[k]));
      return select(inside, mul(length, min(shares[0], min(shares[1], shares[2]))), 0);
    }
    default:
      // of a mesh without an octree MuJoCo knows no distance
      return 0;
  }
}

/** Writes depths of all points, then their speeds along two tangents. Reads geom_xpos, geom_xmat, cvel, subtree_com. */
export function tactile(
  m: ModelView,
  d: WorldData,
  contacts: Contacts,
  sensor: number,
  write: (place: Int, value: Scalar) => void,
): void {
  const { model } = m;
  const taxels = model.taxels!;
  const own = model.sensor_refid[sensor];
  const weld = model.body_weldid[model.geom_bodyid[own]];
  const others = touchable(model, weld);
  const count = model.sensor_dim[sensor] / 3;
  const first = taxels.adr[sensor];

  // what is touched now
  const touched = array("touched", Math.max(1, others.length), "i32");
  each(others.length, (k) => touched.set(k, 0));
  const place = table(
    "touched_place",
    Array.from({ length: model.ngeom }, (_, g) => others.indexOf(g)),
    "i32",
  );
  const weldOf = table(
    "geom_weld",
    Array.from(model.geom_bodyid, (b) => model.body_weldid[b]),
    "i32",
  );
  contacts.each(({ geom1, geom2 }) => {
    for (const [mine, other] of [
      [geom1, geom2],
      [geom2, geom1],
    ]) {
      const at = place(other);
      const isTouched = isNode(at) || at >= 0 ? eq(weldOf(mine), weld) : false;
      when(isTouched, () => touched.set(at, 1));
    }
  });

  // frames and velocities of all others, at constant places
  const numbers = Array.from({ length: 15 }, (_, k) => array(`touched${k}`, Math.max(1, others.length)));
  others.forEach((g, k) => {
    const body = model.geom_bodyid[g];
    const pos = d.geom_xpos.vec3(g);
    const velocity = translational(motionAt(d.cvel.spatial(body), pos, d.subtree_com.vec3(model.body_rootid[body])));
    [...pos, ...d.geom_xmat.mat3(g), ...velocity].forEach((x, c) => numbers[c].set(k, x));
  });
  const column = (name: string, of: ArrayLike<number>, width: number, k: number) =>
    table(
      `taxel_${name}${k}`,
      Array.from({ length: count }, (_, j) => of[width * (first + j) + k]),
    );
  const points = [0, 1, 2].map((k) => column("pos", taxels.pos, 3, k));
  const tangents = [0, 1, 2, 3, 4, 5].map((k) => column("tangent", taxels.tangents, 6, k));
  const hasTangents = taxels.tangents.subarray(6 * first, 6 * (first + count)).some((x) => x !== 0);
  const [pos, mat] = [d.geom_xpos.vec3(own), d.geom_xmat.mat3(own)];
  const [spin, com] = [d.cvel.spatial(weld), d.subtree_com.vec3(model.body_rootid[weld])];

  const result = array("taxels", 3 * count);
  loop(3 * count, (k) => result.set(k, 0));
  const look = (type: number, k: Int, size: Vec3): void =>
    when(gt(touched.get(k), 0), () => {
      const all = numbers.map((a) => a.get(k));
      const [origin, frame, velocity] = [all.slice(0, 3), all.slice(3, 12), all.slice(12)] as unknown as [
        Vec3,
        Mat3,
        Vec3,
      ];
      loop(count, (j) => {
        const at = add3(pos, mulMatVec(mat, points.map((p) => p(j)) as unknown as Vec3));
        const depth = depthIn(type, size, mulMatTVec(frame, sub3(at, origin)));
        when(gt(depth, 0), () => {
          result.set(j, max(result.get(j), depth));
          if (!hasTangents) return;
          const slide = mulMatTVec(mat, sub3(translational(motionAt(spin, at, com)), velocity));
          for (const c of [0, 1]) {
            const tangent = tangents.slice(3 * c, 3 * c + 3).map((t) => t(j)) as unknown as Vec3;
            const to = add(j, (c + 1) * count);
            result.set(to, add(result.get(to), abs(dot3(slide, tangent))));
          }
        });
      });
    });
  const kinds = new Map<number, number[]>();
  others.forEach((g, k) => kinds.set(model.geom_type[g], [...(kinds.get(model.geom_type[g]) ?? []), k]));
  for (const [type, members] of kinds) {
    if (type === mjtGeom.MESH) continue;
    if (members.length <= IN_LINE) {
      for (const k of members) look(type, k, m.geom_size.vec3(others[k]));
      continue;
    }
    const placeAt = table(`touched_of${type}`, members, "i32");
    const geomAt = table(
      `touched_geoms${type}`,
      members.map((k) => others[k]),
      "i32",
    );
    m.geom_size.copyOwn();
    loop(members.length, (i) => look(type, placeAt(i), m.geom_size.vec3(geomAt(i))));
  }
  loop(3 * count, (k) => write(k, result.get(k)));
}
