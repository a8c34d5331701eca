// frames of cameras (mj_camlight)
import { add3, cross, mulQuat, normalize3, quatToMat, rotate, sub3, transpose, type Vec3 } from "../../trace/vector.ts";
import { mjtCamLight } from "../../model/enums.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Global frames of cameras, by their modes (mj_camlight). Reads xpos, xquat, subtree_com; writes cam_xpos, cam_xmat. */
export function camlight(m: ModelView, d: WorldData): void {
  for (let i = 0; i < m.ncam; i++) camera(m, d, i);
}

function camera(m: ModelView, d: WorldData, i: number): void {
  const { model } = m;
  const [body, target, mode] = [model.cam_bodyid[i], model.cam_targetbodyid[i], model.cam_mode[i]];
  if (mode === mjtCamLight.TRACK || mode === mjtCamLight.TRACKCOM) {
    const [from, offset] =
      mode === mjtCamLight.TRACK ? [d.xpos.vec3(body), m.cam_pos0] : [d.subtree_com.vec3(body), m.cam_poscom0];
    d.cam_xpos.setRow(i, add3(from, offset.vec3(i)));
    d.cam_xmat.setRow(i, m.cam_mat0.mat3(i));
    return;
  }
  const frame = d.xquat.quat(body);
  const pos = add3(d.xpos.vec3(body), rotate(frame, m.cam_pos.vec3(i)));
  d.cam_xpos.setRow(i, pos);
  if (mode === mjtCamLight.FIXED || target < 0) {
    d.cam_xmat.setRow(i, quatToMat(mulQuat(frame, m.cam_quat.quat(i))));
    return;
  }
  // it looks along -z, with x level
  const at = mode === mjtCamLight.TARGETBODY ? d.xpos.vec3(target) : d.subtree_com.vec3(target);
  const z = normalize3(sub3(pos, at)).unit;
  const up: Vec3 = [0, 0, 1];
  const x = normalize3(cross(up, z)).unit;
  const y = normalize3(cross(z, x)).unit;
  d.cam_xmat.setRow(i, transpose([...x, ...y, ...z]));
}
