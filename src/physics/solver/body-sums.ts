// what the solver over bodies holds, summed: forces over dofs, and products
import { each, increase, variable } from "../../trace/control.ts";
import { add, mul, type Int, type Scalar } from "../../trace/scalar.ts";
import { dot6, mulInertVec, ZERO6 } from "../../trace/spatial.ts";
import { alongDofs } from "../smooth/body-forces.ts";
import type { BodyFrames } from "../smooth/body-frames.ts";
import { copyField } from "../smooth/sparsity.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";
import { push, type BodyContact } from "./body-contacts.ts";
import type { SolverSpace } from "./space.ts";
import type { Weights } from "./trees.ts";

/** A force on dofs, and on bodies. */
interface OnBoth {
  readonly dofs: Field;
  readonly bodies: Field;
}

/** Calls `visit` with Ma - qfrc_smooth of each dof; `gauss`: the same on dofs and bodies. */
export function visitResidual(
  m: ModelView,
  d: WorldData,
  frames: BodyFrames,
  gauss: OnBoth,
  visit: (i: Int, force: Scalar) => void,
): void {
  // a field of its own: all of this is dead code where nothing reads qfrc_constraint
  const wrench = new Field("momentum", 6 * m.nbody, 6);
  copyField(gauss.bodies, wrench);
  alongDofs(m, d, wrench, (i, force) => visit(i, add(gauss.dofs.at(i), force)), frames);
}

/** total = Jᵀ f of the rows and contacts that `visit` names. */
export function sumForces(
  m: ModelView,
  d: WorldData,
  frames: BodyFrames,
  { total, contact }: { readonly total: Field; readonly contact: (slot: Int) => BodyContact },
  visit: Parameters<SolverSpace["sumForces"]>[0],
): void {
  const wrench = new Field("constraint", 6 * m.nbody, 6);
  each(m.nv, (i) => total.set(i, 0));
  each(m.nbody, (b) => wrench.setRow(b, ZERO6));
  visit(
    (row, force) => {
      for (const { dof, value } of row.jac) total.set(dof, add(total.at(dof), mul(value, force)));
    },
    (slot, force) => push(wrench, contact(slot), force, 1),
  );
  alongDofs(m, d, wrench, (i, force) => total.set(i, add(total.at(i), force)), frames);
}

/** xᵀ M x of a vector over dofs, with the motions that it gives bodies. */
export function squareByMass(
  m: ModelView,
  frames: BodyFrames,
  { dofs, bodies }: OnBoth,
  armature: (dof: Int) => Scalar,
  weights: Weights,
): Scalar {
  const total = variable("searchMv", 0);
  each(m.nv, (i) => increase(total, mul(weights.dof(i), mul(armature(i), mul(dofs.at(i), dofs.at(i))))));
  each(
    m.nbody,
    (b) => {
      const v = bodies.spatial(b);
      increase(total, mul(weights.body(b), dot6(v, mulInertVec(frames.inertia(b), v))));
    },
    { start: 1 },
  );
  return total.get();
}

/** The sum over bodies of the inner products of spatial vectors. */
export function dotRows(a: Field, b: Field): Scalar {
  const total = variable("dot", 0);
  each(a.rows, (i) => increase(total, dot6(a.spatial(i), b.spatial(i))), { start: 1 });
  return total.get();
}
