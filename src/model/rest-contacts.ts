// how many contacts MuJoCo finds where a model starts: where there may be more than most worlds keep, room follows them
import type { Model } from "./model-data.ts";
import type { MainModule, MjModel } from "./mujoco.ts";
import { constraintBound } from "./pairs.ts";

/**
 * Contacts that a world keeps at once unless its model, or its user, asks for more; beyond as many candidates they are a
 * pool rather than slots of their own: drivers compile an array in time that grows with the square of its length.
 */
export const MOST_CONTACTS = 256;

/** Poses of keyframes that are tried, the first of them. */
const MOST_KEYS = 16;

/**
 * The most contacts at qpos0 and in keyframes, as MuJoCo finds them; undefined where there is room for all that there can
 * be, or MuJoCo has no memory to say.
 */
export function restContacts(mujoco: MainModule, mj: MjModel, model: Model): number | undefined {
  try {
    if (constraintBound(model).nconmax <= MOST_CONTACTS) return undefined;
    const data = new mujoco.MjData(mj);
    try {
      let most = 0;
      for (let key = -1; key < Math.min(model.nkey, MOST_KEYS); key++) {
        if (key >= 0) mujoco.mj_resetDataKeyframe(mj, data, key);
        mujoco.mj_kinematics(mj, data);
        mujoco.mj_collision(mj, data);
        most = Math.max(most, data.ncon);
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
