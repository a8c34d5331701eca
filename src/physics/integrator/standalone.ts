// bodies that move by themselves
import { mjtJoint } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";

/** Whether a body has a free joint and nothing attached to it (mj_isFreeBody). */
export function isFreeBody(model: Model, b: number): boolean {
  if (model.body_jntnum[b] !== 1 || model.jnt_type[model.body_jntadr[b]] !== mjtJoint.FREE) return false;
  const tree = model.dof_treeid[model.body_dofadr[b]];
  return model.tree_dofnum[tree] === 6 && model.body_subtreemass[b] === model.body_mass[b];
}
