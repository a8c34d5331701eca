// what the velocity and acceleration of a point of a body are made of (mj_jac, mj_jacDot)
import { add6, motionAt, rotational, scale6, translational, ZERO6, type Spatial } from "../../trace/spatial.ts";
import { add3, cross, neg3, sub3, type Vec3 } from "../../trace/vector.ts";
import { bodyDofs } from "../constraint/body-dofs.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Velocity of a point and angular velocity of its body per unit rate of one dof, global. */
export interface JacColumn {
  readonly dof: number;
  readonly trans: Vec3;
  readonly rot: Vec3;
}

const comOf = (m: ModelView, d: WorldData, body: number): Vec3 => d.subtree_com.vec3(m.model.body_rootid[body]);

/** A motion about the centre of mass of a body's tree, expressed at a global point. */
export const motionAtPoint = (m: ModelView, d: WorldData, motion: Spatial, body: number, point: Vec3): Spatial =>
  motionAt(motion, point, comOf(m, d, body));

/** Columns of the Jacobian of a global point on a body, dofs ascending (mj_jac). Reads cdof, subtree_com. */
export function pointJacobian(m: ModelView, d: WorldData, body: number, point: Vec3): JacColumn[] {
  return bodyDofs(m.model, body).map((dof) => {
    const motion = motionAtPoint(m, d, d.cdof.spatial(dof), body, point);
    return { dof, trans: translational(motion), rot: rotational(motion) };
  });
}

/** The Jacobian of one point minus that of another, common dofs included (mj_jacDifPair, reversed). */
export function differenceJacobian(first: readonly JacColumn[], second: readonly JacColumn[]): JacColumn[] {
  const dofs = [...new Set([...first, ...second].map((c) => c.dof))].sort((a, b) => a - b);
  return dofs.map((dof) => {
    const [a, b] = [first, second].map((list) => list.find((c) => c.dof === dof));
    if (a && b) return { dof, trans: sub3(a.trans, b.trans), rot: sub3(a.rot, b.rot) };
    return a ?? { dof, trans: neg3(b!.trans), rot: neg3(b!.rot) };
  });
}

/**
 * Acceleration of a point and angular acceleration of its body while all joint accelerations are zero: the rate of the
 * Jacobian times qvel (mj_jacDot). Reads cdof_dot, qvel, cvel, subtree_com.
 */
export function biasAcceleration(m: ModelView, d: WorldData, body: number, point: Vec3): { trans: Vec3; rot: Vec3 } {
  let sum: Spatial = ZERO6;
  for (const dof of bodyDofs(m.model, body)) sum = add6(sum, scale6(d.cdof_dot.spatial(dof), d.qvel.at(dof)));
  const bias = motionAtPoint(m, d, sum, body, point);
  const v = motionAtPoint(m, d, d.cvel.spatial(body), body, point);
  return { trans: add3(translational(bias), cross(rotational(v), translational(v))), rot: rotational(bias) };
}
