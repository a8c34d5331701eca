// how far float32 alone throws a model where it starts: forces of contacts that cancel, rounded in their last place
import type { Model } from "./model-data.ts";
import { listen, type MainModule, type MjData, type MjModel } from "./mujoco.ts";
import { geomPairs } from "./pairs.ts";

/** Poses of keyframes that are tried, the first of them. */
const MOST_KEYS = 16;

/** Half a last place of float32, of 1. */
const HALF_PLACE = 2 ** -24;

/** Whether a contact starts inside of anything. The list is a copy of all of them, each time that it is named, and stays until it is deleted. */
function isDeep(data: MjData): boolean {
  const list = data.contact;
  try {
    return Array.from({ length: data.ncon }, (_, i) => {
      const contact = list.get(i)!;
      try {
        return contact.dist;
      } finally {
        contact.delete();
      }
    }).some((dist) => dist < 0);
  } finally {
    list.delete();
  }
}

/**
 * What rounding leaves of a velocity (m/s, rad/s) after the first step from qpos0 or a keyframe, whichever is most: by how
 * much each force of MuJoCo's constraints pulls at a dof, in float32's last place, all added up. Undefined if no contact
 * starts inside of anything, or MuJoCo cannot say.
 */
export function restRounding(mujoco: MainModule, mj: MjModel, model: Model): number | undefined {
  try {
    if (geomPairs(model).length === 0) return undefined;
    const data = new mujoco.MjData(mj);
    try {
      let most: number | undefined;
      for (let key = -1; key < Math.min(model.nkey, MOST_KEYS); key++) {
        if (key >= 0) mujoco.mj_resetDataKeyframe(mj, data, key);
        mujoco.mj_kinematics(mj, data);
        mujoco.mj_collision(mj, data);
        if (!isDeep(data)) continue;
        listen(() => mujoco.mj_forward(mj, data));
        const pulls = new Float64Array(model.nv);
        const [jacobian, force] = [data.efc_J as Float64Array, data.efc_force as Float64Array];
        const isSparse = mujoco.mj_isSparse(mj) !== 0;
        const [address, count, column] = isSparse
          ? [data.efc_J_rowadr, data.efc_J_rownnz, data.efc_J_colind].map((list) => list as Int32Array)
          : [];
        for (let row = 0; row < data.nefc; row++) {
          const from = isSparse ? address[row] : row * model.nv;
          for (let k = 0; k < (isSparse ? count[row] : model.nv); k++)
            pulls[isSparse ? column[from + k] : k] += Math.abs(jacobian[from + k] * force[row]);
        }
        const lost = pulls.map((pull, dof) => pull * model.dof_invweight0[dof] * model.opt.timestep * HALF_PLACE);
        most = lost.reduce((a, b) => (b > a ? b : a), most ?? 0);
      }
      return most;
    } finally {
      data.delete();
    }
  } catch {
    // too many pairs, or too little memory: told where a batch is made
    return undefined;
  }
}
