// accelerations without rows and contacts
import { each } from "../../trace/control.ts";
import type { Int } from "../../trace/scalar.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import { copyField } from "../smooth/sparsity.ts";
import type { ModelView, WorldData } from "../view.ts";
import type { Solution } from "./solution.ts";
import type { SolverSpace } from "./space.ts";
import { UNWEIGHTED, type Weights } from "./trees.ts";

/** Makes a space. `law`: the force law of a contact at qacc, by its index and slot. */
export type SpaceOf = (law: (index: Int, slot: Int) => ContactLaw, weights: Weights) => SolverSpace;

/** The law of contacts that are not there. */
export const noContact = () => {
  throw new Error("a model without contacts has no force law of one");
};

/** A model without rows and contacts: qacc_smooth is the minimum. */
export function unconstrained(m: ModelView, d: WorldData, spaceOf: SpaceOf): Solution {
  const space = spaceOf(noContact, UNWEIGHTED);
  const start = () => copyField(d.qacc_smooth, space.qacc);
  const yes = { get: () => true };
  space.iterate({ iterations: 0, done: yes, converged: yes, start, finish: () => {} }, () => {
    space.startGrad();
    space.setSearch();
  });
  each(m.nv, (i) => {
    d.qacc.set(i, d.qacc_smooth.at(i));
    d.qfrc_constraint.set(i, 0);
  });
  return { rowForce: () => 0, contactForce: () => [], niter: 0 };
}
