// contacts of a state and their forces, as MuJoCo has them in float64
import type { Oracle } from "../model/oracle.ts";
import { CONTACT_FLOATS } from "../render/show.ts";

/** Contacts of a world that are shown. */
const MOST = 1000;

/**
 * Contacts of a world in the numbers of `Poses.contacts`. Positions are there already; `shift`: how far the world is from
 * where it is drawn.
 */
export function contactsOf(
  { mujoco, model, data, write, contacts }: Oracle,
  state: Readonly<Record<string, ArrayLike<number>>>,
  world: number,
  shift: readonly number[] = [0, 0, 0],
): Float32Array {
  for (const name of ["qpos", "qvel", "act", "ctrl"]) {
    const values = state[name];
    if (values && values.length > 0) write(name, values);
  }
  mujoco.mj_forward(model, data);
  const found = contacts().slice(0, MOST);
  const out = new Float32Array(found.length * CONTACT_FLOATS);
  const force = new mujoco.DoubleBuffer(6);
  try {
    found.forEach(({ pos, frame, dist }, k) => {
      mujoco.mj_contactForce(model, data, k, force);
      const local = force.GetView() as Float64Array;
      // rows of the frame are the contact's axes, the first its normal
      const turned = [0, 1, 2].map((i) => frame[i] * local[0] + frame[3 + i] * local[1] + frame[6 + i] * local[2]);
      out.set(
        [world, ...[0, 1, 2].map((i) => pos[i] - shift[i]), ...frame.subarray(0, 3), ...turned, dist],
        k * CONTACT_FLOATS,
      );
    });
  } finally {
    force.delete();
  }
  return out;
}
