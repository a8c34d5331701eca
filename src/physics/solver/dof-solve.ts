// what a Hessian over dofs is asked to solve, and how: forces of the gradient on dofs, and motions of bodies by what they make
import { add, gt, neg, sum, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { bodyMotions } from "../smooth/articulated.ts";
import { alongDofs } from "../smooth/body-forces.ts";
import type { BodyFrames } from "../smooth/body-frames.ts";
import { copyField } from "../smooth/sparsity.ts";
import { Field, type ModelView, type WorldData } from "../view.ts";
import type { OnBoth } from "./body-terms.ts";

export interface CoupledSolve {
  readonly law: (index: Int, slot: Int) => ContactLaw;
  /** Of the rows. */
  hessians(): readonly Scalar[];
  /** Of dofs, armature among it. */
  diagonal(dof: Int): Scalar;
  readonly gradient: OnBoth;
  readonly search: OnBoth;
}

/** Hands the negative gradient to `solve`, which sets accelerations of dofs; sets the motions of bodies. */
export function downhill(m: ModelView, d: WorldData, frames: BodyFrames) {
  const wrench = new Field("dof_wrench", 6 * m.nbody, 6);
  const force = new Field("dof_force", m.nv);
  return (
    { gradient, search }: Pick<CoupledSolve, "gradient" | "search">,
    solve: (force: (dof: Int) => Scalar) => void,
  ) => {
    copyField(gradient.bodies, wrench);
    alongDofs(m, d, wrench, (i, f) => force.set(i, neg(add(gradient.dofs.at(i), f))), frames);
    solve((i) => force.at(i));
    bodyMotions(m, frames, search.dofs, search.bodies);
  };
}

/** Whether the cost of a contact is curved; along a normal that nothing moves it is not. */
export const pushes = ({ hessian }: ContactLaw, { anyStiff, dim }: ContactRows): Bool =>
  gt(sum(Array.from({ length: anyStiff ? dim : 1 }, (_, k) => hessian(k, k))), 0);
