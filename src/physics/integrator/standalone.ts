// bodies that move by themselves
import { mjtJoint } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";

/** Whether a body has a free joint, and nothing that is attached to it has a joint (mj_isFreeBody). */
export function isFreeBody(model: Model, b: number): boolean {
  if (model.body_jntnum[b] !== 1 || model.jnt_type[model.body_jntadr[b]] !== mjtJoint.FREE) return false;
  return model.tree_dofnum[model.dof_treeid[model.body_dofadr[b]]] === 6;
}

/** Whether a body is a free one, or fixed to one. */
export const isOfFreeBody = (model: Model, b: number): boolean => isFreeBody(model, model.body_rootid[b]);

/** A free body, and those that are fixed to it. */
export const bodiesOf = (model: Model, root: number): number[] =>
  Array.from({ length: model.nbody }, (_, b) => b).filter((b) => model.body_rootid[b] === root);
