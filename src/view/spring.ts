// a body of a world pulled towards a point by a spring, as MuJoCo's own viewer does
import type { Oracle } from "../model/oracle.ts";

/** Stiffness and damping for each kilogram of effective mass: critically damped (1/s^2, 1/s). */
const STIFFNESS = 100;
const DAMPING = 20;

/**
 * The change of velocities (nv) by a critically damped spring from a point of a body (in its frame) to a target, over
 * `dt`. MuJoCo's data holds the world's positions and velocities. The force acts as one impulse before the control step,
 * and is taken as it will be after it, so that it is stable whatever `dt` is.
 */
export function springImpulse(
  { mujoco, model, data }: Oracle,
  body: number,
  point: readonly number[],
  target: readonly number[],
  dt: number,
): Float64Array {
  const { nv } = model;
  const change = new Float64Array(nv);
  mujoco.mj_forward(model, data);
  const [xpos, xmat, qvel] = [data.xpos, data.xmat, data.qvel].map((view) => Float64Array.from(view as Float64Array));
  const at = [0, 1, 2].map((i) =>
    point.reduce((sum, x, j) => sum + xmat[9 * body + 3 * i + j] * x, xpos[3 * body + i]),
  );
  const jacobian = new mujoco.DoubleBuffer(3 * nv);
  const solved = new mujoco.DoubleBuffer(nv);
  try {
    mujoco.mj_jac(model, data, jacobian, null, at, body);
    const J = Float64Array.from(jacobian.GetView() as Float64Array);
    for (let axis = 0; axis < 3; axis++) {
      const row = J.subarray(axis * nv, (axis + 1) * nv);
      mujoco.mj_solveM(model, data, solved, [...row]);
      const response = Float64Array.from(solved.GetView() as Float64Array);
      const mobility = row.reduce((sum, x, i) => sum + x * response[i], 0);
      if (!(mobility > 1e-12)) continue;
      const speed = row.reduce((sum, x, i) => sum + x * (qvel[i] + change[i]), 0);
      const pull = STIFFNESS * (target[axis] - at[axis] - dt * speed) - DAMPING * speed;
      const gain = (dt * pull) / (1 + dt * DAMPING + dt * dt * STIFFNESS) / mobility;
      for (let i = 0; i < nv; i++) change[i] += gain * response[i];
    }
  } finally {
    jacobian.delete();
    solved.delete();
  }
  return change;
}
