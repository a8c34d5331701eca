// what rows add to the dual cost
import { variable, when } from "../../trace/control.ts";
import { add, gt, mul, select, sum, type Int, type Scalar } from "../../trace/scalar.ts";
import type { DualForces } from "./dual.ts";

/** R f² / 2 of the rows at a place. */
export function regularization(dual: DualForces, place: Int): Scalar {
  return costOf(dual, place, "regularization", (f, R) => mul(0.5, mul(R, mul(f, f))));
}

/** fᵀ (b + R f / 2) of the rows at a place: with fᵀ A f / 2 the dual cost. */
export function linearCost(dual: DualForces, place: Int): Scalar {
  return costOf(dual, place, "linear_cost", (f, R, b) => mul(f, add(b(), mul(0.5, mul(R, f)))));
}

/** The cost of a row, or of an edge; of all directions of an elliptic cone. */
function costOf(
  dual: DualForces,
  place: Int,
  name: string,
  of: (f: Scalar, R: Scalar, b: () => Scalar) => Scalar,
): Scalar {
  const cost = variable(name, 0);
  cost.set(0);
  when(
    dual.isRow(place),
    () => {
      const { R, b } = dual.row(place);
      cost.set(of(dual.force.get(place), R, b));
    },
    () => {
      if (dual.dim === 0) return;
      const { index, edge } = dual.contactAt(place);
      if (dual.isPyramidal) {
        const { direction, along } = dual.edge(index, edge);
        const R = direction((k) => dual.R(index, k));
        cost.set(of(dual.force.get(place), R, () => along(dual.b(index))));
        return;
      }
      const { condim } = dual.contacts.cone(dual.slotOf(index));
      const parts = Array.from({ length: dual.dim }, (_, k) => {
        const own = of(dual.force.get(dual.placeOf(index, k)), dual.R(index, k), () => dual.b(index)[k]);
        return select(gt(condim, k), own, 0);
      });
      cost.set(sum(parts));
    },
  );
  return cost.get();
}
