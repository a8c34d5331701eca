// frames, velocities and accelerations of what sensors are attached to
import { add } from "../../trace/scalar.ts";
import { motionAt, rotational, translational, ZERO6, type Spatial } from "../../trace/spatial.ts";
import { cross, mulMatTVec, mulQuat, type Mat3, type Quat, type Vec3 } from "../../trace/vector.ts";
import { mjtObj } from "../../model/enums.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Something with a frame: a body's inertial (BODY) or own frame (XBODY), a geom, a site, a camera. */
export interface Attached {
  readonly body: number;
  readonly pos: Vec3;
  readonly mat: Mat3;
  readonly quat: Quat;
}

/** What is fixed in a body's frame. */
const FIXED = new Map<number, "geom" | "site" | "cam">([
  [mjtObj.GEOM, "geom"],
  [mjtObj.SITE, "site"],
  [mjtObj.CAMERA, "cam"],
]);

export function attached(m: ModelView, d: WorldData, type: number, id: number): Attached {
  const own = (body: number) => d.xquat.quat(body);
  if (type === mjtObj.BODY)
    return {
      body: id,
      pos: d.xipos.vec3(id),
      mat: d.ximat.mat3(id),
      quat: mulQuat(own(id), m.body_iquat.quat(id)),
    };
  const kind = FIXED.get(type);
  if (!kind) return { body: id, pos: d.xpos.vec3(id), mat: d.xmat.mat3(id), quat: own(id) };
  const body = m.model[`${kind}_bodyid`][id];
  return {
    body,
    pos: d[`${kind}_xpos`].vec3(id),
    mat: d[`${kind}_xmat`].mat3(id),
    // a camera's goes with its body too, whatever its mode, as MuJoCo's does
    quat: mulQuat(own(body), m[`${kind}_quat`].quat(id)),
  };
}

const centre = (m: ModelView, d: WorldData, body: number): Vec3 => d.subtree_com.vec3(m.model.body_rootid[body]);

/** Both halves of a spatial vector in the axes of `mat`. */
export const inAxes = (s: Spatial, mat: Mat3): Spatial => [
  ...mulMatTVec(mat, rotational(s)),
  ...mulMatTVec(mat, translational(s)),
];

/** Velocity at the object's origin, global axes (mj_objectVelocity). */
export const objectVelocity = (m: ModelView, d: WorldData, o: Attached): Spatial =>
  motionAt(d.cvel.spatial(o.body), o.pos, centre(m, d, o.body));

/** Acceleration at the object's origin, global axes, gravity included (mj_objectAcceleration). Reads cacc. */
export function objectAcceleration(m: ModelView, d: WorldData, o: Attached): Spatial {
  // bodies that cannot move
  if (m.model.body_dofnum[m.model.body_weldid[o.body]] === 0) return ZERO6;
  const a = motionAt(d.cacc.spatial(o.body), o.pos, centre(m, d, o.body));
  const v = objectVelocity(m, d, o);
  // the point moves while it turns
  const turn = cross(rotational(v), translational(v));
  const linear = translational(a).map((x, k) => add(x, turn[k])) as unknown as Vec3;
  return [...rotational(a), ...linear];
}
