// keyframes of a base that floats by slides, as of one with a free joint
import { mjtJoint } from "../model/enums.ts";
import { listen } from "../model/mujoco.ts";
import type { Model } from "../model/model.ts";
import type { Oracle } from "../model/oracle.ts";
import type { SlidingBase } from "./feet.ts";
import { cross, minus, turned, vectorAt, type Vector } from "./vectors.ts";
import { withRobot } from "./with-robot.ts";

/** Where something is, and how it moves. */
interface State {
  readonly qpos: readonly number[];
  readonly qvel: readonly number[];
}

/** The state of the free joint, 7 numbers and 6, that stands for those of a base. */
function freeState(oracle: Oracle, model: Model, { body, joints }: SlidingBase, of: State): State {
  oracle.write("qpos", of.qpos);
  listen(() => oracle.mujoco.mj_kinematics(oracle.model, oracle.data));
  const [xpos, xquat, xaxis, xanchor] = ["xpos", "xquat", "xaxis", "xanchor"].map((name) => oracle.read(name));
  const pos = vectorAt(xpos, body);
  const quat = Array.from(xquat.subarray(4 * body, 4 * body + 4));
  const [w, x, y, z] = quat;
  const plus = (a: Vector, b: Vector, by = 1): Vector => [a[0] + by * b[0], a[1] + by * b[1], a[2] + by * b[2]];
  let [linear, angular]: Vector[] = [
    [0, 0, 0],
    [0, 0, 0],
  ];
  const turn = (axis: Vector, anchor: Vector, speed: number) => {
    angular = plus(angular, axis, speed);
    linear = plus(linear, cross(axis, minus(pos, anchor)), speed);
  };
  for (const j of joints) {
    const at = model.jnt_dofadr[j];
    const [axis, anchor] = [vectorAt(xaxis, j), vectorAt(xanchor, j)];
    if (model.jnt_type[j] === mjtJoint.SLIDE) linear = plus(linear, axis, of.qvel[at]);
    else if (model.jnt_type[j] === mjtJoint.HINGE) turn(axis, anchor, of.qvel[at]);
    else turn(turned([of.qvel[at], of.qvel[at + 1], of.qvel[at + 2]], quat), anchor, 1);
  }
  return { qpos: [...pos, ...quat], qvel: [...linear, ...turned(angular, [w, -x, -y, -z])] };
}

/** The states of all keyframes with a free joint in place of those of a base. */
export const freeKeys = (model: Model, base: SlidingBase): Promise<State[]> =>
  withRobot(model, (oracle) =>
    Array.from({ length: model.nkey }, (_, k) => {
      const qpos = Array.from(model.key_qpos.subarray(k * model.nq, (k + 1) * model.nq));
      const qvel = Array.from(model.key_qvel.subarray(k * model.nv, (k + 1) * model.nv));
      const free = freeState(oracle, model, base, { qpos, qvel });
      const first = base.joints[0];
      const [q, v] = [model.jnt_qposadr[first], model.jnt_dofadr[first]];
      return {
        qpos: qpos.toSpliced(q, base.hasBall ? 7 : 6, ...free.qpos),
        qvel: qvel.toSpliced(v, 6, ...free.qvel),
      };
    }),
  );
