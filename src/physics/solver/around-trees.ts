// what couples bodies, solved by conjugate gradients around the trees, where no Hessian over dofs is held
import { each, when, type Variable } from "../../trace/control.ts";
import { add, and, gt, mul, or, select, square, sum, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { add6, scale6, ZERO6, type Spatial } from "../../trace/spatial.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { Row } from "../constraint/rows.ts";
import { Field, type ModelView } from "../view.ts";
import { push, withValues, type BodyContact, type BodyContacts, type Sides } from "./body-contacts.ts";
import { coupledRow, CoupledContacts, solveCoupled } from "./coupling.ts";
import type { OnBoth } from "./body-terms.ts";
import { FEW_ITERATIONS } from "./precision.ts";
import type { TouchedTrees } from "./touched-trees.ts";
import type { Weights } from "./trees.ts";

/** A row over several dofs: it couples them, so its term of the Hessian is not part of the trees'. */
export interface CoupledRow {
  readonly row: Row;
  readonly hessian: Variable;
}

export interface AroundTrees {
  readonly contacts: BodyContacts;
  contact(slot: Int): BodyContact;
  readonly couplings: readonly CoupledRow[];
  readonly law: (index: Int, slot: Int) => ContactLaw;
  readonly weights: Weights;
  /** Whether constraints are solved for: nothing couples bodies otherwise. */
  isNewton(): Bool;
  isRough(): Bool;
  readonly gradient: OnBoth;
  /** The solution: accelerations of dofs, and motions of bodies. */
  readonly search: OnBoth;
  /** Where only trees that something couples are solved again in each turn. */
  readonly touched: TouchedTrees | undefined;
  /** Sets it to what the trees make of forces on dofs and bodies; `isAsked`: of bodies, whether their tree is solved. */
  solveTrees(
    force: (dof: Int) => Scalar,
    onBody: (body: Int) => Spatial,
    between?: () => void,
    isAsked?: (body: Int) => Bool,
  ): void;
}

/** Solves H search = -grad by `solveCoupled`. */
export function solveAroundTrees(m: ModelView, of: AroundTrees): void {
  const { contacts, couplings, gradient, search, weights, touched } = of;
  const { anyCoupled } = contacts;
  const pushed = new Field("coupled_wrench", 6 * m.nbody, 6);
  const pushedDofs = couplings.length > 0 ? new Field("coupled_force", m.nv) : undefined;
  const rows = couplings.map(({ row, hessian }) => {
    const own = {
      hessian: select(of.isNewton(), hessian.get(), 0),
      diagA: sum(row.jac.map(({ dof, value }) => mul(m.dof_invweight0.at(dof), square(value)))),
      weight: weights.row(row),
    };
    return coupledRow(row, own, search.dofs, pushedDofs!);
  });
  const coupled = new CoupledContacts<Sides, BodyContact>(contacts.rows, {
    hasRoom: m.form.hasRoom,
    contact: (slot) => of.contact(slot),
    replace: withValues,
    jacVec: (at) => contacts.times(search.bodies, at),
    addForce: (at, f) => push(pushed, at, f, 1),
    weight: (slot) => weights.contact(slot),
    diagA: (at) => at.diagA(),
    law: of.law,
  });
  touched?.uncouple();
  couplings.forEach(({ row, hessian }) => row.jac.forEach(({ dof }) => touched?.coupleDof(dof, gt(hessian.get(), 0))));
  const found = ({ first, second }: Sides) => [first, second].forEach((side) => side && touched?.couple(side.body));
  if (anyCoupled) coupled.find(of.isNewton(), (slot) => contacts.isCoupled(slot), found);
  solveCoupled({
    fewFollow: m.opt.iterations < FEW_ITERATIONS,
    isRough: and(of.isRough(), of.isNewton()),
    each(body) {
      rows.forEach(body);
      if (anyCoupled) coupled.each(body);
    },
    clear(isFirst) {
      const asked = (is: Bool | undefined, body: () => void) => when(is === undefined ? true : or(isFirst, is), body);
      each(m.nbody, (b) => asked(touched?.isCoupled(b), () => pushed.setRow(b, ZERO6)));
      if (pushedDofs) each(m.nv, (i) => asked(touched?.isCoupledDof(i), () => pushedDofs.set(i, 0)));
    },
    // the first solve, and the last with the couplings' forces, are of the gradient: other trees have had all of theirs
    solve(share, isFirst) {
      const force = (i: Int) => add(mul(share, gradient.dofs.at(i)), pushedDofs ? pushedDofs.at(i) : 0);
      const isAsked = touched && ((b: Int) => or(isFirst, touched.isCoupled(b)));
      of.solveTrees(
        force,
        (b) => add6(scale6(gradient.bodies.spatial(b), share), pushed.spatial(b)),
        undefined,
        isAsked,
      );
    },
  });
}
